package simd

func (k *Takes) avx2() {
	k.Take, k.Offsets32, k.Offsets64 = takeAVX2, offsets32AVX2, offsets64AVX2
}

func (k *Takes) avx512() {
	k.Take, k.Offsets32, k.Offsets64 = takeAVX512, offsets32AVX512, offsets64AVX512
}
