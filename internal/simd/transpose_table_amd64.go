package simd

func (t *Transposes) avx2() {
	t.Transpose = [...]Transposer{
		{Wide: transpose8x256, Stream: transpose8x256stream, Staged: transpose8x256streamstaged, Few: transpose8x256streamfew, Narrow: transpose8x128, Width: 32},
		{Wide: transpose16x256, Stream: transpose16x256stream, Staged: transpose16x256streamstaged, Few: transpose16x256streamfew, Narrow: transpose16x128, Width: 32},
		{Wide: transpose32x256, Stream: transpose32x256stream, Staged: transpose32x256streamstaged, Narrow: transpose32x128, Width: 32},
		{Wide: transpose64x256, Stream: transpose64x256stream, Narrow: transpose64x128, Width: 32},
		{Wide: transpose128x256, Stream: transpose128x256stream, Narrow: transpose128x128, Width: 32},
	}
	t.FetchRows = fetchRows
	t.ScatterRows, t.Split2, t.Split4 = scatterRowsAVX2, split2AVX2, split4AVX2
	t.Permute3, t.Permute3Stream, t.Permute3Width = permute3AVX2, permute3AVX2stream, 16
	t.Split3Lines = split3LinesAVX2
	t.fillThrees(threesAVX2)
}

func (t *Transposes) avx512() {
	t.Transpose = [...]Transposer{
		{Wide: transpose8x512, Stream: transpose8x512stream, Staged: transpose8x512streamstaged, Few: transpose8x512streamfew, Narrow: transpose8x128, Width: 64},
		{Wide: transpose16x512, Stream: transpose16x512stream, Staged: transpose16x512streamstaged, Few: transpose16x512streamfew, Narrow: transpose16x128, Width: 64},
		{Wide: transpose32x512, Stream: transpose32x512stream, Staged: transpose32x512streamstaged, Narrow: transpose32x128, Width: 64},
		{Wide: transpose64x512, Stream: transpose64x512stream, Narrow: transpose64x128, Width: 64},
		{Wide: transpose128x512, Stream: transpose128x512stream, Narrow: transpose128x128, Width: 64},
	}
	t.ScatterRows, t.Split2, t.Split4 = scatterRowsAVX512, split2AVX512, split4AVX512
	t.Permute3, t.Permute3Stream, t.Permute3Width = permute3AVX512, permute3AVX512stream, 64
	t.Split3Lines = nil
	t.fillThrees(threesAVX512)
}
