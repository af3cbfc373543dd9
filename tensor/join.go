package tensor

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/shapes"
	"github.com/restride/restride/layout"
)

// Concat joins tensors of one type and device along an axis; their other extents must be the
// same. The result is a copy on the first tensor's stream, or a view of a single tensor.
func Concat(axis int, xs ...*Tensor) (*Tensor, error) {
	const op = "Concat"
	if err := alike(op, xs); err != nil {
		return nil, err
	}
	at, err := layout.Axis(op, axis, xs[0].Rank())
	if err != nil {
		return nil, xs[0].fail(op, err)
	}
	all := make([]layout.Shape, len(xs))
	for i, x := range xs {
		all[i] = x.Shape()
	}
	dims, err := shapes.Concat(op, at, all...)
	if err != nil {
		return nil, xs[0].fail(op, err)
	}
	if len(xs) == 1 {
		return xs[0].view(xs[0].stream, op, &xs[0].layout, nil)
	}
	parts := make([]Part, 0, len(xs))
	from := int64(0)
	for _, x := range xs {
		start, end := from, from+x.Dim(at)
		from = end
		into := func(whole layout.Layout) (layout.Layout, error) { return whole.Slice(at, start, end, 1) }
		parts = append(parts, Part{Into: into, Src: x})
	}
	return Assemble(xs[0].stream, op, xs[0].dtype, dims, parts...)
}

// Stack joins tensors of one shape, type and device along a new axis, at the given position in
// the result: a copy on the first tensor's stream, or a view of a single tensor.
func Stack(axis int, xs ...*Tensor) (*Tensor, error) {
	const op = "Stack"
	if err := alike(op, xs); err != nil {
		return nil, err
	}
	first := xs[0]
	for i, x := range xs {
		if !x.layout.SameShape(&first.layout) {
			return nil, first.fail(op, layout.Errorf(device.ErrInvalid, op, "input %d has shape %v and input 0 %v: they must be the same", i, x.Shape(), first.Shape()))
		}
	}
	one, err := first.layout.Unsqueeze(axis)
	if err != nil || len(xs) == 1 {
		return first.view(first.stream, op, &one, err)
	}
	at := axis
	if at < 0 {
		at += one.Rank()
	}
	dims := one.Shape()
	dims[at] = int64(len(xs))
	parts := make([]Part, len(xs))
	for i, x := range xs {
		into := func(whole layout.Layout) (layout.Layout, error) { return whole.Slice(at, int64(i), int64(i)+1, 1) }
		from := func(l layout.Layout) (layout.Layout, error) { return l.Unsqueeze(at) }
		parts[i] = Part{Into: into, Src: x, From: from}
	}
	return Assemble(first.stream, op, first.dtype, dims, parts...)
}

// alike checks that there are tensors, all of one type and on one device.
func alike(op string, xs []*Tensor) error {
	if len(xs) == 0 {
		return layout.Errorf(device.ErrInvalid, op, "no tensors are given")
	}
	for i, x := range xs {
		switch {
		case x == nil:
			return layout.Errorf(device.ErrInvalid, op, "input %d is nil", i)
		case x.released.Load():
			return x.fail(op, ErrReleased)
		case x.dtype != xs[0].dtype:
			return xs[0].fail(op, layout.Errorf(device.ErrInvalid, op, "input %d is %v%v; input 0 is %v: they must be of one type", i, x.dtype, x.Shape(), xs[0].dtype))
		case x.stream.dev != xs[0].stream.dev:
			return xs[0].fail(op, apart(op, fmt.Sprintf("input %d", i), x.stream, "input 0", xs[0].stream))
		}
	}
	return nil
}

// Split cuts the tensor along an axis into views of the given sizes, which must add up to its
// extent.
func (t *Tensor) Split(axis int, sizes ...int64) ([]*Tensor, error) {
	const op = "Split"
	if t == nil {
		return nil, nilTensor(op)
	}
	at, err := layout.Axis(op, axis, t.Rank())
	if err == nil {
		err = shapes.CheckSplit(op, at, t.Dim(at), sizes)
	}
	if err != nil {
		return nil, t.fail(op, err)
	}
	parts := make([]*Tensor, 0, len(sizes))
	from := int64(0)
	for _, n := range sizes {
		l, err := t.layout.Slice(at, from, from+n, 1)
		part, err := t.reference(t.stream, op, &l, err)
		if err != nil {
			for _, p := range parts {
				_ = p.Release()
			}
			return nil, err
		}
		parts = append(parts, part)
		from += n
	}
	for _, p := range parts {
		p.publish()
	}
	return parts, nil
}
