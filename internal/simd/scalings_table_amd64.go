package simd

func (k *Scalings) avx2() {
	*k = Scalings{
		ScaleFloat:     scaleFloatAVX2,
		ScaleFloats:    scaleFloatsAVX2,
		DivideFloat:    divideFloatAVX2,
		DivideFloats:   divideFloatsAVX2,
		QuantizeFloat:  quantizeFloatAVX2,
		QuantizeFloats: quantizeFloatsAVX2,
		QuantizeBytes:  quantizeBytesAVX2,
		LookUpEach16:   lookUpEach16AVX2,
		LookUpPacked16: lookUpPacked16AVX2,
		LookUpEach32:   lookUpEach32AVX2,
		BoundFloat:     boundFloatAVX2,
		CodeFloat:      codeFloatAVX2,
		StepFloat:      stepFloatAVX2,
		MapBytes:       mapBytesAVX2,
	}
}

func (k *Scalings) avx512() {
	*k = Scalings{
		ScaleFloat:     scaleFloatAVX512,
		ScaleFloats:    scaleFloatsAVX512,
		DivideFloat:    divideFloatAVX512,
		DivideFloats:   divideFloatsAVX512,
		QuantizeFloat:  quantizeFloatAVX512,
		QuantizeFloats: quantizeFloatsAVX512,
		QuantizeBytes:  quantizeBytesAVX512,
		LookUpEach16:   lookUpEach16AVX2,
		LookUpPacked16: lookUpPacked16AVX2,
		LookUpEach32:   lookUpEach32AVX512,
		BoundFloat:     boundFloatAVX2,
		CodeFloat:      codeFloatAVX512,
		StepFloat:      stepFloatAVX2,
		MapBytes:       mapBytesAVX512,
	}
}
