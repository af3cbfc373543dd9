package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// window returns what takes a whole to a part of it: a slice along each of some axes.
func window(axes []int, from, to []int64) region {
	return func(whole layout.Layout) (layout.Layout, error) { return whole.SliceAxes(axes, from, to, nil) }
}

// pad makes output 0 of the call: x with a padding for each of its axes. A view if
// nothing is added.
func (c *call) pad(mode tensor.PadMode, list []tensor.Padding, fill []byte) error {
	p, err := c.x.PlanPad(c.d.name, mode, fill, list)
	if err != nil {
		return err
	}
	if p.Parts == nil {
		return c.set(c.x.WithLayout(c.d.name, p.Crop))
	}
	return c.assemble(c.x.Stream(), c.x.DType(), p.Dims, p.Parts...)
}
