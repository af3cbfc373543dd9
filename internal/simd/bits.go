package simd

// Bits are kernels for elements below a byte. Most write whole lines of 64 bytes.
// With past set they write them past the caches: dst is then a multiple of 64, and
// other processors see what was written from the return on. Levels without Rows.Stream
// take no notice of it.
//
// A source may start within a byte, at the bit shift, from 0 to 7. Nothing is read
// before src, nor beyond the byte of the last bit.
type Bits struct {
	// Shift copies.
	Shift func(dst, src *byte, lines, shift int64, past bool)
	// Reverse copies bytes in reverse; src is the first of them. What becomes of a
	// byte is the first table's value for its low four bits together with that of
	// the second one for its high bits. Tables have 16 bytes each.
	Reverse func(dst, src *byte, lines, shift int64, tables *byte, past bool)
	// UnpackNibbles and UnpackCrumbs make bytes of 4 and of 2 bits, which a table
	// of 16 bytes gives.
	UnpackNibbles func(dst, src *byte, lines, shift int64, table *byte, past bool)
	UnpackCrumbs  func(dst, src *byte, lines, shift int64, table *byte, past bool)
	// PackNibbles and PackCrumbs gather the low 4 and 2 bits of bytes.
	PackNibbles func(dst, src *byte, lines int64, past bool)
	PackCrumbs  func(dst, src *byte, lines int64, past bool)
	// Extract8, 16 and 32 write n > 0 words of so many bits. Each has the bits of
	// mask, which are as many, out of the 64 bits at src from the bit at&7 of the
	// byte at>>3 on: all 8 bytes from there are read, and no others. From a word
	// to the next, at grows by step bits.
	Extract8, Extract16, Extract32 func(dst, src *byte, n, at, step, mask int64)
}
