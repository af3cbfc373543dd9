package numeric

import (
	"math"

	"github.com/restride/restride/layout"
)

// A FloatFormat is a binary floating-point format: from the high bit, a sign
// (unless Unsigned), the exponent and the mantissa.
//
//	value = (-1)^sign * 1.mantissa * 2^(exponent-Bias)
//	      = (-1)^sign * 0.mantissa * 2^(1-Bias)        if the exponent bits are 0
type FloatFormat struct {
	Exponent, Mantissa int // widths in bits
	Bias               int
	Special            Special
	Unsigned           bool // no sign, and exponent bits 0 are not special: there is no 0
}

// Special defines the bit patterns that are infinite or NaN.
type Special uint8

const (
	// IEEE: all exponent bits set. Mantissa 0 is an infinity, others are NaN.
	IEEE Special = iota
	// AllOnes: all exponent and mantissa bits set are NaN; no infinities.
	AllOnes
	// NegativeZero: the pattern of -0 is the only NaN; no infinities and no -0.
	NegativeZero
	// Finite: every pattern is a finite number.
	Finite
)

// floatFormats lists the formats by type. Other types have a gap, or lie beyond.
var floatFormats = [...]FloatFormat{
	layout.Float64:        {Exponent: 11, Mantissa: 52, Bias: 1023, Special: IEEE},
	layout.Float32:        {Exponent: 8, Mantissa: 23, Bias: 127, Special: IEEE},
	layout.Float16:        {Exponent: 5, Mantissa: 10, Bias: 15, Special: IEEE},
	layout.BFloat16:       {Exponent: 8, Mantissa: 7, Bias: 127, Special: IEEE},
	layout.Float8E4M3FN:   {Exponent: 4, Mantissa: 3, Bias: 7, Special: AllOnes},
	layout.Float8E4M3FNUZ: {Exponent: 4, Mantissa: 3, Bias: 8, Special: NegativeZero},
	layout.Float8E5M2:     {Exponent: 5, Mantissa: 2, Bias: 15, Special: IEEE},
	layout.Float8E5M2FNUZ: {Exponent: 5, Mantissa: 2, Bias: 16, Special: NegativeZero},
	layout.Float8E8M0:     {Exponent: 8, Mantissa: 0, Bias: 127, Special: AllOnes, Unsigned: true},
	layout.Float4E2M1:     {Exponent: 2, Mantissa: 1, Bias: 1, Special: Finite},
}

// FloatFormatOf returns the format of an element type's floats; false if it has
// none. Complex types are pairs of Float32 or Float64.
func FloatFormatOf(t layout.DType) (FloatFormat, bool) {
	if int(t) >= len(floatFormats) {
		return FloatFormat{}, false
	}
	f := floatFormats[t]
	return f, f.Exponent > 0
}

// Decode returns the value of a bit pattern, exactly; all NaNs are equal.
func (f FloatFormat) Decode(bits uint64) float64 {
	mantissa := bits & (1<<f.Mantissa - 1)
	exponent := int(bits >> f.Mantissa & (1<<f.Exponent - 1))
	negative := !f.Unsigned && bits>>(f.Mantissa+f.Exponent)&1 != 0
	top := exponent == 1<<f.Exponent-1

	var v float64
	switch {
	case f.Special == IEEE && top && mantissa == 0:
		v = math.Inf(1)
	case f.Special == IEEE && top,
		f.Special == AllOnes && top && mantissa == 1<<f.Mantissa-1,
		f.Special == NegativeZero && negative && exponent == 0 && mantissa == 0:
		return math.NaN()
	case exponent == 0 && !f.Unsigned:
		v = math.Ldexp(float64(mantissa), 1-f.Bias-f.Mantissa)
	default:
		v = math.Ldexp(float64(mantissa|1<<f.Mantissa), exponent-f.Bias-f.Mantissa)
	}
	if negative {
		return -v
	}
	return v
}
