package onnx

import (
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	types := typeSet(0).with(layout.Float32, layout.Float64, layout.Int16, layout.Int32, layout.Int64)
	d := definition{inputs: arity{3, 3}, host: 1<<0 | 1<<1 | 1<<2, generates: true, prepare: prepareRange}
	v27 := d
	v27.attrs = []string{"stash_type"}
	register("Range", d.versions(change{11, types}), v27.versions(change{27, types.with(layout.Float16, layout.BFloat16)}))
}

// prepareRange prepares the numbers start, start+delta, ... before limit. The host computes
// them, mostly as part of shape arithmetic; half precision is returned as float.
func prepareRange(d *definition, attrs Attrs) (kernel, error) {
	stash, err := attrs.IntOr("stash_type", int64(layout.Float32))
	if err != nil {
		return nil, err
	}
	if stash != int64(layout.Float32) {
		return nil, layout.Errorf(device.ErrUnsupported, d.name, "attribute stash_type is %d; only 1, float, is there", stash)
	}
	return func(c *call) error {
		xs, t, err := c.operands()
		if err != nil {
			return err
		}
		if err := d.checkType(t); err != nil {
			return err
		}
		for i, x := range xs {
			if x.Rank() > 1 || x.Count() != 1 {
				return d.invalid("input %d has shape %v; it must be one number", i, x.Shape())
			}
		}
		y, err := calculators[t].sequence(xs[0], xs[1], xs[2])
		if err != nil {
			return layout.Named(d.name, err)
		}
		return c.setAs(0, t, y, nil)
	}, nil
}

func (o of[T]) sequence(start, limit, delta *tensor.Tensor) (*tensor.Tensor, error) {
	var v [3]T
	for i, x := range []*tensor.Tensor{start, limit, delta} {
		one, err := tensor.Values[T](x)
		if err != nil {
			return nil, err
		}
		v[i] = one[0]
	}
	n, err := o.steps(v[0], v[1], v[2])
	if err != nil {
		return nil, err
	}
	out, err := budget.Make[T](budget.Process(), "Range", n)
	if err != nil {
		return nil, err
	}
	for i := range out {
		by := T(i) * v[2]
		out[i] = v[0] + T(by) // no fused multiply-add: two roundings on every processor
	}
	return tensor.FromHost(out, n)
}

// steps returns the length of the sequence from start in steps of delta before limit.
func (o of[T]) steps(start, limit, delta T) (int64, error) {
	if delta == 0 || delta != delta {
		return 0, layout.Errorf(device.ErrInvalid, "Range", "delta is %v", delta)
	}
	n := math.Ceil((float64(limit) - float64(start)) / float64(delta))
	if o.isInteger() {
		return integerSteps(int64(start), int64(limit), int64(delta))
	}
	if math.IsNaN(n) || n > math.MaxInt32 {
		return 0, layout.Errorf(device.ErrInvalid, "Range", "from %v to %v by %v there are %v numbers", start, limit, delta, n)
	}
	return int64(max(n, 0)), nil
}

func integerSteps(start, limit, delta int64) (int64, error) {
	if start == limit || start < limit != (delta > 0) {
		return 0, nil
	}
	distance, step := uint64(limit)-uint64(start), uint64(delta)
	if delta < 0 {
		distance, step = -distance, -step
	}
	n := (distance-1)/step + 1
	if n > math.MaxInt64 {
		return 0, layout.Errorf(device.ErrInvalid, "Range", "from %d to %d by %d there are %d numbers", start, limit, delta, n)
	}
	return int64(n), nil
}
