package device

import "github.com/restride/restride/layout"

// Scaling is what [Queue.Dequantize] scales by: operands of dst's shape, whose layouts
// may repeat elements, so that a block of elements has a scale in common (stride 0 along
// the block).
//
// Arithmetic is that of 32-bit floats, one step after the other: (src - zero), times
// Scale, plus Add. Each step is rounded to the nearest float, to an even one if two are as
// near; there is no fused step, and subnormal numbers are kept. If both sides of a
// difference are integers, it is exact before it is rounded. A result that is not a number
// is the quiet NaN without a sign. On every device, the bits are the same.
type Scaling struct {
	Scale Operand // any float of up to 32 bits
	Zero  Operand // any number of up to 32 bits; without a buffer: there is none
	Add   Operand // any float of up to 32 bits; without a buffer: there is none
	// Subtract: Add is subtracted.
	Subtract bool
}

// Quantization is what [Queue.Quantize] divides by, and how: as ONNX's QuantizeLinear-25
// has it. Operands have dst's shape, and layouts that may repeat elements.
type Quantization struct {
	Scale Operand // any float of up to 32 bits
	Zero  Operand // for integers any integer, for floats any float, of up to 32 bits; without a buffer: there is none
	// Precision is the type that the sides of the quotient, and the quotient, are rounded
	// to: Float16 or BFloat16. Any other stands for Float32.
	Precision layout.DType
	// Unsaturated is that of Rounding, for floats of 8 bits.
	Unsaturated bool
	// FindScale: the scales are found, and written to Scale. Its layout has stride 0 along
	// the last axis, a block, and no element twice along the others. There is no Zero, no
	// Precision, and dst's type says what becomes of a block whose number of the largest
	// magnitude, the first of several, is x; as in ggml, by floats of 32 bits, each step
	// rounded:
	//
	//	Uint4       ggml's Q4_0: the scale is x / -8, codes are src * (1 / scale) + 8.5 without
	//	            its fraction, from 0 to 15
	//	Int8        ggml's Q8_0: the scale is |x| / 127, codes are src * (1 / scale), rounded to
	//	            the nearest integer, away from zero if two are as near, from -127 to 127
	//	Float4E2M1  MXFP4: the scale is 2^(floor(log2 |x|) - 2), but 2^-127 at least, codes are
	//	            the nearest to src / scale, towards zero if two are as near; 0 has no sign
	//
	// The reciprocal of 0 is 0. The scale has the type Float16, BFloat16 or Float32, to
	// which it is rounded after the codes were computed; of Float4E2M1 it is a Float8E8M0.
	// The logarithm is the float of 32 bits nearest to it: of some numbers just below a
	// power of two, that power's. src is a float of up to 32 bits; what is not a number
	// counts as 0, an infinity as the largest finite float.
	FindScale bool
}
