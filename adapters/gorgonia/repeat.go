package gorgonia

import (
	"errors"
	"math"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"

	gt "gorgonia.org/tensor"
)

// repeat returns a new tensor that repeats the elements of t along an axis.
func repeat(p place, op string, t *gt.Dense, axis int, repeats []int) (*gt.Dense, error) {
	r, err := repetitionOf(op, t.Shape(), axis, repeats)
	if err != nil {
		return nil, err
	}
	out, y, err := fresh(p, op, t.Dtype(), layout.Ints(r.out...))
	if err != nil {
		return nil, err
	}
	defer y.Release()
	if err := r.run(p, op, y, t); err != nil {
		return nil, errors.Join(err, discard(out))
	}
	return out, nil
}

// repeatInto is repeat to the memory of reuse.
func repeatInto(p place, op string, reuse, t *gt.Dense, axis int, repeats []int) (*gt.Dense, error) {
	r, err := repetitionOf(op, t.Shape(), axis, repeats)
	if err != nil {
		return nil, err
	}
	if shape := gt.Shape(layout.Ints(r.out...)); !reuse.Shape().Eq(shape) {
		return nil, layout.Errorf(device.ErrInvalid, op, "the tensor to be reused has shape %v, and the result %v", reuse.Shape(), shape)
	}
	y, err := see(p, op, reuse)
	if err != nil {
		return nil, err
	}
	defer y.Release()
	if err := r.run(p, op, y, t); err != nil {
		return nil, err
	}
	return reuse, nil
}

// repetition is a Repeat along an axis of the shape in.
type repetition struct {
	in, out layout.Shape
	axis    int
	counts  []int // one for each slice along the axis, or one for all
}

// repetitionOf applies gorgonia's rules: AllAxes flattens, and scalars and vectors may be
// repeated along one more axis than they have.
func repetitionOf(op string, shape gt.Shape, axis int, counts []int) (r repetition, err error) {
	r = repetition{in: layout.ShapeOf(shape...), axis: axis, counts: counts}
	switch {
	case axis == gt.AllAxes:
		n, err := r.in.Count()
		if err != nil {
			return r, layout.Named(op, err)
		}
		r.in, r.axis = layout.Shape{n}, 0
	case len(shape) == 0 && axis == 0:
		r.in = layout.Shape{1}
	case len(shape) == 0 && axis == 1:
		r.in = layout.Shape{1, 1}
	case len(shape) == 1 && axis == 1:
		r.in = append(r.in, 1)
	case axis < 0 || axis >= len(shape):
		return r, layout.Errorf(device.ErrInvalid, op, "axis %d of shape %v", axis, shape)
	}
	size := r.in[r.axis]
	if len(counts) != 1 && int64(len(counts)) != size {
		return r, layout.Errorf(device.ErrInvalid, op, "%d repeats for %d elements along axis %d of shape %v", len(counts), size, axis, shape)
	}
	r.out = slices.Clone(r.in)
	r.out[r.axis], err = sum(op, counts)
	if err == nil && len(counts) == 1 {
		r.out[r.axis], err = layout.Shape{r.out[r.axis], size}.Count()
	}
	return r, layout.Named(op, err)
}

func sum(op string, counts []int) (n int64, err error) {
	for _, c := range counts {
		if c < 0 || n > math.MaxInt64-int64(c) {
			return 0, layout.Errorf(device.ErrInvalid, op, "repeats %d: must not be negative, nor more than an int64 holds", c)
		}
		n += int64(c)
	}
	return n, nil
}

// run sets the elements of y to those of t.
func (r *repetition) run(p place, op string, y *tensor.Tensor, t *gt.Dense) error {
	if y.Count() == 0 {
		return nil
	}
	x, err := see(p, op, t)
	if err != nil {
		return err
	}
	defer x.Release()
	flat, err := x.Reshape(r.in...)
	if err != nil {
		return layout.Named(op, err)
	}
	defer flat.Release()
	y, err = y.Reshape(r.out...)
	if err != nil {
		return layout.Named(op, err)
	}
	defer y.Release()
	if len(r.counts) == 1 {
		return r.spread(op, y, flat)
	}
	return r.take(op, y, flat)
}

// spread repeats all elements equally: y gets one more axis, along which x is broadcast.
func (r *repetition) spread(op string, y, x *tensor.Tensor) error {
	one, err := x.Unsqueeze(r.axis + 1)
	if err != nil {
		return err
	}
	defer one.Release()
	dims := slices.Insert(slices.Clone(r.in), r.axis+1, int64(r.counts[0]))
	to, err := y.Reshape(dims...)
	if err != nil {
		return layout.Named(op, err)
	}
	defer to.Release()
	all, err := one.Expand(dims...)
	if err != nil {
		return layout.Named(op, err)
	}
	defer all.Release()
	return layout.Named(op, to.CopyFrom(all))
}

// take repeats each element by its own count.
func (r *repetition) take(op string, y, x *tensor.Tensor) error {
	n := r.out[r.axis]
	indices, err := budget.Make[int64](budget.Process(), op, n)
	if err != nil {
		return err
	}
	indices = indices[:0]
	for i, count := range r.counts {
		for range count {
			indices = append(indices, int64(i))
		}
	}
	at, err := tensor.FromSlice(y.Stream(), indices)
	if err != nil {
		return err
	}
	defer at.Release()
	from, which := x.Operand(), at.Operand()
	by := layout.Index{Extent: r.in[r.axis], Stride: from.Layout.Stride(r.axis)}
	if from.Layout, err = from.Layout.Slice(r.axis, 0, 1, 1); err == nil {
		from.Layout, err = from.Layout.Expand(r.out...)
	}
	if err != nil {
		return err
	}
	dims := slices.Repeat([]int64{1}, len(r.out)-r.axis)
	dims[0] = n
	if which.Layout, err = which.Layout.Reshape(dims...); err == nil {
		which.Layout, err = which.Layout.Expand(r.out...)
	}
	if err != nil {
		return err
	}
	return layout.Named(op, y.Stream().Queue().Take(y.Operand(), from, which, by))
}
