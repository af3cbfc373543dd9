package onnx

import (
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	compress := definition{inputs: arity{2, 2}, attrs: []string{"axis"}, host: 1 << 1, prepare: prepareCompress}
	register("Compress", compress.versions(change{9, types5}, change{11, types5}))
}

func prepareCompress(d *definition, attrs Attrs) (kernel, error) {
	value, given, err := attrs.Int("axis")
	if err != nil {
		return nil, err
	}
	axis := &value
	if !given {
		axis = nil
	}
	return func(c *call) error {
		cond, err := c.tensor(1, "the condition")
		if err != nil {
			return err
		}
		if cond.DType() != layout.Bool || cond.Rank() != 1 {
			return d.invalid("the condition is %v%v; it must be bool, of one axis", cond.DType(), cond.Shape())
		}
		conditions, err := tensor.Values[bool](cond)
		if err != nil {
			return err
		}
		return c.compress(conditions, axis)
	}, nil
}

// compress gathers the indices of the true conditions: a view if these have a constant
// step. Elements beyond the last condition are dropped. A nil axis flattens the input
// first.
func (c *call) compress(conditions []bool, axis *int64) error {
	x, at := c.x, 0
	if axis == nil {
		flat, err := x.Reshape(x.Count())
		if err != nil {
			return err
		}
		c.temps = append(c.temps, flat)
		x = flat
	} else {
		var err error
		if at, err = c.d.axis(*axis, x.Rank(), x.Rank()-1); err != nil {
			return err
		}
	}
	if int64(len(conditions)) > x.Dim(at) {
		return c.d.invalid("%d conditions for %d elements; there must be no more", len(conditions), x.Dim(at))
	}
	kept := int64(0)
	for _, yes := range conditions {
		if yes {
			kept++
		}
	}
	indices, err := budget.Make[int64](budget.Process(), c.d.name, kept)
	if err != nil {
		return err
	}
	indices = indices[:0]
	for i, yes := range conditions {
		if yes {
			indices = append(indices, int64(i))
		}
	}
	chosen, err := tensor.FromHost(indices, kept)
	if err != nil {
		return err
	}
	c.temps = append(c.temps, chosen)
	return c.set(x.Gather(at, chosen, layout.OutOfRangeError))
}
