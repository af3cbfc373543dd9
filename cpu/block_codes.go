package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// blockCode says how numbers of a block become codes, as device.Quantization defines it.
type blockCode struct {
	// scale returns a block's scale for its number of the largest magnitude, and the factor by
	// which numbers are multiplied.
	scale  func(x float32) (scale, factor float32)
	steps  bool        // codes are StepFloat's
	limits simd.Limits // or CodeFloat's limits
	codes  layout.DType
}

var blockCodes = map[layout.DType]*blockCode{
	layout.Uint4: {
		scale: func(x float32) (scale, factor float32) {
			scale = x / -8
			return scale, reciprocal(scale)
		},
		limits: simd.Limits{Bias: 8.5, None: 8, Most: 15},
		codes:  layout.Uint4,
	},
	layout.Int8: {
		scale: func(x float32) (scale, factor float32) {
			scale = float32(math.Abs(float64(x))) / 127
			return scale, reciprocal(scale)
		},
		// The sum of a half and the largest number below a half would be 1.
		limits: simd.Limits{Bias: float32(math.Copysign(0, -1)), Least: -127, Most: 127, Half: math.Nextafter32(.5, 0)},
		codes:  layout.Int8,
	},
	layout.Float4E2M1: {
		scale: func(x float32) (scale, factor float32) {
			exponent := microExponent(x)
			if scale = math.Float32frombits(uint32(exponent+127) << 23); exponent == -127 {
				scale = 0x1p-127
			}
			return scale, 1 / scale // at most 2^127
		},
		steps: true,
		codes: layout.Uint4,
	},
}

func reciprocal(x float32) float32 {
	if x == 0 {
		return 0
	}
	return 1 / x
}

// code replaces numbers by codes, for blocks whose factors are terms per line or per element.
func (c *blockCode) code(p *piece, values []float32, lined bool) {
	p.sc.terms.Limits = c.limits
	if c.steps {
		changeBy(p, values, values, lined, kernels.StepFloat, nil, func(dst, src []float32, from int, t *simd.Terms, shift uint) {
			for i := from; i < len(src); i++ {
				dst[i] = stepOf(float32(src[i] * t.Scale[i>>(shift&31)&(simd.MostTerms-1)]))
			}
		})
		return
	}
	changeBy(p, values, values, lined, kernels.CodeFloat, nil, func(dst, src []float32, from int, t *simd.Terms, shift uint) {
		for i := from; i < len(src); i++ {
			product := float32(src[i] * t.Scale[i>>(shift&31)&(simd.MostTerms-1)])
			x := product + t.Bias
			switch {
			case x != x: // 0 times infinity
				x = t.None
			case x < t.Least:
				x = t.Least
			case x > t.Most:
				x = t.Most
			}
			x += math.Float32frombits(math.Float32bits(t.Half) | math.Float32bits(x)&floatSign)
			dst[i] = float32(math.Trunc(float64(x)))
		}
	})
}

// largest returns a block's number of the largest magnitude, the first if there are several, after
// bounding the block: x, unless this is the first part, or a number of the block.
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

// bound replaces NaNs by 0, and infinities by the largest numbers.
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

// microExponent is the exponent of MXFP4's scale: floor(log2 |x|) - 2, at least -127, where the
// logarithm is rounded to a float. For numbers a few units below a power of two, its distance from
// an integer vanishes in rounding: the larger the logarithm, the more units.
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

// steps are the bits of the magnitudes above which the next code of Float4E2M1 begins: .25, .75,
// 1.25, 1.75, 2.5, 3.5 and 5.
var steps = [...]uint32{0x3e800000, 0x3f400000, 0x3fa00000, 0x3fe00000, 0x40200000, 0x40600000, 0x40a00000}

// stepOf returns the code of the nearest number of Float4E2M1, the smaller of two equally near
// ones.
func stepOf(v float32) float32 {
	b := math.Float32bits(v)
	m, code := b&^floatSign, uint32(0)
	for _, step := range steps {
		code += (step - m) >> 31 // 1 if m is above: without a branch
	}
	return float32(int32(code | -code>>31&(b>>31)<<3))
}

func pointerTo(values []float32) unsafe.Pointer { return unsafe.Pointer(&values[0]) }
