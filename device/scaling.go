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
}
