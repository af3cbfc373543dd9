package simd

func (k *Bits) avx2() {
	*k = Bits{
		ShiftBits:     shiftBitsAVX2,
		ReverseBits:   reverseBitsAVX2,
		UnpackNibbles: unpackNibblesAVX2,
		UnpackCrumbs:  unpackCrumbsAVX2,
		PackNibbles:   packNibblesAVX2,
		PackCrumbs:    packCrumbsAVX2,
		ExtractBits8:  extractBits8,
		ExtractBits16: extractBits16,
		ExtractBits32: extractBits32,
		AlignRows:     alignRowsAVX2,
		PlaceRows:     placeRowsAVX2,
	}
}

func (k *Bits) avx512() {
	k.ShiftBits = shiftBitsAVX512
	k.ReverseBits = reverseBitsAVX512
	k.UnpackNibbles = unpackNibblesAVX512
	k.UnpackCrumbs = unpackCrumbsAVX512
	k.PackNibbles = packNibblesAVX512
	k.PackCrumbs = packCrumbsAVX512
}
