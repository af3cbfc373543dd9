package onnx

import (
	"math"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// wholes appends the count values of input i to dst. Split-1 and Tile-1 declare
// their counts and axes to be of the type of the data, which is a floating-point
// one, and speak of int64: both are taken.
func (c *call) wholes(dst []int64, i int, what string, count int) ([]int64, error) {
	t, ok := c.in[i].(*tensor.Tensor)
	if !ok {
		return nil, c.d.invalid("%s is %s; it must be a tensor", what, describe(c.in[i]))
	}
	if t.DType() != layout.Int64 && t.DType() != c.x.DType() {
		return nil, c.d.invalid("%s is %v; it must be int64 or, as the input is, %v", what, t.DType(), c.x.DType())
	}
	if t.Rank() > 1 || t.Count() != int64(count) {
		return nil, c.d.invalid("%s has shape %v; it must have %d elements along one axis", what, t.Shape(), count)
	}
	if t.DType() == layout.Int64 {
		return t.AppendInts(dst)
	}
	raw, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	for k := range count {
		v := numeric.Float(t.DType(), raw, int64(k))
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 { // a NaN is no whole number either
			return nil, c.d.invalid("%s has the element %v, which is no whole number or too large", what, v)
		}
		dst = append(dst, int64(v))
	}
	return dst, nil
}
