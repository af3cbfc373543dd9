package adversary

import (
	"math"
	"math/big"
	"sort"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// A value is what an element of a number type means: an exact fraction, or without one
// a NaN or an infinity.
type value struct {
	exact         *big.Rat
	nan, infinite bool
	negative      bool // of zeros, infinities and NaNs, too
	integer       bool // of an integer type
}

// castPattern returns the bits of what a pattern of one type is in another, by the
// rules of [device.Rounding].
func castPattern(to, from layout.DType, pattern uint64, how device.Rounding) uint64 {
	if to == from {
		return pattern
	}
	return bitsOf(to, valueOf(from, pattern), how)
}

// valueOf reads a pattern.
func valueOf(t layout.DType, pattern uint64) value {
	top := pattern>>(t.Bits()-1) == 1
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		return value{exact: new(big.Rat).SetUint64(min(pattern, 1)), integer: true}
	case numeric.UintKind:
		return value{exact: new(big.Rat).SetUint64(pattern), integer: true}
	case numeric.IntKind:
		v := new(big.Rat).SetUint64(pattern)
		if top {
			v.Sub(v, power(t.Bits()))
		}
		return value{exact: v, negative: top, integer: true}
	}
	f, _ := numeric.FloatFormatOf(t)
	v := f.Decode(pattern)
	negative := top && !f.Unsigned
	switch {
	case math.IsNaN(v):
		return value{nan: true, negative: negative && f.Special != numeric.NegativeZero}
	case math.IsInf(v, 0):
		return value{infinite: true, negative: negative}
	}
	return value{exact: new(big.Rat).SetFloat64(v), negative: negative}
}

// bitsOf returns the pattern of a value in a type.
func bitsOf(t layout.DType, v value, how device.Rounding) uint64 {
	switch numeric.KindOf(t) {
	case numeric.BoolKind:
		if v.exact != nil && v.exact.Sign() == 0 {
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
	if v.negative {
		sign = 1 << (t.Bits() - 1)
	}
	if v.nan {
		return nanBits(t, f, sign, how)
	}
	if v.exact != nil {
		if p, fits := floatBits(f, t, new(big.Rat).Abs(v.exact), how.Truncates(t)); fits {
			if p == 0 && f.Special == numeric.NegativeZero {
				return 0
			}
			return p | sign
		}
	}
	switch how.Excess(t) {
	case device.ToLargest:
		return largest(f, t) | sign
	case device.ToInfinity:
		return (1<<f.Exponent-1)<<f.Mantissa | sign
	}
	return nanBits(t, f, sign, how)
}

// nanBits returns the NaN of a float type, with a sign where there are two.
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
		return largest(f, t)
	}
	return 1 << (t.Bits() - 1)
}

// floatBits returns the pattern of the nearest value of a float type to a magnitude, or
// of the last one that is not above it; false if that is beyond the largest.
func floatBits(f numeric.FloatFormat, t layout.DType, x *big.Rat, truncated bool) (uint64, bool) {
	last := largest(f, t)
	p := uint64(sort.Search(int(min(last, math.MaxInt64-1))+1, func(p int) bool {
		return new(big.Rat).SetFloat64(f.Decode(uint64(p))).Cmp(x) > 0
	}) - 1)
	low := new(big.Rat).SetFloat64(f.Decode(p))
	if truncated {
		return p, true
	}
	switch x.Cmp(half(low, above(f, low))) {
	case 0:
		p += p & 1
	case 1:
		p++
	}
	return p, p <= last
}

// largest returns the pattern of the largest number of a float type.
func largest(f numeric.FloatFormat, t layout.DType) uint64 {
	p := uint64(1)<<(f.Exponent+f.Mantissa) - 1
	for math.IsNaN(f.Decode(p)) || math.IsInf(f.Decode(p), 0) {
		if f.Mantissa > 10 { // of all these patterns, the first is the infinity
			return 1<<(f.Exponent+f.Mantissa) - 1<<f.Mantissa - 1
		}
		p--
	}
	return p
}

// above returns the next number of a float type after one of its own, x, in magnitude:
// of the largest, the one that more exponents would give.
func above(f numeric.FloatFormat, x *big.Rat) *big.Rat {
	least := 1 - f.Bias // the exponent of the least numbers
	size := new(big.Rat).Abs(x)
	e := size.Num().BitLen() - size.Denom().BitLen()
	if size.Cmp(power(e)) < 0 {
		e--
	}
	if x.Sign() == 0 || e < least {
		e = least
	}
	ulp := power(e - f.Mantissa)
	if x.Sign() < 0 {
		ulp.Neg(ulp)
	}
	return ulp.Add(ulp, x)
}

// half returns the middle of two numbers.
func half(a, b *big.Rat) *big.Rat {
	sum := new(big.Rat).Add(a, b)
	return sum.Mul(sum, big.NewRat(1, 2))
}

// power returns two to the power of e.
func power(e int) *big.Rat {
	n := new(big.Int).Lsh(big.NewInt(1), uint(max(e, -e)))
	if e < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), n)
	}
	return new(big.Rat).SetInt(n)
}

// integerBits is bitsOf for an integer type.
func integerBits(t layout.DType, v value, how device.Rounding) uint64 {
	low, high := new(big.Int), new(big.Int)
	count := new(big.Int).Lsh(big.NewInt(1), uint(t.Bits()))
	if numeric.KindOf(t) == numeric.IntKind {
		low.Neg(new(big.Int).Rsh(count, 1))
	}
	high.Add(low, count)
	high.Sub(high, big.NewInt(1))
	whole := new(big.Int)
	switch {
	case v.nan, v.infinite && how.Wraps(t):
		return 0
	case v.infinite && v.negative:
		whole = low
	case v.infinite:
		whole = high
	default:
		whole.Quo(v.exact.Num(), v.exact.Denom()) // truncated
		if v.integer || how.Wraps(t) {
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

// scaleBits is bitsOf for Float8E8M0, whose pattern p is two to the power of p-127.
func scaleBits(v value, how device.Rounding) uint64 {
	const nan, most = 255, 254
	switch {
	case v.nan, v.infinite && how.Unsaturated:
		return nan
	case v.infinite:
		return most
	}
	size := new(big.Rat).Abs(v.exact)
	if size.Cmp(power(-127)) < 0 {
		if how.Unsaturated {
			return nan
		}
		return 0
	}
	if size.Cmp(power(127)) > 0 {
		if how.Unsaturated {
			return nan
		}
		return most
	}
	p := sort.Search(most+1, func(p int) bool { return power(p-127).Cmp(size) > 0 }) - 1
	low := power(p - 127)
	switch above := size.Cmp(low) > 0; how.Scale {
	case device.Up:
		if above {
			p++
		}
	case device.Nearest:
		if above && size.Cmp(half(low, power(p-126))) >= 0 {
			p++
		}
	}
	return uint64(p)
}
