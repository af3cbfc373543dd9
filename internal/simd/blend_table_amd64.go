package simd

func (k *Blends) avx2() {
	k.Blend = [...]func(dst, a, b, cond *byte, lines int64, past bool){blend8AVX2, blend16AVX2, blend32AVX2, blend64AVX2, blend128AVX2}
}

func (k *Blends) avx512() {
	k.Blend = [...]func(dst, a, b, cond *byte, lines int64, past bool){blend8AVX512, blend16AVX512, blend32AVX512, blend64AVX512, blend128AVX512}
}
