package onnx

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	d := definition{inputs: arity{1, 1}, arithmetic: true, prepare: prepareNonZero}
	register("NonZero", d.versions(change{9, types5}, change{13, types13}))
}

// prepareNonZero prepares the indices of the nonzero elements: one row per axis, in
// row-major order.
func prepareNonZero(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		x, err := c.toHost(c.x)
		if err != nil {
			return err
		}
		set, err := nonZero(d.name, x)
		if err != nil {
			return err
		}
		n := int64(0)
		for _, yes := range set {
			if yes {
				n++
			}
		}
		dims := c.x.Shape()
		rank := int64(len(dims))
		out, err := budget.Make[int64](budget.Process(), d.name, rank*n)
		if err != nil {
			return err
		}
		k := int64(0)
		for i, yes := range set {
			if !yes {
				continue
			}
			at := int64(i)
			for axis := rank - 1; axis >= 0; axis-- {
				out[axis*n+k] = at % dims[axis]
				at /= dims[axis]
			}
			k++
		}
		return c.set(tensor.FromHost(out, rank, n))
	}, nil
}

// nonZero returns, for each element of a host tensor, whether it is not zero or empty.
func nonZero(op string, x *tensor.Tensor) ([]bool, error) {
	var set *tensor.Tensor
	var err error
	switch x.DType() {
	case layout.String:
		set, err = each(op, x, func(s string) bool { return s != "" })
	case layout.Complex64:
		set, err = each(op, x, func(z complex64) bool { return z != 0 })
	case layout.Complex128:
		set, err = each(op, x, func(z complex128) bool { return z != 0 })
	default:
		set, err = x.Cast(layout.Bool, device.Rounding{})
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = set.Release() }() // on the host: never an error
	return tensor.Values[bool](set)
}
