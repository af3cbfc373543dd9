package onnx

import (
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// The types of indices and of the depth: numbers.
var countTypes = types5.without(layout.Bool, layout.String, layout.Complex64, layout.Complex128)

func init() {
	d := definition{inputs: arity{3, 3}, host: 1 << 1, attrs: []string{"axis"}, prepare: prepareOneHot}
	register("OneHot", d.versions(change{9, countTypes}, change{11, countTypes}))
}

func prepareOneHot(_ *definition, attrs Attrs) (kernel, error) {
	axis, err := attrs.IntOr("axis", -1)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		depth, err := c.oneDepth()
		if err != nil {
			return err
		}
		values, err := c.tensor(2, "the values")
		if err != nil {
			return err
		}
		return c.oneHot(depth, values, axis)
	}, nil
}

// oneDepth reads input 1: a number of any numeric type.
func (c *call) oneDepth() (int64, error) {
	depth, err := c.tensor(1, "the depth")
	if err != nil {
		return 0, err
	}
	if !countTypes.has(depth.DType()) || depth.Count() != 1 || depth.Rank() > 1 {
		return 0, c.d.invalid("the depth is %v%v; it must be one number", depth.DType(), depth.Shape())
	}
	whole, err := depth.Cast(layout.Int64, device.Rounding{})
	if err != nil {
		return 0, err
	}
	c.temps = append(c.temps, whole)
	var few [1]int64
	list, err := whole.AppendInts(few[:0])
	if err != nil {
		return 0, err
	}
	return list[0], nil
}

// oneHot adds an axis of the given depth with the off value everywhere except at the index.
// Negative indices count from the end, in version 9 too. An index out of range gives the
// off value along the whole axis. Indices of types other than int32 and int64 are converted
// to int64 with the rules of Cast.
func (c *call) oneHot(depth int64, values *tensor.Tensor, axis int64) error {
	x := c.x
	at, err := c.d.axisFrom(axis, -int64(x.Rank())-1, x.Rank()+1, x.Rank())
	switch {
	case err != nil:
		return err
	case !types5.has(values.DType()) || values.Rank() != 1 || values.Dim(0) != 2:
		return c.d.invalid("the values are %v%v; they must be two, off and on, of a type of opset 5", values.DType(), values.Shape())
	case depth < 1:
		return c.d.invalid("the depth is %d; it must be positive", depth)
	}
	both := []*tensor.Tensor{x, values}
	if values.DType() != layout.String {
		if err := c.together(both); err != nil {
			return err
		}
	}
	x, values = both[0], both[1]
	temp := func(t *tensor.Tensor, err error) *tensor.Tensor {
		if err == nil {
			c.temps = append(c.temps, t)
		}
		return t
	}
	if x.DType() != layout.Int32 && x.DType() != layout.Int64 {
		if x, err = x.Cast(layout.Int64, device.Rounding{}); temp(x, err) == nil {
			return err
		}
	}
	places, err := x.Unsqueeze(at)
	if temp(places, err) == nil {
		return err
	}
	on, err := values.Slice(0, 1, 2, 1)
	if temp(on, err) == nil {
		return err
	}
	if on, err = on.Expand(places.Shape()...); temp(on, err) == nil {
		return err
	}
	off := func(pair layout.Layout) (layout.Layout, error) {
		one, err := pair.Slice(0, 0, 1, 1)
		if err == nil {
			one, err = one.Expand(slices.Insert(c.x.Shape(), at, depth)...)
		}
		return one, err
	}
	y, err := tensor.Assemble(values.Stream(), c.d.name, values.DType(), slices.Insert(c.x.Shape(), at, depth), tensor.Part{Src: values, From: off})
	if err != nil {
		return err
	}
	if err := y.PutAlong(at, places, on, device.ReduceSet, layout.OutOfRangeSkip); err != nil {
		return cleanedUp(err, y.Release())
	}
	c.puts(on)
	return c.set(y, nil)
}
