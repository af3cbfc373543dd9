package simd

func (t *Transposes) avx2() {
	t.Transpose = [...]Transposer{
		{Wide: transpose8x256, Stream: transpose8x256stream, Placed: transpose8x256placed, PlacedStaged: transpose8x256placedstaged, Staged: transpose8x256streamstaged, Few: transpose8x256streamfew, Narrow: transpose8x128, Width: 32},
		{Wide: transpose16x256, Stream: transpose16x256stream, Placed: transpose16x256placed, PlacedStaged: transpose16x256placedstaged, Staged: transpose16x256streamstaged, Few: transpose16x256streamfew, Narrow: transpose16x128, Width: 32},
		{Wide: transpose32x256, Stream: transpose32x256stream, Placed: transpose32x256placed, PlacedStaged: transpose32x256placedstaged, Staged: transpose32x256streamstaged, Narrow: transpose32x128, Width: 32},
		{Wide: transpose64x256, Stream: transpose64x256stream, Placed: transpose64x256placed, Narrow: transpose64x128, Width: 32},
		{Wide: transpose128x256, Stream: transpose128x256stream, Narrow: transpose128x128, Width: 32},
	}
	t.Packed2 = Packer{Wide: transpose2x256, Stream: transpose2x256stream, Staged: transpose2x256streamstaged, Narrow: transpose2x128, Width: 32}
	t.Packed4 = Packer{Wide: transpose4x256, Stream: transpose4x256stream, Staged: transpose4x256streamstaged, Narrow: transpose4x128, Width: 32}
	t.FetchRows, t.ScatterRows = fetchRows, scatterRowsAVX2
	t.Permute3, t.Permute3Stream, t.Permute3Width = permute3AVX2, permute3AVX2stream, 16
	t.Split3Lines = split3LinesAVX2
	t.fillThrees(threesAVX2)
}

func (t *Transposes) avx512() {
	t.Transpose = [...]Transposer{
		{Wide: transpose8x512, Stream: transpose8x512stream, Placed: transpose8x512placed, PlacedStaged: transpose8x512placedstaged, Staged: transpose8x512streamstaged, Few: transpose8x512streamfew, Narrow: transpose8x128, Width: 64},
		{Wide: transpose16x512, Stream: transpose16x512stream, Placed: transpose16x512placed, PlacedStaged: transpose16x512placedstaged, Staged: transpose16x512streamstaged, Few: transpose16x512streamfew, Narrow: transpose16x128, Width: 64},
		{Wide: transpose32x512, Stream: transpose32x512stream, Placed: transpose32x512placed, PlacedStaged: transpose32x512placedstaged, Staged: transpose32x512streamstaged, Narrow: transpose32x128, Width: 64},
		{Wide: transpose64x512, Stream: transpose64x512stream, Placed: transpose64x512placed, Narrow: transpose64x128, Width: 64},
		{Wide: transpose128x512, Stream: transpose128x512stream, Narrow: transpose128x128, Width: 64},
	}
	t.Packed2 = Packer{Wide: transpose2x512, Stream: transpose2x512stream, Staged: transpose2x512streamstaged, Narrow: transpose2x128, Width: 64}
	t.Packed4 = Packer{Wide: transpose4x512, Stream: transpose4x512stream, Staged: transpose4x512streamstaged, Narrow: transpose4x128, Width: 64}
	t.ScatterRows = scatterRowsAVX512
	t.Permute3, t.Permute3Stream, t.Permute3Width = permute3AVX512, permute3AVX512stream, 64
	t.Split3Lines = nil
	t.fillThrees(threesAVX512)
}
