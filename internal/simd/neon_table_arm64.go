package simd

func (t *Transposes) neon() {
	t.Transpose = [...]Transposer{
		{Wide: transpose8x128, Narrow: transpose8x128, Width: 16},
		{Wide: transpose16x256, Narrow: transpose16x128, Width: 32},
		{Wide: transpose32x512, Narrow: transpose32x128, Width: 64},
		{Wide: transpose64x512, Narrow: transpose64x128, Width: 64},
		{Wide: transpose128x512, Narrow: transpose128x128, Width: 64},
	}
	t.Split2, t.Split4 = split2, split4
	t.Permute3, t.Permute3Width = permute3, 16
	t.fillThrees(threesNEON)
}

// threesNEON makes tables for an instruction that permutes the bytes of three vectors.
func threesNEON(width int, from func(out, at int) (in, pos int)) []byte {
	tab := make([]byte, 3*width)
	for i := range tab {
		in, pos := from(i/width, i%width)
		tab[i] = byte(in*width + pos)
	}
	return tab
}

func (k *Rows) neon() {
	k.Move = move
	k.PlanPick, k.Pick = (*Shuffle).planPickNEON, pickNEON
}

// lookUps is the table of a group: for each byte of the near side's vector its index in the far
// side's.
type lookUps struct{ near16 [16]byte }

// planPickNEON prepares a pick with vectors of 16 bytes, whose bytes one instruction gathers
// from all of the far side's.
func (p *Shuffle) planPickNEON(size, step int64) bool {
	const vector = 16
	if !p.fit(vector, size, step, 4) || p.near != vector || p.span < vector {
		return false
	}
	p.Least = p.group
	for near, far := range p.offsets() {
		i := min(far/vector, p.count-1)
		p.near16[near] = byte(i*vector + far - min(i*vector, p.span-vector))
	}
	return true
}

var picks = [vectors]func(dst, src *byte, dStep, sStep, groups, rows, base, far, last, dBack, sBack int64, table *byte){pick1, pick2, pick3, pick4}

// pickNEON is Rows.Pick.
func pickNEON(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	back := int64(0) // elements before the tail that are repeated with it
	if tail := n % p.group; tail > 0 {
		back = tail - p.group
	}
	picks[p.count-1](dst, src, dStep, sStep, n/p.group, rows, p.base, p.far, p.span-16, back*p.size, back*p.step, &p.near16[0])
}

func (k *Bits) neon() {
	*k = Bits{
		ShiftBits:     shiftBits,
		ReverseBits:   reverseBits,
		UnpackNibbles: unpackNibbles,
		UnpackCrumbs:  unpackCrumbs,
		PackNibbles:   packNibbles,
		PackCrumbs:    packCrumbs,
	}
}

func (k *Casts) neon() {
	*k = Casts{
		HalfToFloat:   halfToFloat,
		BfloatToFloat: bfloatToFloat,
		BoolToFloat:   boolToFloat,
		Int8ToFloat:   int8ToFloat,
		Int16ToFloat:  int16ToFloat,
		Int32ToFloat:  int32ToFloat,
		Uint8ToFloat:  uint8ToFloat,
		Uint16ToFloat: uint16ToFloat,
		FloatToHalf:   floatToHalf,
		FloatToBfloat: floatToBfloat,
		FloatToBool:   floatToBool,
		FloatToInt8:   floatToInt8,
		FloatToUint8:  floatToUint8,
		FloatToInt32:  floatToInt32,
		FloatToLow:    floatToLow,
		LookUp16:      lookUp16,
		LookUp32:      lookUp32,
	}
}

func (k *Blends) neon() {
	k.Blend = [...]func(dst, a, b, cond *byte, lines int64, past bool){blend8, blend16, blend32, blend64, blend128}
}
