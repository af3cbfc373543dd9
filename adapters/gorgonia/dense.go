package gorgonia

import (
	"reflect"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"

	gt "gorgonia.org/tensor"
)

// place is the memory of an engine's tensors.
type place interface {
	stream() *tensor.Stream
	// memory returns the buffer with the elements of t, and the byte at which t begins. t has
	// elements.
	memory(op string, t *gt.Dense) (device.Buffer, int64, error)
	// empty returns a new contiguous tensor, whose elements are undefined.
	empty(op string, of gt.Dtype, shape gt.Shape) (*gt.Dense, error)
}

// denses returns tensors in the required form: all Dense, and of one type.
func denses(op string, ts ...gt.Tensor) ([]*gt.Dense, error) {
	all := make([]*gt.Dense, len(ts))
	for i, t := range ts {
		all[i], _ = t.(*gt.Dense)
		if all[i] == nil {
			return nil, layout.Errorf(device.ErrUnsupported, op, "tensor %d is a %T, not a *tensor.Dense", i, t)
		}
		if all[i].Dtype() != all[0].Dtype() {
			return nil, layout.Errorf(device.ErrInvalid, op, "tensor %d has elements of type %v, and tensor 0 of type %v", i, all[i].Dtype(), all[0].Dtype())
		}
	}
	return all, nil
}

// masked reports whether one of the tensors has a mask.
func masked(ts ...*gt.Dense) bool {
	return slices.ContainsFunc(ts, func(t *gt.Dense) bool { return len(t.Mask()) > 0 })
}

// typeOf returns the element type of a Dtype, by its kind, so that a named type is its
// underlying type; false: a type with pointers, or of several parts.
func typeOf(t gt.Dtype) (layout.DType, bool) {
	if t.Type == nil {
		return layout.Invalid, false
	}
	switch k := t.Kind(); k {
	case reflect.Uint, reflect.Uintptr:
		return map[uintptr]layout.DType{4: layout.Uint32, 8: layout.Uint64}[t.Size()], true
	case reflect.String:
		return layout.Invalid, false
	default:
		dt := layout.TypeOfKind(k)
		return dt, dt != layout.Invalid
	}
}

// see returns a Dense as a tensor of Restride over the same memory.
func see(p place, op string, t *gt.Dense) (*tensor.Tensor, error) {
	dt, ok := typeOf(t.Dtype())
	if !ok {
		return nil, layout.Errorf(device.ErrUnsupported, op, "elements of type %v are not bits alone", t.Dtype())
	}
	if masked(t) {
		return nil, layout.Errorf(device.ErrUnsupported, op, "the tensor has a mask")
	}
	dims := layout.ShapeOf(t.Shape()...)
	if n, err := dims.Count(); err != nil || n == 0 {
		return tensor.Empty(p.stream(), dt, dims...)
	}
	strides, err := stridesOf(op, t.Shape(), t.Strides())
	if err != nil {
		return nil, err
	}
	buffer, at, err := p.memory(op, t)
	if err != nil {
		return nil, err
	}
	width := int64(dt.Bits() / 8)
	if at%width != 0 {
		return nil, layout.Errorf(device.ErrUnsupported, op, "elements of %d bytes that begin at byte %d", width, at)
	}
	l, err := layout.Strided(dims, strides, at/width)
	if err != nil {
		return nil, layout.Named(op, err)
	}
	x, err := tensor.BorrowBuffer(p.stream(), buffer, dt, l)
	return x, layout.Named(op, err)
}

// stridesOf returns the strides of an access pattern, as gorgonia gives some vectors one for
// two axes, and shapes of one element none.
func stridesOf(op string, shape gt.Shape, strides []int) ([]int64, error) {
	all := make([]int64, len(shape))
	switch {
	case len(strides) == len(shape):
		for i, s := range strides {
			all[i] = int64(s)
		}
	case shape.IsScalarEquiv():
	case shape.IsVector() && len(strides) == 1:
		for i := range all {
			all[i] = int64(strides[0])
		}
	default:
		return nil, layout.Errorf(device.ErrInvalid, op, "shape %v has %d axes, and strides %v are of %d", shape, len(shape), strides, len(strides))
	}
	return all, nil
}
