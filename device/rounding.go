package device

import (
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
)

// Rounding says how [Queue.Convert] fits a value into a type that does not have
// it, where ONNX lets a model choose. The zero value is the default of ONNX's
// Cast in its newest version.
//
// The rules of Convert, for all types but String and the complex ones:
//
//   - A type to itself, and integers to integers of the same width: the bits stay
//     as they are.
//   - To Bool: 1 if the value is not zero; NaN is not. From Bool: 1 if any bit is
//     set, else 0.
//   - Integer to integer: the low bits are kept, so that values out of range wrap.
//   - Float to integer of 8 bits and more: truncated towards zero. NaN gives 0. Values out
//     of range, which ONNX leaves open, give the nearest integer of the type.
//   - Float to integer below 8 bits: rounded to the nearest integer, to an even one where
//     two are as near (ONNX, technical/int4 and int2). NaN gives 0. The low bits are kept
//     of values out of range, 0 of an infinity, unless Legacy is set.
//   - To a float type: rounded to the nearest value, to an even mantissa where two
//     are as near, and once, whatever the source is; Legacy makes an exception.
//     Values that, so rounded, are too large, and infinities, become what
//     [Rounding.Excess] says.
//   - To Float8E8M0, which has powers of two only: the sign is dropped, and the
//     value is rounded by Scale. What is outside the range then, 0 and infinities
//     among it, becomes the end of the range that is nearer, or NaN if Unsaturated.
//   - NaN keeps its sign, where the format has more than one, and is the quiet NaN
//     without any other bits: the same on every device. In Float4E2M1, which has
//     none, it is -0, or with Legacy the largest value.
type Rounding struct {
	// Unsaturated, ONNX's saturate=0: too large a value becomes an infinity in
	// Float8E5M2 and a NaN in the other floats of 8 bits, not their largest number.
	Unsaturated bool
	// Scale, ONNX's round_mode: how Float8E8M0 rounds.
	Scale Direction
	// Legacy has what ONNX's text leaves open as its test cases had it up to opset
	// 23: floats out of range of an integer below a byte give the nearest one, NaN
	// gives the largest Float4E2M1, and BFloat16 is rounded towards zero, so that
	// only infinities are infinite.
	Legacy bool
}

// Direction is how values between two powers of two are rounded.
type Direction uint8

// The directions.
const (
	Up      Direction = iota // to the larger one
	Down                     // to the smaller one
	Nearest                  // to the nearer one, halfway up
)

// For returns what of it makes a difference to values of a type.
func (r Rounding) For(t layout.DType) Rounding {
	if f, _ := numeric.FloatFormatOf(t); !f.Unsigned {
		r.Scale = 0
	}
	if t.Bits() >= 8 && t != layout.BFloat16 {
		r.Legacy = false
	}
	if loose, strict := (Rounding{Unsaturated: true}), (Rounding{}); loose.Excess(t) == strict.Excess(t) {
		r.Unsaturated = false
	}
	return r
}

// Excess is what becomes of a value too large for a float type.
type Excess uint8

// The kinds of excess.
const (
	ToInfinity Excess = iota
	ToLargest
	ToNaN
)

// Excess returns what becomes of values too large for a float type, and of
// infinities.
func (r Rounding) Excess(t layout.DType) Excess {
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

// Wraps reports whether floats out of range of an integer type keep their low
// bits, instead of becoming the nearest integer.
func (r Rounding) Wraps(t layout.DType) bool { return t.Bits() < 8 && !r.Legacy }

// Truncates reports whether a float type is rounded towards zero.
func (r Rounding) Truncates(t layout.DType) bool { return t == layout.BFloat16 && r.Legacy }
