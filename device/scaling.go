package device

import "github.com/restride/restride/layout"

// Scaling has the terms of [Queue.Dequantize]: operands of dst's shape, whose layouts may repeat
// elements, so that a block of elements shares a scale (stride 0 along the block).
//
// Arithmetic is in 32-bit floats, one step after the other: (src - zero), times Scale, plus Add.
// Each step is rounded to the nearest float, ties to even; steps are not fused, and subnormal
// numbers are kept. If both sides of a difference are integers, it is exact before it is rounded.
// A NaN result is the quiet NaN without a sign. The bits are the same on every device.
type Scaling struct {
	Scale Operand // any float of up to 32 bits
	Zero  Operand // any number of up to 32 bits; optional: may have no buffer
	Add   Operand // any float of up to 32 bits; optional: may have no buffer
	// Subtract: Add is subtracted.
	Subtract bool
}

// Quantization has the terms of [Queue.Quantize], as in ONNX's QuantizeLinear-25. Operands have
// dst's shape, and layouts that may repeat elements.
type Quantization struct {
	Scale Operand // any float of up to 32 bits
	Zero  Operand // an integer, or for a float dst a float, of up to 32 bits; may have no buffer
	// Precision is the type to which both sides of the quotient, and the quotient, are rounded:
	// Float16 or BFloat16. Any other value means Float32.
	Precision layout.DType
	// Unsaturated means the same as in Rounding, for floats of 8 bits.
	Unsaturated bool
	// FindScale: the scales are computed and written to Scale. Its layout has stride 0 along the
	// last axis, a block, and repeats no element along the others. There is no Zero and no
	// Precision. dst's type selects the format, with x the block's number of the largest
	// magnitude (the first of several); as in ggml, arithmetic is in floats of 32 bits, each step
	// rounded:
	//
	//	Uint4       ggml's Q4_0: the scale is x / -8, codes are src * (1 / scale) + 8.5 without
	//	            its fraction, from 0 to 15
	//	Int8        ggml's Q8_0: the scale is |x| / 127, codes are src * (1 / scale), rounded to
	//	            the nearest integer, ties away from zero, from -127 to 127
	//	Float4E2M1  MXFP4: the scale is 2^(floor(log2 |x|) - 2), but 2^-127 at least, codes are
	//	            the nearest to src / scale, ties towards zero; 0 has no sign
	//
	// The reciprocal of 0 is 0. The scale has the type Float16, BFloat16 or Float32, and is
	// rounded to it after the codes are computed; for Float4E2M1 it is a Float8E8M0. The
	// logarithm is rounded to the nearest float of 32 bits, so for some numbers just below a
	// power of two it is that power's. src is a float of up to 32 bits; NaN counts as 0, an
	// infinity as the largest finite float.
	FindScale bool
}
