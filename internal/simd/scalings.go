package simd

// Scalings are kernels that dequantize and quantize. Their tables are Terms, of which
// ScaleFloat, DivideFloat and QuantizeFloat take one for each line, and those with a plural
// one for each float, unless said otherwise.
type Scalings struct {
	// ScaleFloat makes (x - Zero) * Scale + Add of floats, each step rounded, and of what
	// is not a number the quiet NaN without a sign.
	ScaleFloat, ScaleFloats Cast
	// DivideFloat makes x / Scale.
	DivideFloat, DivideFloats Cast
	// QuantizeFloat rounds x / Scale to the nearest integer, an even one if two are as
	// near, what is not a number to 0, adds Zero, and bounds the sum by Least and Most.
	QuantizeFloat, QuantizeFloats Cast
	// LookUpEach16 and LookUpEach32 replace bytes below 16 by entries of a table. Their
	// tables are Choices.
	LookUpEach16, LookUpEach32 Cast
	// MapBytes replaces bytes by entries of a table of 256.
	MapBytes Cast
}

// MostTerms is how many Terms has of each.
const MostTerms = 1024

// Terms are what floats are scaled by. Without a sum, Add is -0.
type Terms struct {
	Zero, Scale, Add [MostTerms]float32
	Least, Most      float32
}

// Choices are tables of 16 elements, each after the other, and for each line how many
// bytes of them are before its own.
type Choices struct {
	At     [256]uint32
	Tables [128][64]byte
}
