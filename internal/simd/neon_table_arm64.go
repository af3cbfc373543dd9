package simd

func (t *Transposes) neon() {
	t.Turn = [...]Turns{
		{Wide: turn8x16, Narrow: turn8x16, Width: 16},
		{Wide: turn16x32, Narrow: turn16x16, Width: 32},
		{Wide: turn32x64, Narrow: turn32x16, Width: 64},
		{Wide: turn64x64, Narrow: turn64x16, Width: 64},
		{Wide: turn128x64, Narrow: turn128x16, Width: 64},
	}
	t.Split2, t.Split4 = split2x16, split4x16
	t.Mix, t.MixWidth = mix16, 16
	t.mixTables(mixLookUps)
}

// mixLookUps are tables for an instruction that takes the bytes of three vectors.
func mixLookUps(width int, from func(out, at int) (in, pos int)) []byte {
	tab := make([]byte, 3*width)
	for i := range tab {
		in, pos := from(i/width, i%width)
		tab[i] = byte(in*width + pos)
	}
	return tab
}

func (k *Rows) neon() {
	k.Move = move
	k.PlanPick, k.Pick = (*Shuffle).pickNEON, pickNEON
}

// lookUps are what kernels know of a group: where the bytes of a vector are in those of
// the far side.
type lookUps struct{ near16 [16]byte }

// pickNEON prepares a pick with vectors of 16 bytes, whose bytes one instruction finds
// in all of the far side's.
func (p *Shuffle) pickNEON(size, step int64) bool {
	const vector = 16
	if !p.fit(vector, size, step, 4) || p.near != vector || p.span < vector {
		return false
	}
	p.Least = p.group
	for near, far := range p.places() {
		i := min(far/vector, p.count-1)
		p.near16[near] = byte(i*vector + far - min(i*vector, p.span-vector))
	}
	return true
}

var picks = [vectors]func(dst, src *byte, dStep, sStep, groups, rows, base, far, last, dBack, sBack int64, table *byte){pick1, pick2, pick3, pick4}

// pickNEON is Rows.Pick.
func pickNEON(dst, src *byte, dStep, sStep, n, rows int64, p *Shuffle) {
	back := int64(0) // elements before the tail that are done with it again
	if tail := n % p.group; tail > 0 {
		back = tail - p.group
	}
	picks[p.count-1](dst, src, dStep, sStep, n/p.group, rows, p.base, p.far, p.span-16, back*p.size, back*p.step, &p.near16[0])
}

func (k *Bits) neon() {
	*k = Bits{
		Shift:         shift,
		Reverse:       reverse,
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
