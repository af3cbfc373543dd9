package simd

func (t *Transposes) avx2() {
	t.Turn = [...]Turns{
		{Wide: turn8x32, Narrow: turn8x16, Width: 32},
		{Wide: turn16x32, Narrow: turn16x16, Width: 32},
		{Wide: turn32x32, Narrow: turn32x16, Width: 32},
		{Wide: turn64x32, Stream: turn64x32stream, Narrow: turn64x16, Width: 32},
		{Wide: turn128x32, Stream: turn128x32stream, Narrow: turn128x16, Width: 32},
	}
	t.Place, t.Split2, t.Split4 = place32, split2x32, split4x32
	t.Mix, t.MixStream, t.MixWidth = mix16, mix16stream, 16
	t.mixTables(mixShuffles)
}

func (t *Transposes) avx512() {
	t.Turn = [...]Turns{
		{Wide: turn8x64, Stream: turn8x64stream, Narrow: turn8x16, FewStream: turn8x64fewstream, Width: 64},
		{Wide: turn16x64, Stream: turn16x64stream, Narrow: turn16x16, FewStream: turn16x64fewstream, Width: 64},
		{Wide: turn32x64, Stream: turn32x64stream, Narrow: turn32x16, Width: 64},
		{Wide: turn64x64, Stream: turn64x64stream, Narrow: turn64x16, Width: 64},
		{Wide: turn128x64, Stream: turn128x64stream, Narrow: turn128x16, Width: 64},
	}
	t.Place, t.Split2, t.Split4 = place64, split2x64, split4x64
	t.Mix, t.MixStream, t.MixWidth = mix64, mix64stream, 64
	t.mixTables(mixPermutes)
}
