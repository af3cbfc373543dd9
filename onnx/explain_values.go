package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

// unknown stands for a value of which at most the type is known.
type unknown struct {
	typ   model.Type
	dense bool // certainly contiguous
	host  bool // computed on the host
}

// isOnHost reports whether a value is on the host.
func isOnHost(v Value) bool {
	switch v := v.(type) {
	case *unknown:
		return v.host
	case *tensor.Tensor:
		return v.Stream() == tensor.Host()
	}
	return false
}

func (*unknown) Release() error { return nil }

// typeOf returns the type of a value as far as it is known.
func typeOf(v Value) model.Type {
	switch v := v.(type) {
	case *unknown:
		return v.typ
	case *tensor.Tensor:
		return typeOfShape(v.DType(), v.Shape())
	case *pending:
		return typeOfShape(v.dtype, v.dims)
	case *Sequence:
		return model.SequenceOf(model.Type{Kind: model.TensorType, Elem: v.Elem})
	case *Optional:
		return model.OptionalOf(model.Type{Kind: model.TensorType, Elem: v.Elem})
	}
	return model.Type{}
}

func typeOfShape(t layout.DType, dims []int64) model.Type {
	list := make([]model.Dim, len(dims))
	for i, d := range dims {
		list[i] = model.Known(d)
	}
	return model.TensorOf(t, list...)
}

// bytesOf returns the size of a value in bytes, or Unknown.
func bytesOf(t model.Type) int64 {
	shape, ok := t.Shape()
	if !ok || t.Kind != model.TensorType || !t.Elem.Valid() {
		return Unknown
	}
	if t.Elem == layout.String {
		t.Elem = layout.Complex128 // the size of a Go string
	}
	n, err := shape.Bytes(t.Elem)
	if err != nil {
		return Unknown
	}
	return n
}

// isDense reports whether a value is certainly contiguous.
func isDense(v Value) bool {
	switch v := v.(type) {
	case *unknown:
		return v.dense
	case *tensor.Tensor:
		l := v.Layout()
		return l.IsContiguous()
	}
	return false
}

// completed returns a type with the shape given for the value, and with symbolic extents
// replaced by their values.
func (e *explainer) completed(name string, t model.Type) model.Type {
	if shape, ok := e.shapes[name]; ok && (t.Kind == model.TensorType || t.Kind == model.UnknownType) {
		of := typeOfShape(t.Elem, shape)
		t.Kind, t.HasShape, t.Dims = of.Kind, true, of.Dims
	}
	t.Dims = append([]model.Dim(nil), t.Dims...)
	for i, d := range t.Dims {
		if n, ok := e.dims[d.Param]; ok && d.Value < 0 && d.Param != "" {
			t.Dims[i] = model.Known(n)
		}
	}
	return t
}

// value returns a value of a type: a device tensor without elements if the type is fully
// known.
func (e *explainer) value(name string, t model.Type, dense bool) Value {
	t = e.completed(name, t)
	if shape, ok := t.Shape(); ok && dense && t.Elem.Valid() && t.Elem != layout.String && t.Kind == model.TensorType {
		if x, err := tensor.Empty(e.on, t.Elem, shape...); err == nil { // otherwise it is too large
			return e.hold(x)
		}
	}
	return &unknown{t, dense, false}
}

// declaredIn returns the types that a graph declares for its values.
func declaredIn(g *model.Graph) map[string]model.Type {
	types := map[string]model.Type{}
	for _, list := range [][]model.ValueInfo{g.ValueInfo, g.Outputs, g.Inputs} {
		for i := range list {
			if t := list[i].Type; t.Kind != model.UnknownType {
				types[list[i].Name] = t
			}
		}
	}
	return types
}

// common returns a value with the properties that a and b share; either may take its place.
func (e *explainer) common(a, b Value) Value {
	s, t := typeOf(a), typeOf(b)
	if s.Kind != t.Kind || s.Elem != t.Elem || s.Kind != model.TensorType {
		return &unknown{}
	}
	out := model.Type{Kind: s.Kind, Elem: s.Elem}
	if s.HasShape && t.HasShape && len(s.Dims) == len(t.Dims) {
		out.HasShape = true
		for i, d := range s.Dims {
			if d.Value != t.Dims[i].Value || d.Param != t.Dims[i].Param {
				d = model.Symbolic("")
			}
			out.Dims = append(out.Dims, d)
		}
	}
	return e.value("", out, isDense(a) && isDense(b))
}
