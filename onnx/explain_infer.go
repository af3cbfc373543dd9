package onnx

import (
	"github.com/restride/restride/internal/infer"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// inferred returns the types of a node's outputs: what the graph declares, and what follows
// from the inputs.
func (e *explainer) inferred(x *explained, st *step, ins []Value) []model.Type {
	ins = ins[:len(ins)-len(st.captured)]
	u := st.unit
	domain := calleeOf(u.node.Domain, "", "").domain
	n := infer.Node{
		Domain: domain, Op: st.d.op, Opset: u.model.Opsets[domain], Attrs: u.node.Attrs, Outputs: len(st.outputs),
		Inputs: make([]*model.Type, len(ins)), Elements: func(i int) ([]byte, bool) { return e.elementsOf(ins[i]) },
	}
	for i, v := range ins {
		if !absent(v) {
			t := typeOf(v)
			n.Inputs[i] = &t
		}
	}
	types := infer.Types(n)
	for i, name := range st.outputs {
		types[i] = merged(x.declared[name], types[i])
	}
	return types
}

// elementsOf returns the elements of a value in ONNX's packed form, if they are known.
func (e *explainer) elementsOf(v Value) ([]byte, bool) {
	x, ok := v.(*tensor.Tensor)
	if !ok || x.DType() == layout.String {
		return nil, false
	}
	var b []byte
	var err error
	if t := e.elements[x]; t != nil {
		b, err = t.Bytes()
	} else if isOnHost(v) {
		b, err = x.Bytes()
	} else {
		return nil, false
	}
	return b, err == nil
}

// merged joins the type t that a graph declares and the inferred type u of one value. Where
// they contradict each other, the extent is unknown.
func merged(t, u model.Type) model.Type {
	switch {
	case t.Kind == model.UnknownType:
		return u
	case t.Kind != model.TensorType || u.Kind != model.TensorType:
		return t
	}
	if t.Elem == layout.Invalid {
		t.Elem = u.Elem
	}
	switch {
	case !u.HasShape:
		return t
	case !t.HasShape:
		t.HasShape, t.Dims = true, u.Dims
		return t
	case len(t.Dims) != len(u.Dims):
		t.HasShape, t.Dims = false, nil
		return t
	}
	t.Dims = append([]model.Dim(nil), t.Dims...)
	for i, d := range u.Dims {
		switch was := t.Dims[i]; {
		case was.Value >= 0 && d.Value >= 0 && was.Value != d.Value:
			t.Dims[i] = model.Symbolic("")
		case was.Value < 0 && (d.Value >= 0 || was.Param == ""):
			t.Dims[i] = d
		}
	}
	return t
}
