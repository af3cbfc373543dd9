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
}
