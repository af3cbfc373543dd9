package simd

// Cast converts elements to lines of 64 bytes, with past set bypassing the caches, like kernels
// of Bits. LookUp16 and LookUp32 use tables.
type Cast func(dst, src *byte, lines int64, tables *byte, past bool)

// Casts are kernels that convert elements by value: to the nearest; from floats to
// integers towards zero and within the type's limits, with zero for a NaN. A NaN that remains
// one keeps its sign; of the other bits only the highest is set.
type Casts struct {
	HalfToFloat, BfloatToFloat                            Cast
	BoolToFloat                                           Cast
	Int8ToFloat, Int16ToFloat, Int32ToFloat, Int64ToFloat Cast
	Uint8ToFloat, Uint16ToFloat                           Cast
	FloatToHalf, FloatToBfloat                            Cast
	FloatToBool, FloatToInt8, FloatToUint8, FloatToInt32  Cast
	// FloatToLow returns a byte with low bits, up to all, of the integer.
	FloatToLow Cast
	// LookUp16 and LookUp32 replace bytes below 16 by entries of a table: 16 low bytes
	// and 16 high ones, or 16 words.
	LookUp16, LookUp32 Cast
	// ByteToWord converts bytes of a sign and a magnitude, by a table ByteWords; WordToStep
	// converts words, by a table Steps. WordToNibble packs two steps in a byte.
	ByteToWord, WordToStep, WordToNibble Cast
	// These convert to floats of at most 8 bits, by a table Narrow.
	FloatToNarrow, HalfToNarrow, BfloatToNarrow Cast
}

// ByteWords converts bytes to words, for example float8 to float16. Magnitudes below 16 have a
// table, of the low bytes and of the high ones; larger ones are shifted right by Shift. The
// high byte is masked by Mask and increased by Bias, and the lowest bit becomes the word's bit
// 7, if Odd has it. The sign is the byte's. Bytes that, xored with Flip and masked by Tested,
// are above At as signed numbers are Special, with the sign if Sign has it.
type ByteWords struct {
	High, Low        [16]byte
	Shift            int64
	Mask, Bias, Odd  byte
	Flip, Tested, At byte
	Sign, Special    byte
	_                [16]byte
}

// Steps converts words of a sign and a magnitude to bytes, for example float16 to float4: the
// magnitude less Base, or 0, is divided by 1 << Shift; the quotient rounded down and the
// quotient, with Round added first, rounded up are added. The sum, at most the last place,
// selects one of Codes, to which Sign is added for negative ones. Magnitudes above Most are
// Special.
type Steps struct {
	Codes             [StepPlaces]byte
	_                 [64 - StepPlaces]byte
	Shift             int64
	Base, Round, Most int16
	Sign, Special     byte
}

// StepPlaces is the number of codes of Steps.
const StepPlaces = 48

// Narrow converts float32 to a float of at most 8 bits, whose mantissa has Shift bits fewer. A
// magnitude, bounded by Most, is rounded by adding a power of two whose last bit is worth as
// much as the result's. The power's exponent is the magnitude's plus Step, which is Shift as a
// float's exponent; the least power is One, for subnormal results, whose last bit is worth the
// narrow type's least number. The sum's remaining bits are too large by First, which is One >>
// Shift; None is the code of NaN plus First. Sign is set in negative results that are not below
// Least.
type Narrow struct {
	Shift                 int64
	Most, Step, One, None uint32
	First                 uint16
	Sign, Least           byte
	_                     [4]byte
}
