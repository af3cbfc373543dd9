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
	// QuantizeBytes is QuantizeFloat to bytes, of which a line has four terms.
	QuantizeBytes Cast
	// BoundFloat replaces what is no number by 0, and infinities by the largest numbers.
	// Its table is of what it finds, the largest and the least number of each line.
	BoundFloat Cast
	// CodeFloat makes x * Scale + Bias, None of what is no number, bounds it by Least and
	// Most, moves it by Half away from zero, and
	// truncates it. Scales are by lines, as StepFloat's are.
	CodeFloat Cast
	// StepFloat makes the code of the number of float4e2m1 that is nearest to x * Scale,
	// the smaller one of two, as a float. Zero has no sign.
	StepFloat Cast
	// LookUpEach16 and LookUpEach32 replace bytes below 16 by entries of a table. Their
	// tables are Choices. LookUpPacked16 has two codes in each byte.
	LookUpEach16, LookUpEach32, LookUpPacked16 Cast
	// MapBytes replaces bytes by entries of a table of 256.
	MapBytes Cast
}

// MostTerms is how many Terms has of each.
const MostTerms = 1024

// Terms are what floats are scaled by. Without a sum, Add is -0.
type Terms struct {
	Zero, Scale, Add [MostTerms]float32
	Limits
}

// Limits are the terms that all lines have in common.
type Limits struct {
	Least, Most      float32
	Bias, None, Half float32
}

// Choices are tables of 16 elements, each after the other, and for each line how many
// bytes of them are before its own.
type Choices struct {
	At     [256]uint32
	Tables [128][64]byte
}
