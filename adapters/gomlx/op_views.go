package gomlx

import (
	"math"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// viewFunc returns a view, or a new tensor where a view is impossible.
type viewFunc func(s *tensor.Stream, in []*tensor.Tensor, to target) (*tensor.Tensor, error)

// through is a view of its only operand's memory through another layout.
func through(op string, rearrange func(layout.Layout) (layout.Layout, error)) viewFunc {
	return func(_ *tensor.Stream, in []*tensor.Tensor, _ target) (*tensor.Tensor, error) {
		l, err := rearrange(in[0].Layout())
		if err != nil {
			return nil, err
		}
		return in[0].WithLayout(op, l)
	}
}

// one is an operation with one operand on the Go backend.
func one(do func(g compute.Function, x compute.Value) (compute.Value, error)) buildFunc {
	return func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		v, err := do(g, in[0])
		return []compute.Value{v}, err
	}
}

// single is record1 for methods: without a value after an error.
func (f *function) single(n *node, in ...compute.Value) (compute.Value, error) {
	x, err := f.record1(n, in...)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (f *function) Identity(x compute.Value) (compute.Value, error) {
	return f.single(&node{kind: follows, op: "Identity", build: one(compute.Function.Identity),
		view: through("Identity", func(l layout.Layout) (layout.Layout, error) { return l, nil })}, x)
}

func (f *function) Reshape(x compute.Value, dims ...int) (compute.Value, error) {
	keep(&dims)
	return f.single(&node{kind: follows, op: "Reshape",
		build: one(func(g compute.Function, x compute.Value) (compute.Value, error) { return g.Reshape(x, dims...) }),
		view: func(_ *tensor.Stream, in []*tensor.Tensor, to target) (*tensor.Tensor, error) {
			return in[0].Reshape(to.dims...)
		}}, x)
}

func (f *function) Transpose(x compute.Value, perm ...int) (compute.Value, error) {
	keep(&perm)
	return f.single(&node{kind: onDevice, op: "Transpose",
		build: one(func(g compute.Function, x compute.Value) (compute.Value, error) { return g.Transpose(x, perm...) }),
		view:  through("Transpose", func(l layout.Layout) (layout.Layout, error) { return l.Permute(perm...) })}, x)
}

func (f *function) Slice(x compute.Value, starts, limits, strides []int) (compute.Value, error) {
	keep(&starts, &limits, &strides)
	steps := dimensions(strides)
	if len(steps) == 0 {
		steps = slices.Repeat([]int64{1}, len(starts))
	}
	axes := make([]int, len(starts))
	for i := range axes {
		axes[i] = i
	}
	from, to := dimensions(starts), dimensions(limits)
	return f.single(&node{kind: onDevice, op: "Slice",
		build: one(func(g compute.Function, x compute.Value) (compute.Value, error) {
			return g.Slice(x, starts, limits, strides)
		}),
		view: through("Slice", func(l layout.Layout) (layout.Layout, error) { return l.SliceAxes(axes, from, to, steps) })}, x)
}

func (f *function) Reverse(x compute.Value, axes ...int) (compute.Value, error) {
	keep(&axes)
	return f.single(&node{kind: onDevice, op: "Reverse",
		build: one(func(g compute.Function, x compute.Value) (compute.Value, error) { return g.Reverse(x, axes...) }),
		view: through("Reverse", func(l layout.Layout) (_ layout.Layout, err error) {
			for i, axis := range axes {
				if slices.Contains(axes[:i], axis) {
					continue // like the Go backend
				}
				if l, err = l.Slice(axis, -1, math.MinInt64, -1); err != nil {
					break
				}
			}
			return l, err
		})}, x)
}

func (f *function) BroadcastInDim(x compute.Value, shape shapes.Shape, axes []int) (compute.Value, error) {
	keep(&axes)
	if err := f.increasing("BroadcastInDim", x, axes); err != nil {
		return nil, err
	}
	shape = shape.Clone()
	var fresh []int // the axes that x does not have
	for i := range shape.Rank() {
		if !slices.Contains(axes, i) {
			fresh = append(fresh, i)
		}
	}
	dims := dimensions(shape.Dimensions)
	return f.single(&node{kind: spread, op: "BroadcastInDim",
		build: one(func(g compute.Function, x compute.Value) (compute.Value, error) {
			return g.BroadcastInDim(x, shape, axes)
		}),
		view: through("BroadcastInDim", func(l layout.Layout) (layout.Layout, error) {
			if len(fresh) > 0 {
				var err error
				if l, err = l.Unsqueeze(fresh...); err != nil {
					return l, err
				}
			}
			return l.Expand(dims...)
		})}, x)
}

// increasing checks the axes of a broadcast, as shape inference does not.
func (f *function) increasing(op string, x compute.Value, axes []int) error {
	for i := 1; i < len(axes); i++ {
		if axes[i] > axes[i-1] {
			continue
		}
		of, err := f.Shape(x)
		if err == nil {
			err = errors.Errorf("restride: %s of %s: axes %v are not increasing", op, of, axes)
		}
		return err
	}
	return nil
}

func (f *function) Bitcast(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	n := &node{kind: follows, op: "Bitcast",
		build: one(func(g compute.Function, x compute.Value) (compute.Value, error) { return g.Bitcast(x, dtype) }),
		view: func(_ *tensor.Stream, in []*tensor.Tensor, to target) (*tensor.Tensor, error) {
			v, err := in[0].Bitcast(to.dtype)
			if !errors.Is(err, device.ErrUnsupported) { // the parts of wider elements are not contiguous
				return v, err
			}
			dense, err := in[0].Clone()
			if err != nil {
				return nil, err
			}
			defer dense.Release()
			return dense.Bitcast(to.dtype)
		}}
	if _, ok := types[dtype]; !ok {
		n.kind, n.view = fallback, nil
	}
	return f.single(n, x)
}

func (f *function) Iota(shape shapes.Shape, axis int) (compute.Value, error) {
	shape = shape.Clone()
	n := &node{kind: spread, op: "Iota",
		build: func(g compute.Function, _ []compute.Value) ([]compute.Value, error) {
			v, err := g.Iota(shape, axis)
			return []compute.Value{v}, err
		},
		view: func(s *tensor.Stream, _ []*tensor.Tensor, to target) (*tensor.Tensor, error) {
			return tensor.Iota(s, to.dtype, axis, to.dims...)
		}}
	if axis < 0 || axis >= shape.Rank() || !counts(shape.DType, shape.Dimensions[axis]) {
		n.kind, n.view = fallback, nil // which refuses it, or wraps around
	}
	return f.single(n)
}

// counts reports whether a type has the numbers below n.
func counts(t dtypes.DType, n int) bool {
	switch {
	case t.IsFloat():
		return true
	case !t.IsInt():
		return false
	}
	bits := t.Bits()
	if !t.IsUnsigned() {
		bits--
	}
	return bits >= 63 || n <= 1<<bits
}
