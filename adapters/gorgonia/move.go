package gorgonia

import (
	"errors"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"

	gt "gorgonia.org/tensor"
)

// transpose moves the elements of t, whose strides describe a pending transposition, so that
// they lie in the same memory with other strides.
func transpose(p place, op string, t *gt.Dense, strides []int) error {
	to, err := stridesOf(op, t.Shape(), strides)
	if err != nil {
		return err
	}
	x, err := see(p, op, t)
	if err != nil || x.Count() == 0 {
		return errors.Join(err, x.Release())
	}
	defer x.Release()
	from := x.Layout()
	l, err := layout.Strided(from.Shape(), to, from.Offset())
	if err != nil {
		return layout.Named(op, err)
	}
	if l.Equal(&from) {
		return nil
	}
	y, err := x.WithLayout(op, l)
	if err != nil {
		return err
	}
	defer y.Release()
	moved, err := x.Clone()
	if err != nil {
		return layout.Named(op, err)
	}
	defer moved.Release()
	return layout.Named(op, y.CopyFrom(moved))
}

// materialize returns a view's elements in their own memory.
func materialize(p place, op string, t *gt.Dense) (*gt.Dense, error) {
	return build(p, op, t.Dtype(), t.Shape(), part{from: t})
}

// concat joins tensors along an axis.
func concat(p place, op string, axis int, all []*gt.Dense) (*gt.Dense, error) {
	shapes := make([]gt.Shape, len(all)-1)
	for i, t := range all[1:] {
		shapes[i] = t.Shape()
	}
	shape, err := all[0].Shape().Concat(axis, shapes...)
	if err != nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "shapes %v, %v along axis %d: %v", all[0].Shape(), shapes, axis, err)
	}
	axis = max(axis, 0) // AllAxes is the first one
	parts, at := make([]part, len(all)), int64(0)
	for i, t := range all {
		low, high := at, at+int64(t.Shape()[axis])
		parts[i] = part{from: t, into: func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, low, high, 1) }}
		at = high
	}
	return build(p, op, all[0].Dtype(), shape, parts...)
}

// stack joins tensors of one shape along a new axis.
func stack(p place, op string, axis int, all []*gt.Dense) (*gt.Dense, error) {
	shape := all[0].Shape()
	if axis < 0 || axis > len(shape) {
		return nil, layout.Errorf(device.ErrInvalid, op, "a new axis %d of shape %v", axis, shape)
	}
	parts := make([]part, len(all))
	for i, t := range all {
		if !slices.Equal(t.Shape(), shape) {
			return nil, layout.Errorf(device.ErrInvalid, op, "tensor %d has shape %v, and tensor 0 %v", i, t.Shape(), shape)
		}
		parts[i] = part{from: t, into: func(l layout.Layout) (layout.Layout, error) {
			l, err := l.Slice(axis, int64(i), int64(i)+1, 1)
			if err != nil {
				return l, err
			}
			return l.Squeeze(axis)
		}}
	}
	return build(p, op, all[0].Dtype(), slices.Insert(slices.Clone(shape), axis, len(all)), parts...)
}

// part is the contribution of one tensor to another: all its elements, to the places that into
// returns.
type part struct {
	from *gt.Dense
	into func(layout.Layout) (layout.Layout, error) // nil: all
}

// build returns a new tensor assembled from parts.
func build(p place, op string, of gt.Dtype, shape gt.Shape, parts ...part) (*gt.Dense, error) {
	all := make([]tensor.Part, len(parts))
	for i, part := range parts {
		x, err := see(p, op, part.from)
		if err != nil {
			return nil, err
		}
		defer x.Release()
		all[i] = tensor.Part{Src: x, Into: part.into}
	}
	out, y, err := fresh(p, op, of, shape)
	if err != nil {
		return nil, err
	}
	defer y.Release()
	written, err := y.Overwrite(op, all...)
	if err != nil {
		return nil, errors.Join(err, discard(out))
	}
	return out, written.Release()
}

// fresh returns a new tensor, also as one of Restride.
func fresh(p place, op string, of gt.Dtype, shape gt.Shape) (*gt.Dense, *tensor.Tensor, error) {
	out, err := p.empty(op, of, shape)
	if err != nil {
		return nil, nil, err
	}
	y, err := see(p, op, out)
	if err != nil {
		return nil, nil, errors.Join(err, discard(out))
	}
	return out, y, nil
}

// discard frees the memory of a tensor that is not returned.
func discard(t *gt.Dense) error { return t.Engine().Free(t, int64(t.MemSize())) }
