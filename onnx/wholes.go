package onnx

import (
	"encoding/binary"
	"math"

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
	size := t.DType().Bits() / 8
	for k := range count {
		v := floatOf(raw[k*size:][:size])
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 { // a NaN is no whole number either
			return nil, c.d.invalid("%s has the element %v, which is no whole number or too large", what, v)
		}
		dst = append(dst, int64(v))
	}
	return dst, nil
}

// floatOf returns the value of a float16, float or double.
func floatOf(raw []byte) float64 {
	switch len(raw) {
	case 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(raw))
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	h := binary.LittleEndian.Uint16(raw)
	exp, frac := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(frac+1024, exp-25)
	switch {
	case exp == 31 && frac == 0:
		v = math.Inf(1)
	case exp == 31:
		v = math.NaN()
	case exp == 0:
		v = math.Ldexp(frac, -24)
	}
	if h>>15 == 1 {
		v = -v
	}
	return v
}
