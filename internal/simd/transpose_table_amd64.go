package simd

func (t *Transposes) avx2() {
	t.Turn = [...]Turns{
		{turn8x32, turn8x32stream, turn8x16, 32},
		{turn16x32, turn16x32stream, turn16x16, 32},
		{turn32x32, turn32x32stream, turn32x16, 32},
		{turn64x32, turn64x32stream, turn64x16, 32},
		{turn128x32, turn128x32stream, turn128x16, 32},
	}
	t.Place = place32
}

func (t *Transposes) avx512() {
	t.Turn = [...]Turns{
		{turn8x64, turn8x64stream, turn8x16, 64},
		{turn16x64, turn16x64stream, turn16x16, 64},
		{turn32x64, turn32x64stream, turn32x16, 64},
		{turn64x64, turn64x64stream, turn64x16, 64},
		{turn128x64, turn128x64stream, turn128x16, 64},
	}
	t.Place = place64
}
