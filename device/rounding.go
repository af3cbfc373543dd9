package device

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
//     Values that, so rounded, are too large, and infinities, become an infinity;
//     in floats of up to 8 bits their largest number, or what Unsaturated says.
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
	Scale RoundDirection
	// Legacy has what ONNX's text leaves open as its test cases had it up to opset
	// 23: floats out of range of an integer below a byte give the nearest one, NaN
	// gives the largest Float4E2M1, and BFloat16 is rounded towards zero, so that
	// only infinities are infinite.
	Legacy bool
}

// RoundDirection is how values between two powers of two are rounded.
type RoundDirection uint8

// The directions.
const (
	RoundUp      RoundDirection = iota // to the larger one
	RoundDown                          // to the smaller one
	RoundNearest                       // to the nearer one, halfway up
)
