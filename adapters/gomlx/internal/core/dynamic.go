package core

import (
	"github.com/pkg/errors"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// DynamicSlice takes a window from its first operand. The others are the start in each axis.
func DynamicSlice(sizes []int) *Node {
	return &Node{kind: onDevice, op: "DynamicSlice",
		fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
			at, err := startsOf(in[1:])
			if err != nil {
				return err
			}
			defer at.Release()
			if len(sizes) == 0 {
				return dst.CopyFrom(in[0])
			}
			all := make([]int, len(sizes)) // one window, of all axes
			for i := range all {
				all[i] = i
			}
			w := windows{windowAxes: all, axes: all, sizes: sizes}
			return w.take(dst, in[0], at)
		},
		infer: func(in []Array) (Array, error) {
			if err := checkStarts(in[0], in[1:]); err != nil {
				return Array{}, err
			}
			return Array{DType: in[0].DType, Dims: Dims(sizes)}, within(in[0], Dims(sizes))
		}}
}

// DynamicUpdateSlice replaces a window of its first operand by the second. The others are the
// start in each axis.
func DynamicUpdateSlice() *Node {
	return &Node{kind: onDevice, op: "DynamicUpdateSlice",
		fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
			at, err := startsOf(in[2:])
			if err != nil {
				return err
			}
			defer at.Release()
			if err := dst.CopyFrom(in[0]); err != nil {
				return err
			}
			return dst.PutAt(at, in[1])
		},
		infer: func(in []Array) (Array, error) {
			if err := checkStarts(in[0], in[2:]); err != nil {
				return Array{}, err
			}
			if in[1].DType != in[0].DType {
				return Array{}, errors.Errorf("an update of shape %s", in[1].Shape)
			}
			return in[0], within(in[0], in[1].Dims)
		}}
}

// within checks the sizes of a window.
func within(of Array, sizes []int64) error {
	if len(sizes) != len(of.Dims) {
		return errors.Errorf("a window of %d axes", len(sizes))
	}
	for i, n := range sizes {
		if n < 0 || n > of.Dims[i] {
			return errors.Errorf("a window %v of shape %s", sizes, of.Shape)
		}
	}
	return nil
}

// checkStarts checks the start in each axis: a scalar for each, or a vector.
func checkStarts(of Array, at []Array) error {
	if len(at) == 1 && len(at[0].Dims) == 1 && at[0].Dims[0] == int64(len(of.Dims)) && isIndex(at[0].DType) {
		return nil
	}
	if len(at) != len(of.Dims) {
		return errors.Errorf("%d starts; there must be one for each axis", len(at))
	}
	for i, s := range at {
		if len(s.Dims) != 0 || !isIndex(s.DType) {
			return errors.Errorf("start %d is of shape %s; an integer is wanted", i, s.Shape)
		}
	}
	return nil
}

// isIndex reports whether starts may have a type.
func isIndex(t layout.DType) bool { return isInteger(t) && t.Bits() >= 8 }

// startsOf joins indices of all axes, without moving them to the host.
func startsOf(in []*tensor.Tensor) (*tensor.Tensor, error) {
	switch {
	case len(in) == 0:
		return tensor.FromHost([]int64{}, 0)
	case len(in) == 1 && in[0].Rank() == 1:
		return in[0].Cast(layout.Int64, device.Rounding{})
	}
	long := make([]*tensor.Tensor, 0, len(in))
	defer func() {
		for _, x := range long {
			x.Release()
		}
	}()
	for _, x := range in {
		y, err := x.Cast(layout.Int64, device.Rounding{})
		if err != nil {
			return nil, err
		}
		long = append(long, y)
	}
	return tensor.Stack(0, long...)
}
