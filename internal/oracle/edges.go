package oracle

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// season overwrites most elements of a source of conversions with ones that are hard to
// convert: random bits of a wide type are hardly ever near a value of a narrow one.
func (c Case) season(rng *rand.Rand, src []byte) {
	value := func() uint64 { return Edge(rng, c.DstType, c.SrcType) }
	if format, isFloat := numeric.FloatFormatOf(c.SrcType); isFloat && c.Reduction != device.ReduceSet {
		exponent := []int{format.Bias, format.Bias / 2, 1}[rng.IntN(3)]
		value = func() uint64 { return term(rng, format, exponent) }
	} else if c.Op != OpConvert && !c.scales() {
		return
	}
	width := c.SrcType.Bits()
	if width < 16 {
		return // there are few values: random ones suffice
	}
	var b [8]byte
	near := rng.IntN(24) - 12
	for at := 0; at+width/8 <= len(src); at += width / 8 {
		if c.Terms.FindScale && rng.IntN(16) > 0 {
			binary.LittleEndian.PutUint64(b[:], amongOthers(rng, near, c.SrcType))
			copy(src[at:], b[:width/8])
			continue
		}
		if rng.IntN(4) > 0 {
			binary.LittleEndian.PutUint64(b[:], value())
			copy(src[at:], b[:width/8])
		}
	}
}

// term returns the bits of a float whose sums and products with others of about the same
// exponent are rounded, cancel each other or are subnormal.
func term(rng *rand.Rand, f numeric.FloatFormat, exponent int) uint64 {
	low := uint64(1) << f.Mantissa
	fraction := rng.Uint64() & (low - 1) >> rng.IntN(f.Mantissa) << rng.IntN(f.Mantissa) & (low - 1)
	switch rng.IntN(50) {
	case 0:
		exponent = 1<<f.Exponent - 1 // an infinity, or NaN
		fraction &= -(rng.Uint64() & 1)
	case 1:
		exponent = 0
	default:
		exponent = max(exponent-rng.IntN(f.Mantissa+3), 0)
	}
	return rng.Uint64()&1<<(f.Mantissa+f.Exponent) | uint64(exponent)<<f.Mantissa | fraction
}

// amongOthers returns the bits of a number of a block with others of about its size, 2^near:
// often an integer multiple of a fraction of that.
func amongOthers(rng *rand.Rand, near int, t layout.DType) uint64 {
	n := number{negative: rng.IntN(2) == 0, real: rng.Float64()}
	if rng.IntN(2) == 0 {
		n.real = float64(rng.IntN(129)) / 128
	}
	n.real = math.Ldexp(n.real, near)
	return encode(t, n, device.Rounding{})
}

// Edge returns the bits of a value of type src that tells right conversions to
// dst from wrong ones: values halfway between two of dst's or at the ends of its range, and
// next to these; infinities, NaNs, zeros and the like.
func Edge(rng *rand.Rand, dst, src layout.DType) uint64 {
	width := src.Bits()
	mask := uint64(1)<<(width-1)<<1 - 1
	beside := uint64(rng.IntN(3) - 1)
	var bits uint64
	switch format, isFloat := numeric.FloatFormatOf(dst); {
	case rng.IntN(4) == 0: // a single bit, or the bits below or above it
		bits = 1 << rng.IntN(width)
		if rng.IntN(2) == 0 {
			bits = -bits
		}
	case isFloat && format.Unsigned: // around powers of two, some of which have no pattern
		v := math.Ldexp([]float64{1, 1.25, 1.5, 1.75}[rng.IntN(4)], rng.IntN(262)-131)
		bits = encode(src, number{real: v}, device.Rounding{})
	case isFloat:
		p := rng.Uint64() >> rng.IntN(64) & (1<<(dst.Bits()-1) - 1)
		if rng.IntN(4) == 0 {
			p = (1<<(dst.Bits()-1) - 1) - p&3 // the largest ones
		}
		v := format.Decode(p)
		if next := format.Decode(p + 1); rng.IntN(2) == 0 && !math.IsNaN(next) && !math.IsInf(next, 0) {
			v += (next - v) / 2
		}
		bits = encode(src, number{real: math.Abs(v), nan: math.IsNaN(v)}, device.Rounding{})
	default:
		v := math.Ldexp(1, rng.IntN(dst.Bits()+1)) + float64(rng.IntN(7)-3)/2
		if rng.IntN(2) == 0 {
			v = float64(rng.IntN(15)) / 4
		}
		bits = encode(src, number{negative: v < 0, real: math.Abs(v)}, device.Rounding{})
	}
	if rng.IntN(3) == 0 {
		bits ^= 1 << (width - 1) // the sign
	}
	return (bits + beside) & mask
}
