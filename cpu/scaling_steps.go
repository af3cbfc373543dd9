package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// A scaling's operations on the floats of a piece, with kernels for whole lines and with loops.
// Conversions to float32 between two operations prevent their fusion.

func termsOf(p *piece) *byte { return (*byte)(unsafe.Pointer(p.sc.terms)) }

// changeBy changes values by terms per line or per value: with the matching kernel, if there is
// one, and with a loop, which uses the terms of value i at i >> shift.
func changeBy(p *piece, dst, src []float32, lined bool, line, each simd.Cast, loop func(dst, src []float32, from int, t *simd.Terms, shift uint)) {
	kernel, shift, whole := each, uint(0), 0
	if lined {
		kernel, shift = line, 4
	}
	if kernel != nil {
		whole = len(src) &^ (lineFloats - 1)
		kernel((*byte)(pointerTo(dst)), (*byte)(pointerTo(src)), int64(whole/lineFloats), termsOf(p), false)
	}
	loop(dst, src, whole, p.sc.terms, shift)
}

// scaleBy computes (v - zero) * scale + add for each value; NaN results get the bits of one NaN.
func scaleBy(p *piece, dst, src []float32, lined bool) {
	changeBy(p, dst, src, lined, kernels.ScaleFloat, kernels.ScaleFloats, func(dst, src []float32, from int, t *simd.Terms, shift uint) {
		if shift == 0 {
			for i := from; i < len(src); i++ {
				k := i & (simd.MostTerms - 1)
				product := float32(float32(src[i]-t.Zero[k]) * t.Scale[k])
				x := product + t.Add[k]
				if dst[i] = x; x != x {
					dst[i] = math.Float32frombits(floatNaN)
				}
			}
			return
		}
		for from < len(src) {
			k := from >> shift
			line := src[from:min((k+1)<<shift, len(src))]
			zero, scale, sum, to := t.Zero[k], t.Scale[k], t.Add[k], dst[from:][:len(line)]
			if math.Float32bits(zero) == 0 && math.Float32bits(sum) == floatSign { // neither
				for i, v := range line {
					x := v * scale
					if x != x {
						x = math.Float32frombits(floatNaN)
					}
					to[i] = x
				}
			} else {
				for i, v := range line {
					product := float32(float32(v-zero) * scale)
					x := product + sum
					if x != x {
						x = math.Float32frombits(floatNaN)
					}
					to[i] = x
				}
			}
			from += len(line)
		}
	})
}

// divideBy computes v / scale for each value.
func divideBy(p *piece, dst, src []float32, lined bool) {
	changeBy(p, dst, src, lined, kernels.DivideFloat, kernels.DivideFloats, func(dst, src []float32, from int, t *simd.Terms, shift uint) {
		for i := from; i < len(src); i++ {
			dst[i] = src[i] / t.Scale[i>>(shift&31)&(simd.MostTerms-1)]
		}
	})
}

// quantizeBy rounds v / scale to an integer, adds the zero point, and bounds the sum.
func quantizeBy(p *piece, dst, src []float32, lined bool) {
	changeBy(p, dst, src, lined, kernels.QuantizeFloat, kernels.QuantizeFloats, func(dst, src []float32, from int, t *simd.Terms, shift uint) {
		// A sum with whole has no fraction. A value that is out of bounds with any 16-bit
		// zero point may lose its magnitude first. Integers are compared without branches.
		const whole, far = 3 << 22, (127 + 20) << 23
		least, most := int32(t.Least), int32(t.Most)
		for i := from; i < len(src); i++ {
			k := i >> (shift & 31) & (simd.MostTerms - 1)
			b := math.Float32bits(src[i] / t.Scale[k])
			sign := b & floatSign
			if b ^= sign; b > floatInf {
				b = 0
			}
			if b > far {
				b = far
			}
			x := float32(math.Float32frombits(b|sign)+whole) - whole
			dst[i] = float32(min(max(int32(x+t.Zero[k]), least), most))
		}
	})
}

// shift subtracts a 32-bit integer zero point exactly; floats suffice for shorter ones.
func (c *scaling) shift(p *piece, values []float32) {
	src, zero, in := &c.operands[sideSrc], &c.operands[sideZero], &c.axes[c.rank-1].by
	for i := range values {
		values[i] = float32(src.whole(p.at[sideSrc]+int64(i)*in[sideSrc]) - zero.whole(p.at[sideZero]+int64(i)*in[sideZero]))
	}
}

// quantize computes round(v / scale) + zero for each value, with so many terms.
func (c *scaling) quantize(p *piece, dst, src []float32, terms int64) {
	scale := p.sc.terms.Scale[:terms]
	integers := c.operands[sideDst].isInteger()
	if c.rounds() || c.whole || !integers {
		c.round(src, p.sc)
		c.round(scale, p.sc)
		divideBy(p, dst, src, c.uniform)
		c.round(dst, p.sc)
		fill(scale, 1)
		src = dst
	}
	switch {
	case c.whole:
		c.toIntegers(p, dst)
	case integers:
		quantizeBy(p, dst, src, c.uniform)
	default:
		scaleBy(p, dst, src, c.uniform)
	}
}

// rounds reports whether quotients are rounded to a separate precision.
func (c *scaling) rounds() bool {
	return c.precision == layout.Float16 || c.precision == layout.BFloat16
}

// round rounds values to the precision of quotients.
func (c *scaling) round(v []float32, sc *scratch) {
	if !c.rounds() {
		return
	}
	half, at := room(&sc.floats, 2*castPiece), pointerTo(v)
	casterOf(c.precision, layout.Float32, plain).run(half, at, int64(len(v)), false, sc)
	casterOf(layout.Float32, c.precision, plain).run(at, half, int64(len(v)), false, sc)
}

// bounds are the least and the largest number of an integer type.
func (o *scaled) bounds() (least, most float32) {
	if o.is.kind == numeric.IntKind {
		return -float32(o.is.sign), float32(o.is.sign - 1)
	}
	return 0, float32(o.is.sign<<1 - 1)
}

// toIntegers is quantizeBy for zero points that floats cannot represent.
func (c *scaling) toIntegers(p *piece, values []float32) {
	zero, least, most := &c.operands[sideZero], float64(p.sc.terms.Least), float64(p.sc.terms.Most)
	step := c.axes[c.rank-1].by[sideZero]
	for i, x := range values {
		r := math.RoundToEven(float64(x))
		if x != x {
			r = 0
		}
		values[i] = float32(min(max(r+float64(zero.whole(p.at[sideZero]+int64(i)*step)), least), most))
	}
}

func fill(values []float32, v float32) {
	for i := range values {
		values[i] = v
	}
}
