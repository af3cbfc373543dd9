package simd

// Scalings are kernels that dequantize and quantize. Their tables are Terms: ScaleFloat,
// DivideFloat and QuantizeFloat use one for each line, and kernels with a plural name one for
// each float, unless stated otherwise.
type Scalings struct {
	// ScaleFloat computes (x - Zero) * Scale + Add on floats, each step rounded; NaN becomes
	// the quiet NaN without a sign.
	ScaleFloat, ScaleFloats Cast
	// DivideFloat computes x / Scale.
	DivideFloat, DivideFloats Cast
	// QuantizeFloat rounds x / Scale to the nearest integer, ties to even, and NaN to 0, adds
	// Zero, and bounds the sum by Least and Most.
	QuantizeFloat, QuantizeFloats Cast
	// QuantizeBytes is QuantizeFloat to bytes; a line has four terms.
	QuantizeBytes Cast
	// BoundFloat replaces NaN by 0, and infinities by the largest numbers. Its table receives
	// the largest and the least number of each line.
	BoundFloat Cast
	// CodeFloat makes x * Scale + Bias, None of what is no number, bounds it by Least and
	// Most, moves it by Half away from zero, and
	// truncates it. Scales are by lines, as StepFloat's are.
	CodeFloat Cast
	// StepFloat computes the code of the float4e2m1 nearest to x * Scale, ties to the smaller
	// one, as a float. Zero has no sign.
	StepFloat Cast
	// LookUpEach16 and LookUpEach32 replace bytes below 16 by entries of a table. Their tables
	// are Choices. LookUpPacked16 reads two codes from each byte.
	LookUpEach16, LookUpEach32, LookUpPacked16 Cast
	// MapBytes replaces bytes by entries of a table of 256.
	MapBytes Cast
}

// MostTerms is the number of each kind of term in Terms.
const MostTerms = 1024

// Terms are the terms of scaling. Without a sum, Add is -0.
type Terms struct {
	Zero, Scale, Add [MostTerms]float32
	Limits
}

// Limits are the terms that all lines have in common.
type Limits struct {
	Least, Most      float32
	Bias, None, Half float32
}

// Choices are tables of 16 elements, one after the other, and for each line the byte offset of
// its own.
type Choices struct {
	At     [256]uint32
	Tables [128][64]byte
}
