package onnxruntime

import (
	"github.com/restride/restride/adapters/onnxruntime/internal/ort"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// graph returns an operator's model with typed inputs and the given outputs, for ONNX Runtime.
func (o *operator) graph(in []operand, outputs []model.ValueInfo) *model.Model {
	m, g := *o.model, *o.model.Graph
	m.Graph = &g
	m.IRVersion = max(m.IRVersion, 4) // the first version whose constants need not be inputs
	g.Inputs, g.Outputs = nil, outputs
	for k, i := range o.takes {
		g.Inputs = append(g.Inputs, in[k].info(o.inputs[i]))
	}
	g.Inputs = append(g.Inputs, o.forgotten...)
	return &m
}

// info describes an input.
func (x operand) info(name string) model.ValueInfo {
	dims := make([]model.Dim, len(x.dims))
	for i, n := range x.dims {
		if dims[i] = model.Known(n); n < 0 {
			dims[i] = model.Symbolic("")
		}
	}
	return model.ValueInfo{Name: name, Type: model.TensorOf(x.dtype, dims...)}
}

// small is the size of constants, in bytes, up to which they are in the model that ONNX Runtime
// reads: it infers types from them.
const small = 1 << 10

// external moves the larger constants of a model out of it: ONNX Runtime gets their memory.
func external(m *model.Model) ([]ort.Initializer, error) {
	var moved []ort.Initializer
	kept := make([]model.Tensor, len(m.Graph.Initializers))
	for i, t := range m.Graph.Initializers {
		if kept[i] = t; t.Type == layout.String {
			continue
		}
		size, err := t.Size()
		if err == nil && (size > small || t.External != nil) {
			var b []byte
			if b, err = t.Bytes(); err == nil && size > 0 {
				moved = append(moved, ort.Initializer{Name: t.Name, Type: t.Type, Dims: t.Dims, Memory: b})
				kept[i].Data, kept[i].External = nil, &model.External{Path: "memory", Length: -1}
			} else if err == nil {
				kept[i].Data, kept[i].External = b, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
	m.Graph.Initializers = kept
	return moved, nil
}

// withoutWeights makes large constants of a model inputs: the types and shapes of outputs
// follow from the small ones.
func withoutWeights(m *model.Model) {
	kept := []model.Tensor{}
	for _, t := range m.Graph.Initializers {
		if size, err := t.Size(); t.External == nil && (err != nil || size <= small) {
			kept = append(kept, t)
		} else {
			m.Graph.Inputs = append(m.Graph.Inputs, operand{t.Type, t.Dims}.info(t.Name))
		}
	}
	m.Graph.Initializers = kept
}
