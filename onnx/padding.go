package onnx

import (
	"github.com/restride/restride/internal/padding"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// window returns the region that a slice along each of the given axes selects.
func window(axes []int, from, to []int64) region {
	return func(whole layout.Layout) (layout.Layout, error) { return whole.SliceAxes(axes, from, to, nil) }
}

// pad makes output 0 of the call: x with padding on each axis. It is a view if nothing is
// added.
func (c *call) pad(mode tensor.PadMode, axes []padding.Axis, fill []byte) error {
	x := c.x.Layout()
	p, err := padding.New(c.d.name, string(mode), &x, axes)
	if err != nil {
		return err
	}
	if p.Parts == nil {
		return c.set(c.x.WithLayout(c.d.name, p.Crop))
	}
	parts := make([]tensor.Part, len(p.Parts))
	for i, part := range p.Parts {
		parts[i] = tensor.Part{Into: part.Into, From: part.From, Fill: fill}
		if part.Source {
			parts[i].Src = c.x
		}
	}
	return c.assemble(c.x.Stream(), c.x.DType(), p.Dims, parts...)
}
