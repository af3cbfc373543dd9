package core

import (
	"math"
	"slices"

	"github.com/pkg/errors"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// through is a view of its only operand's memory through another layout.
func through(op string, rearrange func(layout.Layout) (layout.Layout, error)) viewFunc {
	return func(_ *tensor.Stream, in []*tensor.Tensor, _ Array) (*tensor.Tensor, error) {
		l, err := rearrange(in[0].Layout())
		if err != nil {
			return nil, err
		}
		return in[0].WithLayout(op, l)
	}
}

// Identity is the operand.
func Identity() *Node {
	const op = "Identity"
	return &Node{kind: follows, op: op, view: through(op, func(l layout.Layout) (layout.Layout, error) { return l, nil })}
}

// Reshape has the result's dimensions.
func Reshape() *Node {
	return &Node{kind: follows, op: "Reshape", view: func(_ *tensor.Stream, in []*tensor.Tensor, to Array) (*tensor.Tensor, error) {
		return in[0].Reshape(to.Dims...)
	}}
}

// Transpose permutes axes.
func Transpose(perm []int) *Node {
	const op = "Transpose"
	return &Node{kind: onDevice, op: op, view: through(op, func(l layout.Layout) (layout.Layout, error) { return l.Permute(perm...) })}
}

// Slice takes a part of each axis; without strides, all of its elements.
func Slice(starts, limits, strides []int) *Node {
	const op = "Slice"
	steps := Dims(strides)
	if len(steps) == 0 {
		steps = slices.Repeat([]int64{1}, len(starts))
	}
	axes := make([]int, len(starts))
	for i := range axes {
		axes[i] = i
	}
	from, to := Dims(starts), Dims(limits)
	return &Node{kind: onDevice, op: op, view: through(op, func(l layout.Layout) (layout.Layout, error) { return l.SliceAxes(axes, from, to, steps) })}
}

// Reverse reverses axes. An axis that is named twice is reversed once, as on the Go backend.
func Reverse(axes []int) *Node {
	const op = "Reverse"
	return &Node{kind: onDevice, op: op,
		view: through(op, func(l layout.Layout) (_ layout.Layout, err error) {
			for i, axis := range axes {
				if slices.Contains(axes[:i], axis) {
					continue
				}
				if l, err = l.Slice(axis, -1, math.MinInt64, -1); err != nil {
					break
				}
			}
			return l, err
		}),
		infer: func(in []Array) (Array, error) {
			for _, axis := range axes {
				if axis < 0 || axis >= len(in[0].Dims) {
					return Array{}, errors.Errorf("axis %d of shape %s", axis, in[0].Shape)
				}
			}
			return in[0], nil
		}}
}

// Broadcast enlarges an array to dims: its axes are the given axes of the result, which must
// increase.
func Broadcast(op string, axes []int, dims []int64) (*Node, error) {
	for i := 1; i < len(axes); i++ {
		if axes[i] <= axes[i-1] {
			return nil, errors.Errorf("axes %v are not increasing", axes)
		}
	}
	var fresh []int // the axes that the operand does not have
	for i := range dims {
		if !slices.Contains(axes, i) {
			fresh = append(fresh, i)
		}
	}
	return &Node{kind: spread, op: op, view: through(op, func(l layout.Layout) (layout.Layout, error) {
		if len(fresh) > 0 {
			var err error
			if l, err = l.Unsqueeze(fresh...); err != nil {
				return l, err
			}
		}
		return l.Expand(dims...)
	})}, nil
}

// Bitcast has the same bits as elements of another type.
func Bitcast(to layout.DType) *Node {
	const op = "Bitcast"
	if to == 0 {
		return Fallback(op)
	}
	return &Node{kind: follows, op: op,
		view: func(_ *tensor.Stream, in []*tensor.Tensor, to Array) (*tensor.Tensor, error) {
			v, err := in[0].Bitcast(to.DType)
			if !errors.Is(err, device.ErrUnsupported) { // the parts of wider elements are not contiguous
				return v, err
			}
			dense, err := in[0].Clone()
			if err != nil {
				return nil, err
			}
			defer dense.Release()
			return dense.Bitcast(to.DType)
		},
		infer: func(in []Array) (Array, error) {
			l, err := layout.Contiguous(in[0].Dims...)
			if err == nil && in[0].DType.Bits() != to.Bits() {
				l, err = l.Bitcast(in[0].DType.Bits(), to.Bits())
			}
			return Array{DType: to, Dims: l.Shape()}, err
		}}
}

// Iota counts along an axis.
func Iota(t layout.DType, axis int, dims []int64) *Node {
	const op = "Iota"
	if axis < 0 || axis >= len(dims) || !counts(t, dims[axis]) {
		return Fallback(op) // it refuses that, or wraps around
	}
	return &Node{kind: spread, op: op, view: func(s *tensor.Stream, _ []*tensor.Tensor, to Array) (*tensor.Tensor, error) {
		return tensor.Iota(s, to.DType, axis, to.Dims...)
	}}
}

// counts reports whether a type has the numbers below n.
func counts(t layout.DType, n int64) bool {
	switch numeric.KindOf(t) {
	case numeric.FloatKind:
		return true
	case numeric.IntKind, numeric.UintKind:
		d := digits(t)
		return d >= 63 || n <= 1<<d
	}
	return false
}

// digits is the number of bits of the largest whole number up to which a type has all.
func digits(t layout.DType) int {
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		return 1
	case numeric.IntKind:
		return t.Bits() - 1
	case numeric.FloatKind:
		f, _ := numeric.FloatFormatOf(t)
		return f.Mantissa + 1
	}
	return t.Bits()
}

// Dims converts dimensions.
func Dims(of []int) []int64 {
	dims := make([]int64, len(of))
	for i, n := range of {
		dims[i] = int64(n)
	}
	return dims
}
