package simd

func (k *Takes) avx2() {
	k.Take, k.Offsets32, k.Offsets64 = takeAVX2, offsets32xAVX2, offsets64xAVX2
}

func (k *Takes) avx512() {
	k.Take, k.Offsets32, k.Offsets64 = takeAVX512, offsets32xAVX512, offsets64xAVX512
}
