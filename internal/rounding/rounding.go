// Package rounding derives, from a device.Rounding and a type, what conversions to the type
// do with values that it does not have.
package rounding

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// For returns what of a rounding makes a difference to values of a type.
func For(r device.Rounding, t layout.DType) device.Rounding {
	if f, _ := numeric.FloatFormatOf(t); !f.Unsigned {
		r.Scale = 0
	}
	if t.Bits() >= 8 && t != layout.BFloat16 {
		r.Legacy = false
	}
	if OverflowOf(device.Rounding{Unsaturated: true}, t) == OverflowOf(device.Rounding{}, t) {
		r.Unsaturated = false
	}
	return r
}

// Overflow is what becomes of a value too large for a float type.
type Overflow uint8

// The kinds of overflow.
const (
	ToInfinity Overflow = iota
	ToLargest
	ToNaN
)

// OverflowOf returns what becomes of values too large for a float type, and of infinities.
func OverflowOf(r device.Rounding, t layout.DType) Overflow {
	f, isFloat := numeric.FloatFormatOf(t)
	switch {
	case !isFloat || t.Bits() > 8:
		return ToInfinity
	case f.Special == numeric.Finite || !r.Unsaturated:
		return ToLargest
	case f.Special == numeric.IEEE:
		return ToInfinity
	}
	return ToNaN
}

// Wraps reports whether floats out of range of an integer type keep their low bits, instead
// of becoming the nearest integer.
func Wraps(r device.Rounding, t layout.DType) bool { return t.Bits() < 8 && !r.Legacy }

// Truncates reports whether a float type is rounded towards zero.
func Truncates(r device.Rounding, t layout.DType) bool { return t == layout.BFloat16 && r.Legacy }
