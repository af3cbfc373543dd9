package simd

// Cast converts elements to lines of 64 bytes; with past set past the caches, as kernels
// of Bits do. LookUp16 and LookUp32 use tables.
type Cast func(dst, src *byte, lines int64, tables *byte, past bool)

// Casts are kernels that convert elements by value: to the nearest; from floats to
// integers towards zero and within the type's limits, with zero for a NaN. A NaN that
// remains one keeps its sign, and of the other bits only the highest is set.
type Casts struct {
	HalfToFloat, BfloatToFloat                            Cast
	BoolToFloat                                           Cast
	Int8ToFloat, Int16ToFloat, Int32ToFloat, Int64ToFloat Cast
	Uint8ToFloat, Uint16ToFloat                           Cast
	FloatToHalf, FloatToBfloat                            Cast
	FloatToBool, FloatToInt8, FloatToUint8, FloatToInt32  Cast
	// FloatToLow gives a byte whose low bits, up to all, are those of the integer.
	FloatToLow Cast
	// LookUp16 and LookUp32 replace bytes below 16 by entries of a table: 16 low bytes
	// and 16 high ones, or 16 words.
	LookUp16, LookUp32 Cast
	// ByteToWord is a rule for bytes of a sign and a magnitude, ByteWords; WordToStep one
	// for words, Steps. Those are their tables. WordToNibble packs two steps to a byte.
	ByteToWord, WordToStep, WordToNibble Cast
	// These make floats of at most 8 bits, by the rule Narrow: their table.
	FloatToNarrow, HalfToNarrow, BfloatToNarrow Cast
}

// ByteWords makes words of bytes, as float16 of float8. Magnitudes below 16 have a table,
// of the low bytes and of the high ones; those above are shifted right by Shift, of which
// Mask leaves the high byte, to which Bias is added, and the lowest bit becomes the word's
// bit 7, if Odd has it. The sign is the byte's. Bytes that, with Flip turned and of what
// Tested leaves, are above At as signed numbers are Special, with the sign if Sign has it.
type ByteWords struct {
	High, Low        [16]byte
	Shift            int64
	Mask, Bias, Odd  byte
	Flip, Tested, At byte
	Sign, Special    byte
	_                [16]byte
}

// Steps makes bytes of words of a sign and a magnitude, as float4 of float16: the magnitude
// less Base, or 0, is divided by 1 << Shift, and the quotients, rounded down and, with Round
// added before, up, are added. The sum, or the last place if it is beyond, has one of Codes,
// to which Sign is added for negative ones. Magnitudes above Most are Special.
type Steps struct {
	Codes             [StepPlaces]byte
	_                 [64 - StepPlaces]byte
	Shift             int64
	Base, Round, Most int16
	Sign, Special     byte
}

// StepPlaces is how many codes Steps has.
const StepPlaces = 48

// Narrow is how float32 becomes a float of at most 8 bits, whose mantissa has Shift bits fewer.
// A magnitude, bounded by Most, is rounded by adding a power of two whose last bit is worth as much
// as the result's. Step, which is Shift as a float's exponent, makes it of the magnitude's exponent;
// One, whose last bit is worth the narrow type's least number, is the least there is: that of
// subnormal results. What is left of the sum is too large by First, which is One >> Shift; None is
// the code of NaN plus First. Sign is the bit that negative results have which are not below Least.
type Narrow struct {
	Shift                 int64
	Most, Step, One, None uint32
	First                 uint16
	Sign, Least           byte
	_                     [4]byte
}
