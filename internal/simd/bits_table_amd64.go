package simd

func (k *Bits) avx2() {
	*k = Bits{
		Shift:         shiftAVX2,
		Reverse:       reverseAVX2,
		UnpackNibbles: unpackNibblesAVX2,
		UnpackCrumbs:  unpackCrumbsAVX2,
		PackNibbles:   packNibblesAVX2,
		PackCrumbs:    packCrumbsAVX2,
		Extract8:      extract8,
		Extract16:     extract16,
		Extract32:     extract32,
	}
}

func (k *Bits) avx512() {
	k.Shift = shiftAVX512
	k.Reverse = reverseAVX512
	k.UnpackNibbles = unpackNibblesAVX512
	k.UnpackCrumbs = unpackCrumbsAVX512
	k.PackNibbles = packNibblesAVX512
	k.PackCrumbs = packCrumbsAVX512
}
