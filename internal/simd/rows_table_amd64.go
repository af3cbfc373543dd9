package simd

func (k *Rows) avx2() {
	k.Stream = streamAVX2
}
