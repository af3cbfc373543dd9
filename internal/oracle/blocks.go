package oracle

import (
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// quantizeBlocks is Scale where scales are found: the last axis is a block.
func (t *Terms) quantizeBlocks(dst []byte, d layout.Layout, to layout.DType, src []byte, s layout.Layout, from layout.DType) {
	last := d.Rank() - 1
	n := d.Dim(last)
	for number := int64(0); number < d.Count(); number += n {
		at := index(d, number)
		block := make([]float32, n)
		for k := range block {
			at[last] = int64(k)
			block[k] = counted(decode(from, src, s.At(at...)))
		}
		codes, scale := blockCodes(to, block)
		for k, v := range codes {
			at[last] = int64(k)
			setElement(dst, d.At(at...), int64(to.Bits()), v)
		}
		at[last] = 0
		width := int64(t.Scale.Type.Bits())
		setElement(t.Scale.Data, t.Scale.Layout.At(at...), width, encode(t.Scale.Type, real(scale), device.Rounding{}))
	}
}

// counted is the value with which a number of a block counts.
func counted(n number) float32 {
	v := single(n)
	switch {
	case v != v:
		return 0
	case math.IsInf(float64(v), 0):
		return float32(math.Copysign(math.MaxFloat32, float64(v)))
	}
	return v
}

// blockCodes returns the codes of a block, and its scale.
func blockCodes(to layout.DType, block []float32) (codes []uint64, scale float32) {
	x := block[0]
	for _, v := range block {
		if math.Abs(float64(v)) > math.Abs(float64(x)) {
			x = v
		}
	}
	var code func(v float32) uint64
	switch to {
	case layout.Uint4:
		scale = over(x, -8)
		code = func(v float32) uint64 { return fourBits(plus(times(v, reciprocal(scale)), 8.5)) }
	case layout.Int8:
		scale = over(float32(math.Abs(float64(x))), 127)
		code = func(v float32) uint64 { return eightBits(times(v, reciprocal(scale))) }
	default:
		scale = microScale(x)
		code = func(v float32) uint64 { return nearestE2M1(float64(v) / float64(scale)) }
	}
	for _, v := range block {
		codes = append(codes, code(v))
	}
	return codes, scale
}

func reciprocal(v float32) float32 {
	if v == 0 {
		return 0
	}
	return over(1, v)
}

// fourBits is the integer part of a number, from 0 to 15; NaN, from 0 times an infinite
// reciprocal, gives the code of 0.
func fourBits(v float32) uint64 {
	if v != v {
		return 8
	}
	return uint64(min(max(v, 0), 15))
}

// eightBits is the nearest integer, ties away from zero.
func eightBits(v float32) uint64 {
	if v != v {
		return 0
	}
	return uint64(uint8(int8(math.Round(min(max(float64(v), -127), 127)))))
}

// microScale is the scale of a block of MXFP4.
func microScale(x float32) float32 {
	if x == 0 {
		return 0x1p-127
	}
	log := float32(math.Log2(math.Abs(float64(x))))
	return float32(math.Ldexp(1, int(max(math.Floor(float64(log))-2, -127))))
}

// nearestE2M1 is the code of the nearest number of Float4E2M1, ties to the smaller one.
func nearestE2M1(v float64) uint64 {
	best, least := uint64(0), math.Inf(1)
	for code, m := range []float64{0, .5, 1, 1.5, 2, 3, 4, 6} {
		if far := math.Abs(math.Abs(v) - m); far < least {
			best, least = uint64(code), far
		}
	}
	if v < 0 && best > 0 {
		best |= 8
	}
	return best
}
