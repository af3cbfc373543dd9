package onnx

import (
	"github.com/restride/restride/internal/padding"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	d := definition{inputs: arity{2, 2}, host: 1 << 1, attrs: []string{"axes"}, prepare: prepareCenterCropPad}
	register("CenterCropPad", d.versions(change{18, types13}))
}

func prepareCenterCropPad(_ *definition, attrs Attrs) (kernel, error) {
	axes, _, err := attrs.Ints("axes")
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		shape, err := c.ints(nil, 1, "shape", true)
		if err != nil {
			return err
		}
		return c.centerCropPad(shape, axes)
	}, nil
}

// centerCropPad changes the extents of axes (nil: all) to those in shape. A longer axis
// keeps its middle, and a shorter one gets zeros on both sides. If the difference is odd,
// the end changes by one more.
func (c *call) centerCropPad(shape, axes []int64) error {
	if len(axes) == 0 { // an empty attribute means it is omitted
		axes = nil
	}
	list, err := c.d.padAxes(axes, c.x.Rank())
	if err != nil {
		return err
	}
	if len(shape) != len(list) {
		return c.d.invalid("shape %v has %d extents for %d axes", layout.Shape(shape).Clone(), len(shape), len(list))
	}
	to := make([]padding.Axis, c.x.Rank())
	for i, axis := range list {
		if shape[i] < 0 {
			return c.d.invalid("shape asks for extent %d of axis %d; it must not be negative", shape[i], axis)
		}
		by := shape[i] - c.x.Dim(axis)
		to[axis] = padding.Axis{Before: by / 2, After: by - by/2}
	}
	return c.pad(tensor.PadConstant, to, nil)
}
