package gomlx

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapeinference"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func (f *function) DynamicSlice(x compute.Value, starts []compute.Value, sizes []int) (compute.Value, error) {
	keep(&sizes)
	const op = "DynamicSlice"
	n := &node{kind: lone, op: op, fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
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
	}}
	return f.alone(n, starts, func(of []shapes.Shape) (shapes.Shape, error) { return shapeinference.DynamicSlice(of[0], sizes) }, x)
}

func (f *function) DynamicUpdateSlice(x, update compute.Value, starts []compute.Value) (compute.Value, error) {
	const op = "DynamicUpdateSlice"
	n := &node{kind: lone, op: op, fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
		at, err := startsOf(in[2:])
		if err != nil {
			return err
		}
		defer at.Release()
		if err := dst.CopyFrom(in[0]); err != nil {
			return err
		}
		return dst.PutAt(at, in[1])
	}}
	return f.alone(n, starts, func(of []shapes.Shape) (shapes.Shape, error) {
		for i, d := range of[1].Dimensions {
			if i < of[0].Rank() && d > of[0].Dimensions[i] {
				return shapes.Invalid(), errors.Errorf("%s: an update of shape %s to %s", op, of[1], of[0])
			}
		}
		return shapeinference.DynamicUpdateSlice(of[0], of[1])
	}, x, update)
}

// alone records an operation that the Go backend lacks, with start indices for all axes: in the
// shadow a parameter stands for its result.
func (f *function) alone(n *node, starts []compute.Value, infer func([]shapes.Shape) (shapes.Shape, error), xs ...compute.Value) (compute.Value, error) {
	if f != f.bu.main {
		return nil, errors.Wrapf(compute.ErrNotImplemented, "restride: %s in a function that another one calls", n.op)
	}
	in := append(xs[:len(xs):len(xs)], starts...)
	_, operands, err := f.operands(n.op, in)
	if err != nil {
		return nil, err
	}
	of := make([]shapes.Shape, len(operands))
	for i, x := range operands {
		if x == nil {
			return nil, errors.Errorf("restride: %s: operand %d is nil", n.op, i)
		}
		of[i] = x.shape
	}
	at := of[len(xs):]
	if len(at) != of[0].Rank() {
		return nil, errors.Errorf("restride: %s of shape %s: %d starts; there must be one for each axis", n.op, of[0], len(at))
	}
	for i, s := range at {
		if s.Rank() != 0 || !s.DType.IsInt() || s.DType.IsPacked() {
			return nil, errors.Errorf("restride: %s of shape %s: start %d is of shape %s; an integer is wanted", n.op, of[0], i, s)
		}
	}
	shape, err := infer(of)
	if err != nil {
		return nil, errors.WithMessagef(err, "restride: %s", n.op)
	}
	f.bu.alone = n.op
	n.build = func(g compute.Function, _ []compute.Value) ([]compute.Value, error) {
		v, err := g.Parameter(n.op, shape, nil)
		return []compute.Value{v}, err
	}
	return f.single(n, in...)
}

// startsOf joins indices of all axes, without moving them to the host.
func startsOf(in []*tensor.Tensor) (*tensor.Tensor, error) {
	if len(in) == 0 {
		return tensor.FromHost([]int64{}, 0)
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
