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
	// for words, Steps. Those are their tables.
	ByteToWord, WordToStep Cast
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

// Steps makes bytes of words of a sign and a magnitude, as float4 of float16: the number
// of entries of Above below the magnitude, and Sign for negative ones; but Special for
// magnitudes above At.
type Steps struct {
	Above             [7]int16
	At, Special, Sign int16
	_                 [44]byte
}
