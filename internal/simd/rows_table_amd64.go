package simd

func (k *Rows) fill(l Level) {
	if l >= AVX2 {
		k.Move, k.Stream = moveAVX2, streamAVX2
	}
	if l >= AVX512 {
		k.Move, k.Stream = moveAVX512, streamAVX512
	}
}
