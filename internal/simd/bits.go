package simd

// Bits are kernels for elements below a byte. Most write whole lines of 64 bytes. With past set
// the stores bypass the caches: dst is then a multiple of 64, and other processors see the
// writes from the return on. Levels without Rows.Stream ignore it.
//
// A source may start within a byte, at the bit shift, from 0 to 7. They read nothing before
// src, nor beyond the byte of the last bit.
type Bits struct {
	// ShiftBits copies.
	ShiftBits func(dst, src *byte, lines, shift int64, past bool)
	// ReverseBits writes the bytes from src on in reverse order, each by tables of 16 bytes:
	// the value for its low four bits in the first, or-ed with the value for its high bits in
	// the second.
	ReverseBits func(dst, src *byte, lines, shift int64, tables *byte, past bool)
	// UnpackNibbles and UnpackCrumbs convert elements of 4 and of 2 bits to bytes: entries of a
	// table of 16 bytes.
	UnpackNibbles func(dst, src *byte, lines, shift int64, table *byte, past bool)
	UnpackCrumbs  func(dst, src *byte, lines, shift int64, table *byte, past bool)
	// PackNibbles and PackCrumbs pack the low 4 and 2 bits of bytes.
	PackNibbles func(dst, src *byte, lines int64, past bool)
	PackCrumbs  func(dst, src *byte, lines int64, past bool)
	// ExtractBits8, 16 and 32 write n > 0 words of 8, 16 and 32 bits. Each has the bits
	// selected by mask, as many as the word, of the 64 bits at src from bit at&7 of byte at>>3
	// on: it reads all 8 bytes from there, and no others. From word to word, at grows by step
	// bits.
	ExtractBits8, ExtractBits16, ExtractBits32 func(dst, src *byte, n, at, step, mask int64)
	// AlignRows copies m rows of n bytes, the k-th from the bit at[k] of src on, to rows that
	// are step bytes apart. It writes n rounded up to a multiple of 32, and reads one byte
	// more than that.
	AlignRows func(dst *byte, step int64, src *byte, at *int64, n, m int64)
	// PlaceRows is the opposite: m rows of n > 64 bits, step bytes apart in src, go to dst, the
	// k-th from the bit at[k] on. It reads the byte before src and up to one more than a row
	// has, and writes bits of rows only, and unchanged the other bits of their bytes. Whole
	// lines of long rows bypass the caches.
	PlaceRows func(dst *byte, at *int64, src *byte, step, n, m int64, past bool)
}
