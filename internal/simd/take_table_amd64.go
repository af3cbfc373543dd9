package simd

func (k *Takes) avx2() {
	k.Take, k.Offsets32, k.Offsets64 = takeAVX2, offsets32AVX2, offsets64AVX2
	k.Fetch = fetch
}

func (k *Takes) avx512() {
	k.Offsets32, k.Offsets64 = offsets32AVX512, offsets64AVX512
	if vendor() != amd { // there, 32 bytes at a time are faster
		k.Take = takeAVX512
	}
}
