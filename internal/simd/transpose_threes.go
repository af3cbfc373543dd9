package simd

// Threes are kernels that interleave three rows of elements, or separate a row of
// threes.
type Threes struct {
	// Permute3 computes three vectors from three others, n times: any byte from any, by tab.
	// The three are a gap apart, and advance by a step. Permute3Stream bypasses the caches, to
	// multiples of Permute3Width.
	Permute3, Permute3Stream func(dst *byte, dGap, dStep int64, src *byte, sGap, sStep int64, tab *byte, n int64)
	// Split3Lines separates threes by Split3, which is tab, and writes whole lines, bypassing
	// the caches, to multiples of 64. nil where Permute3Stream is as fast.
	Split3Lines func(dst *byte, dGap int64, src *byte, tab *byte, lines int64)
	// Permute3Width is the number of bytes of a vector.
	Permute3Width int64
	// Merge3 and Split3 are the tables for elements of 1, 2, 4, 8 and 16 bytes: to
	// interleave three rows, and to separate them.
	Merge3, Split3 [5]*byte
}

// fillThrees fills Merge3 and Split3. from returns the source vector and byte for byte at of
// vector out.
func (m *Threes) fillThrees(table func(width int, from func(out, at int) (in, pos int)) []byte) {
	width := int(m.Permute3Width)
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
