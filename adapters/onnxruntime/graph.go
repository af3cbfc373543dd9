package onnxruntime

import (
	"maps"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
)

// ONNX Runtime's Go binding does not support tensors without axes (except scalars that are
// known to be scalars), and returns elements of Go's types only. So scalars are passed as
// tensors of one element, and outputs of other types are converted to one that has all their
// values.

// carrier returns the type to which outputs of a type are converted; Invalid: none.
func carrier(t layout.DType) layout.DType {
	switch t {
	case layout.Float32, layout.Float64, layout.Bool,
		layout.Int8, layout.Int16, layout.Int32, layout.Int64,
		layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint64:
		return t
	case layout.Float16, layout.BFloat16, layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ:
		return layout.Float32
	case layout.Int4:
		return layout.Int8
	case layout.Uint4:
		return layout.Uint8
	}
	return layout.Invalid
}

// graph is an operator's model in preparation for ONNX Runtime.
type graph struct {
	*model.Model
	inputs, outputs []string // in the order of calls
	names           map[string]bool
	axes            string // the constant of unsqueezed, if any
}

// graph returns a model with typed inputs and without outputs.
func (o *operator) graph(in []operand) *graph {
	m, g := *o.model, *o.model.Graph
	m.Graph = &g
	m.IRVersion = max(m.IRVersion, 4) // the first version whose constants need not be inputs
	if _, imported := m.Opsets[""]; !imported {
		opsets := map[string]int64{"": 13} // for nodes of this file
		maps.Copy(opsets, m.Opsets)
		m.Opsets = opsets
	}
	g.Inputs, g.Outputs, g.ValueInfo = nil, nil, nil // models' declared shapes may be wrong
	made := &graph{Model: &m, names: map[string]bool{}}
	made.named(o.model.Graph)
	g.Nodes = nil
	for k, i := range o.takes {
		made.input(o.inputs[i], in[k])
	}
	if len(o.takes) == 0 { // the binding's calls must have at least one
		made.input(made.free("restride.none"), operand{layout.Float32, []int64{1}})
	}
	g.Nodes = append(g.Nodes, o.model.Graph.Nodes...)
	return made
}

// named records the names of all values, including inner graphs'.
func (g *graph) named(in *model.Graph) {
	note := func(names ...string) {
		for _, name := range names {
			g.names[name] = true
		}
	}
	for _, infos := range [][]model.ValueInfo{in.Inputs, in.Outputs} {
		for _, info := range infos {
			note(info.Name)
		}
	}
	for i := range in.Initializers {
		note(in.Initializers[i].Name)
	}
	for i := range in.SparseInitializers {
		note(in.SparseInitializers[i].Values.Name)
	}
	for i := range in.Nodes {
		n := &in.Nodes[i]
		note(n.Inputs...)
		note(n.Outputs...)
		for _, a := range n.Attrs {
			switch v := a.Value.(type) {
			case *model.Graph:
				g.named(v)
			case []*model.Graph:
				for _, inner := range v {
					g.named(inner)
				}
			}
		}
	}
}

// free returns an unused name, and records it.
func (g *graph) free(name string) string {
	for g.names[name] {
		name += "_"
	}
	g.names[name] = true
	return name
}

func (g *graph) input(name string, x operand) {
	dims := make([]model.Dim, len(x.dims))
	for i, n := range x.dims {
		if dims[i] = model.Known(n); n < 0 {
			dims[i] = model.Symbolic("")
		}
	}
	if len(dims) == 0 {
		dims = []model.Dim{model.Known(1)}
		scalar := name
		name = g.free("restride.of." + name)
		g.Graph.Nodes = append(g.Graph.Nodes, model.NewNode("Squeeze", []string{name}, []string{scalar}))
	}
	g.Graph.Inputs = append(g.Graph.Inputs, model.ValueInfo{Name: name, Type: model.TensorOf(x.dtype, dims...)})
	g.inputs = append(g.inputs, name)
}

func (g *graph) output(name string) {
	g.Graph.Outputs = append(g.Graph.Outputs, model.ValueInfo{Name: name})
	g.outputs = append(g.outputs, name)
}

// unsqueezed returns a value with an axis of 1 before its others.
func (g *graph) unsqueezed(name string) string {
	out := g.free("restride.unsqueezed." + name)
	n := model.NewNode("Unsqueeze", []string{name}, []string{out})
	const axesAreInput = 13
	if g.Opsets[""] >= axesAreInput {
		if g.axes == "" {
			g.axes = g.free("restride.axes")
			zero, _ := model.NewTensor(g.axes, []int64{0}, 1) // one element for one extent: no error
			g.Graph.Initializers = append(g.Graph.Initializers[:len(g.Graph.Initializers):len(g.Graph.Initializers)], zero)
		}
		n.Inputs = append(n.Inputs, g.axes)
	} else {
		n.Attrs = model.Attrs{{Name: "axes", Value: []int64{0}}}
	}
	g.Graph.Nodes = append(g.Graph.Nodes, n)
	return out
}

// cast returns a value of another type.
func (g *graph) cast(name string, to layout.DType) string {
	out := g.free("restride.cast." + name)
	g.Graph.Nodes = append(g.Graph.Nodes, model.NewNode("Cast", []string{name}, []string{out}, model.Attr{Name: "to", Value: int64(to)}))
	return out
}

// withoutWeights removes the elements of large constants: the types and shapes of outputs
// follow from the small ones.
func (g *graph) withoutWeights() {
	const small = 1 << 10 // bytes
	kept := []model.Tensor{}
	for _, t := range g.Graph.Initializers {
		if size, err := t.Size(); t.External == nil && (err != nil || size <= small) {
			kept = append(kept, t)
			continue
		}
		dims := make([]model.Dim, len(t.Dims))
		for i, n := range t.Dims {
			dims[i] = model.Known(n)
		}
		g.Graph.Inputs = append(g.Graph.Inputs, model.ValueInfo{Name: t.Name, Type: model.TensorOf(t.Type, dims...)})
	}
	g.Graph.Initializers = kept
}
