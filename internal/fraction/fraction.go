// Package fraction is an oracle of casts: every value is an exact fraction, and is rounded by
// comparing it with its two neighbours. It shares no method with the devices, nor with
// internal/oracle.
package fraction

import (
	"math"
	"math/big"
	"sort"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/layout"
)

// A Value is the value of an element of a number type: an exact fraction, or without one a NaN
// or an infinity.
type Value struct {
	Exact         *big.Rat
	NaN, Infinite bool
	Negative      bool // of zeros, infinities and NaNs, too
	Integer       bool // of an integer type
}

// Cast returns the bits, in another type, of a pattern of one type, by the rules of
// [device.Rounding].
func Cast(to, from layout.DType, pattern uint64, how device.Rounding) uint64 {
	if to == from {
		return pattern
	}
	return Bits(to, Of(from, pattern), how)
}

// Of returns the value of a pattern.
func Of(t layout.DType, pattern uint64) Value {
	top := pattern>>(t.Bits()-1) == 1
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		return Value{Exact: new(big.Rat).SetUint64(min(pattern, 1)), Integer: true}
	case numeric.UintKind:
		return Value{Exact: new(big.Rat).SetUint64(pattern), Integer: true}
	case numeric.IntKind:
		v := new(big.Rat).SetUint64(pattern)
		if top {
			v.Sub(v, power(t.Bits()))
		}
		return Value{Exact: v, Negative: top, Integer: true}
	}
	f, _ := numeric.FloatFormatOf(t)
	v := f.Decode(pattern)
	negative := top && !f.Unsigned
	switch {
	case math.IsNaN(v):
		return Value{NaN: true, Negative: negative && f.Special != numeric.NegativeZero}
	case math.IsInf(v, 0):
		return Value{Infinite: true, Negative: negative}
	}
	return Value{Exact: new(big.Rat).SetFloat64(v), Negative: negative}
}

// Bits returns the pattern of a value in a type.
func Bits(t layout.DType, v Value, how device.Rounding) uint64 {
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		if v.Exact != nil && v.Exact.Sign() == 0 {
			return 0
		}
		return 1
	case numeric.IntKind, numeric.UintKind:
		return integerBits(t, v, how)
	}
	if t == layout.Float8E8M0 {
		return scaleBits(v, how)
	}
	f, _ := numeric.FloatFormatOf(t)
	sign := uint64(0)
	if v.Negative {
		sign = 1 << (t.Bits() - 1)
	}
	if v.NaN {
		return nanBits(t, f, sign, how)
	}
	if v.Exact != nil {
		if p, fits := floatBits(f, new(big.Rat).Abs(v.Exact), rounding.Truncates(how, t)); fits {
			if p == 0 && f.Special == numeric.NegativeZero {
				return 0
			}
			return p | sign
		}
	}
	switch rounding.OverflowOf(how, t) {
	case rounding.ToLargest:
		return largest(f) | sign
	case rounding.ToInfinity:
		return (1<<f.Exponent-1)<<f.Mantissa | sign
	}
	return nanBits(t, f, sign, how)
}

// nanBits returns the NaN of a float type, with a sign if it has signed NaNs.
func nanBits(t layout.DType, f numeric.FloatFormat, sign uint64, how device.Rounding) uint64 {
	switch f.Special {
	case numeric.IEEE:
		return (1<<(f.Exponent+1)-1)<<(f.Mantissa-1) | sign
	case numeric.AllOnes:
		return 1<<(f.Exponent+f.Mantissa) - 1 | sign
	case numeric.NegativeZero:
		return 1 << (t.Bits() - 1)
	}
	if how.Legacy {
		return largest(f)
	}
	return 1 << (t.Bits() - 1)
}

// floatBits returns the pattern of the nearest value of a float type to a magnitude, or
// of the last one that is not above it; false if that is beyond the largest.
func floatBits(f numeric.FloatFormat, x *big.Rat, truncated bool) (uint64, bool) {
	last := largest(f)
	p := uint64(sort.Search(int(last)+1, func(p int) bool {
		return new(big.Rat).SetFloat64(f.Decode(uint64(p))).Cmp(x) > 0
	}) - 1)
	low := new(big.Rat).SetFloat64(f.Decode(p))
	if truncated {
		return p, true
	}
	switch x.Cmp(Half(low, Above(f, low))) {
	case 0:
		p += p & 1
	case 1:
		p++
	}
	return p, p <= last
}

// largest returns the pattern of the largest number of a float type with a sign.
func largest(f numeric.FloatFormat) uint64 {
	end := uint64(1) << (f.Exponent + f.Mantissa) // of the patterns that are not negative
	switch f.Special {
	case numeric.IEEE:
		return end - 1<<f.Mantissa - 1
	case numeric.AllOnes:
		return end - 2
	}
	return end - 1
}

// Above returns the next number of a float type after its number x, in magnitude: for the
// largest, the one that a longer exponent would give.
func Above(f numeric.FloatFormat, x *big.Rat) *big.Rat {
	least := 1 - f.Bias // the exponent of the least numbers
	size := new(big.Rat).Abs(x)
	e := least
	if x.Sign() != 0 {
		e = max(e, exponent(size))
	}
	ulp := power(e - f.Mantissa)
	if x.Sign() < 0 {
		ulp.Neg(ulp)
	}
	return ulp.Add(ulp, x)
}

// Half returns the middle of two numbers.
func Half(a, b *big.Rat) *big.Rat {
	sum := new(big.Rat).Add(a, b)
	return sum.Mul(sum, big.NewRat(1, 2))
}

// exponent returns the exponent of the largest power of two not above a number.
func exponent(size *big.Rat) int {
	e := size.Num().BitLen() - size.Denom().BitLen()
	if size.Cmp(power(e)) < 0 {
		e--
	}
	return e
}

// power returns two to the power of e.
func power(e int) *big.Rat {
	n := new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e)))
	if e < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), n)
	}
	return new(big.Rat).SetInt(n)
}

// integerBits is Bits for an integer type.
func integerBits(t layout.DType, v Value, how device.Rounding) uint64 {
	low, high := new(big.Int), new(big.Int)
	count := new(big.Int).Lsh(big.NewInt(1), uint(t.Bits()))
	if numeric.KindOf(t) == numeric.IntKind {
		low.Neg(new(big.Int).Rsh(count, 1))
	}
	high.Add(low, count)
	high.Sub(high, big.NewInt(1))
	whole := new(big.Int)
	switch {
	case v.NaN, v.Infinite && rounding.Wraps(how, t):
		return 0
	case v.Infinite && v.Negative:
		whole = low
	case v.Infinite:
		whole = high
	default:
		whole.Quo(v.Exact.Num(), v.Exact.Denom()) // truncated
		if t.Bits() < 8 {
			whole = nearest(v.Exact)
		}
		if v.Integer || rounding.Wraps(how, t) {
			break
		}
		if whole.Cmp(low) < 0 {
			whole = low
		}
		if whole.Cmp(high) > 0 {
			whole = high
		}
	}
	return new(big.Int).Mod(whole, count).Uint64()
}

// nearest is the nearest integer, an even one if two are as near.
func nearest(x *big.Rat) *big.Int {
	below := new(big.Int).Div(x.Num(), x.Denom()) // the denominator is positive: rounded down
	apart := new(big.Rat).Sub(x, new(big.Rat).SetInt(below)).Cmp(big.NewRat(1, 2))
	if apart > 0 || apart == 0 && below.Bit(0) == 1 {
		below.Add(below, big.NewInt(1))
	}
	return below
}

// scaleBits is Bits for Float8E8M0, whose pattern p is two to the power of p-127: the
// range is that of the rounded number.
func scaleBits(v Value, how device.Rounding) uint64 {
	const nan = 255
	low, high := uint64(0), uint64(254) // the results for numbers out of range
	if how.Unsaturated {
		low, high = nan, nan
	}
	switch {
	case v.NaN:
		return nan
	case v.Infinite:
		return high
	case v.Exact.Sign() == 0:
		return low
	}
	size := new(big.Rat).Abs(v.Exact)
	e := exponent(size)
	below := power(e)
	switch beyond := size.Cmp(below) > 0; {
	case how.Scale == device.RoundUp && beyond, how.Scale == device.RoundNearest && size.Cmp(Half(below, power(e+1))) >= 0:
		e++
	}
	switch {
	case e < -127:
		return low
	case e > 127:
		return high
	}
	return uint64(e + 127)
}
