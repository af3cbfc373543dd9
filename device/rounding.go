package device

// Rounding says how [Queue.Convert] converts values that the new type cannot represent, where
// ONNX lets a model choose. The zero value is the default of ONNX's Cast in its newest version.
//
// The rules of Convert, for all types but String and the complex ones:
//
//   - A type to itself, and integers to integers of the same width: the bits stay the same.
//   - To Bool: 1 if the value is not zero; NaN is not. From Bool: 1 if any bit is set, else 0.
//   - Integer to integer: the low bits are kept, so values out of range wrap.
//   - Float to integer of 8 bits and more: truncated towards zero. NaN gives 0. Values out of
//     range, which ONNX leaves open, give the nearest integer of the type.
//   - Float to integer below 8 bits: rounded to the nearest integer, ties to even (ONNX,
//     technical/int4 and int2). NaN gives 0. A value out of range keeps its low bits, and an
//     infinity gives 0, unless Legacy is set.
//   - To a float type: rounded once, whatever the source, to the nearest value, ties to an even
//     mantissa; Legacy makes an exception. Infinities, and values that are too large after
//     rounding, become an infinity; in floats of up to 8 bits they become the largest number, or
//     what Unsaturated says.
//   - To Float8E8M0, which has only powers of two: the sign is dropped, and the value is rounded
//     by Scale. What is then out of range, including 0 and infinities, becomes the nearer end of
//     the range, or NaN if Unsaturated.
//   - NaN becomes the quiet NaN without any other bits, the same on every device; it keeps its
//     sign if the format has more than one NaN. In Float4E2M1, which has no NaN, it is -0, or
//     with Legacy the largest value.
type Rounding struct {
	// Unsaturated, ONNX's saturate=0: too large a value becomes an infinity in Float8E5M2 and a
	// NaN in the other floats of 8 bits, not their largest number.
	Unsaturated bool
	// Scale, ONNX's round_mode: how Float8E8M0 rounds.
	Scale RoundDirection
	// Legacy resolves what ONNX's text leaves open as its test cases did up to opset 23: floats
	// out of range of an integer below a byte give the nearest one, NaN gives the largest
	// Float4E2M1, and BFloat16 is rounded towards zero, so that only infinities become infinite.
	Legacy bool
}

// RoundDirection says how values between two powers of two are rounded.
type RoundDirection uint8

// The directions.
const (
	RoundUp      RoundDirection = iota // to the larger one
	RoundDown                          // to the smaller one
	RoundNearest                       // to the nearer one, halfway up
)
