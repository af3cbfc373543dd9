package simd

// Mixes are kernels that interleave rows of elements, three of them, or take such a
// row apart.
type Mixes struct {
	// Mix makes, n times, three vectors of three others. These are a gap apart, and
	// move on by a step. Every byte comes from where tab says. MixStream writes past
	// the caches, to multiples of MixWidth.
	Mix, MixStream func(dst *byte, dGap, dStep int64, src *byte, sGap, sStep int64, tab *byte, n int64)
	// MixWidth is the bytes of a vector.
	MixWidth int64
	// Merge3 and Split3 are the tables for elements of 1, 2, 4, 8 and 16 bytes:
	// three rows become one of threes, and the reverse.
	Merge3, Split3 [5]*byte
}

// mixTables fills Merge3 and Split3.
func (m *Mixes) mixTables(table func(width int, from func(out, at int) (in, pos int)) []byte) {
	width := int(m.MixWidth)
	for log := range m.Merge3 {
		size := 1 << log
		m.Merge3[log] = &table(width, func(out, at int) (in, pos int) {
			at += out * width
			e := at / size
			return e % 3, e/3*size + at%size
		})[0]
		m.Split3[log] = &table(width, func(out, at int) (in, pos int) {
			pos = (at/size*3+out)*size + at%size
			return pos / width, pos % width
		})[0]
	}
}
