package simd

func (k *Casts) avx2() {
	*k = Casts{
		BfloatToFloat:  bfloatToFloatAVX2,
		BoolToFloat:    boolToFloatAVX2,
		Int8ToFloat:    int8ToFloatAVX2,
		Int16ToFloat:   int16ToFloatAVX2,
		Int32ToFloat:   int32ToFloatAVX2,
		Uint8ToFloat:   uint8ToFloatAVX2,
		Uint16ToFloat:  uint16ToFloatAVX2,
		FloatToBfloat:  floatToBfloatAVX2,
		FloatToBool:    floatToBoolAVX2,
		FloatToInt8:    floatToInt8AVX2,
		FloatToUint8:   floatToUint8AVX2,
		FloatToInt32:   floatToInt32AVX2,
		FloatToLow:     floatToLowAVX2,
		LookUp16:       lookUp16AVX2,
		LookUp32:       lookUp32AVX2,
		ByteToWord:     byteToWordAVX2,
		WordToStep:     wordToStepAVX2,
		WordToNibble:   wordToNibbleAVX2,
		FloatToNarrow:  floatToNarrowAVX2,
		BfloatToNarrow: bfloatToNarrowAVX2,
	}
	if hasF16C() {
		k.HalfToFloat, k.FloatToHalf, k.HalfToNarrow = halfToFloatAVX2, floatToHalfAVX2, halfToNarrowAVX2
	}
}

func (k *Casts) avx512() {
	*k = Casts{
		HalfToFloat:    halfToFloatAVX512,
		BfloatToFloat:  bfloatToFloatAVX512,
		BoolToFloat:    boolToFloatAVX512,
		Int8ToFloat:    int8ToFloatAVX512,
		Int16ToFloat:   int16ToFloatAVX512,
		Int32ToFloat:   int32ToFloatAVX512,
		Uint8ToFloat:   uint8ToFloatAVX512,
		Uint16ToFloat:  uint16ToFloatAVX512,
		FloatToHalf:    floatToHalfAVX512,
		FloatToBfloat:  floatToBfloatAVX512,
		FloatToBool:    floatToBoolAVX512,
		FloatToInt8:    floatToInt8AVX512,
		FloatToUint8:   floatToUint8AVX512,
		FloatToInt32:   floatToInt32AVX512,
		FloatToLow:     floatToLowAVX512,
		LookUp16:       lookUp16AVX512,
		LookUp32:       lookUp32AVX512,
		ByteToWord:     byteToWordAVX2,
		WordToStep:     wordToStepAVX512,
		WordToNibble:   wordToNibbleAVX512,
		FloatToNarrow:  floatToNarrowAVX512,
		BfloatToNarrow: bfloatToNarrowAVX512,
		HalfToNarrow:   halfToNarrowAVX512,
		Int64ToFloat:   int64ToFloatAVX512,
	}
}
