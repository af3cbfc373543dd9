package onnx

import (
	"errors"
	"math"

	"github.com/restride/restride/internal/dry"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	d := definition{inputs: arity{1, 1}, outputs: arity{3, 3}, prepare: func(*definition, Attrs) (kernel, error) { return (*call).dynamicQuantize, nil }}
	register("DynamicQuantizeLinear", d.versions(change{11, typeSet(0).with(layout.Float32)}))
}

// dynamicQuantize maps the range that covers the values and 0 to 256 codes. The host reads
// the values for that: a transfer.
func (c *call) dynamicQuantize() error {
	x := c.x
	if err := c.take(4 * x.Count()); err != nil {
		return err
	}
	if err := c.await(x); err != nil {
		return err
	}
	values, err := tensor.Values[float32](x)
	switch {
	case errors.Is(err, dry.ErrRead): // a plan: its tensors have no values
	case err != nil:
		return err
	}
	c.moved(x, tensor.Host())
	s, z := dynamicScale(values)
	scale, err := tensor.FromSlice(x.Stream(), []float32{s}, []int64{}...)
	if err != nil {
		return err
	}
	c.out[1] = scale
	zero, err := tensor.FromSlice(x.Stream(), []uint8{z}, []int64{}...)
	if err != nil {
		return err
	}
	c.out[2] = zero
	y, err := x.Quantize(layout.Uint8, tensor.Quantization{Scale: scale, Zero: zero})
	if err != nil {
		return err
	}
	c.out[0] = y
	return nil
}

// dynamicScale returns the scale and the zero point for values. It ignores NaNs. If all
// values are zeros, it returns 1/255 and 0. Infinities make the scale infinite, and the
// zero point 0.
func dynamicScale(values []float32) (scale float32, zero uint8) {
	least, most := float32(0), float32(0)
	for _, v := range values {
		if v == v {
			least, most = min(least, v), max(most, v)
		}
	}
	scale = 1.0 / 255
	if most != least {
		scale = (most - least) / 255
	}
	if math.IsInf(float64(scale), 0) {
		return scale, 0
	}
	return scale, uint8(math.RoundToEven(float64(max(0, min(255, -least/scale)))))
}
