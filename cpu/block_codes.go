package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/restride/restride/layout"
)

// blockCode says how numbers of a block become codes, as device.Quantization has it.
type blockCode struct {
	// scale returns the scale of a block by its number of the largest magnitude, and what
	// codes takes.
	scale func(x float32) (scale, factor float32)
	// codes replaces numbers by codes, or by what codes of floats stand for.
	codes func(block []float32, factor float32)
}

var blockCodes = map[layout.DType]blockCode{
	layout.Uint4: {
		scale: func(x float32) (scale, factor float32) {
			scale = x / -8
			return scale, reciprocal(scale)
		},
		codes: func(block []float32, factor float32) {
			for i, x := range block {
				v := float32(x*factor) + 8.5
				if v != v { // 0 times infinity
					v = 8
				}
				block[i] = float32(int32(min(max(v, 0), 15)))
			}
		},
	},
	layout.Int8: {
		scale: func(x float32) (scale, factor float32) {
			scale = float32(math.Abs(float64(x))) / 127
			return scale, reciprocal(scale)
		},
		codes: func(block []float32, factor float32) {
			for i, x := range block {
				v := float64(float32(x * factor))
				if v != v {
					v = 0
				}
				// The sum is exact, so that what is left of its fraction is the nearest.
				block[i] = float32(int32(min(max(v, -127), 127) + math.Copysign(.5, v)))
			}
		},
	},
	layout.Float4E2M1: {
		scale: func(x float32) (scale, factor float32) {
			exponent := microExponent(x)
			// 1 / scale is a float: at the most 2^127, and for 2^126 a subnormal one.
			return float32(math.Ldexp(1, exponent)), float32(math.Ldexp(1, -exponent))
		},
		codes: func(block []float32, factor float32) {
			for i, x := range block {
				block[i] = nearestE2M1(float64(x) * float64(factor))
			}
		},
	},
}

func reciprocal(x float32) float32 {
	if x == 0 {
		return 0
	}
	return 1 / x
}

// largest returns the number of the largest magnitude, the first of several, of a block
// that it bounds: x, or where it is the first part, one of the block.
func largest(block []float32, x float32, first bool) float32 {
	bound(block)
	if first {
		x = block[0]
	}
	most := math.Float32bits(x) << 1
	for _, v := range block {
		if b := math.Float32bits(v) << 1; b > most {
			x, most = v, b
		}
	}
	return x
}

// bound replaces what is no number by 0, and infinities by the largest numbers.
func bound(block []float32) {
	for i, v := range block {
		if b := math.Float32bits(v); b&floatInfinity == floatInfinity {
			block[i] = bounded(v)
		}
	}
}

const floatInfinity = 0x7f800000

func bounded(v float32) float32 {
	if v != v {
		return 0
	}
	return float32(math.Copysign(math.MaxFloat32, float64(v)))
}

// microExponent is the exponent of MXFP4's scale: floor(log2 |x|) - 2, -127 at least, where
// the logarithm is rounded to a float. Its distance to a whole one, of a number that is so
// many units below a power of two, vanishes then: the more, the larger it is.
func microExponent(x float32) int {
	b := math.Float32bits(x) &^ (1 << 31)
	p := int(b>>23) - 127
	size := p
	if p < 0 {
		size = ^p
	}
	vanish := uint32(0)
	if size > 0 {
		vanish = 11 << (bits.Len(uint(size)) - 1) >> 4
	}
	if 1<<23-b&(1<<23-1) <= vanish {
		p++
	}
	return max(p-2, -127)
}

// nearestE2M1 returns the nearest number of Float4E2M1, the smaller one of two.
func nearestE2M1(v float64) float32 {
	m := math.Abs(v)
	var n float32
	switch {
	case m <= .25:
		return 0
	case m <= 1.75:
		n = float32(math.Ceil(2*m-.5)) / 2
	case m <= 2.5:
		n = 2
	case m <= 3.5:
		n = 3
	case m <= 5:
		n = 4
	default:
		n = 6
	}
	if v < 0 {
		return -n
	}
	return n
}

// set makes an element of a float.
func (o *scaled) set(at int64, v float32) {
	x := o.is.encode(numbers[layout.Float32].decode(uint64(math.Float32bits(v))))
	o.is.put(o.base, at, x)
}

func pointerTo(values []float32) unsafe.Pointer { return unsafe.Pointer(&values[0]) }
