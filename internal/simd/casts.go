package simd

// Cast converts elements to lines of 64 bytes, past the caches if so told, as a
// kernel of Bits does. tables is for those whose description names them.
type Cast func(dst, src *byte, lines int64, tables *byte, past bool)

// Casts are kernels that convert elements by value: to the nearest, towards zero
// from floats to integers, which then are the nearest of their type, or zero for a
// NaN. A NaN that remains one has its sign and no other bits but the highest.
type Casts struct {
	HalfToFloat, BfloatToFloat                            Cast
	BoolToFloat                                           Cast
	Int8ToFloat, Int16ToFloat, Int32ToFloat, Int64ToFloat Cast
	Uint8ToFloat, Uint16ToFloat                           Cast
	FloatToHalf, FloatToBfloat                            Cast
	FloatToBool, FloatToInt8, FloatToUint8, FloatToInt32  Cast
	// FloatToLow gives a byte whose low bits, up to all, are those of the integer.
	FloatToLow Cast
	// LookUp16 and LookUp32 find what bytes below 16 stand for: 16 low bytes and 16
	// high ones, or 16 words.
	LookUp16, LookUp32 Cast
}
