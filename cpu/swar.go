package cpu

import "unsafe"

// Square blocks of small elements are transposed inside 64-bit words: rows of
// 64/w elements, one word each, exchange halves, then quarters, and so on. It
// takes log2(64/w) rounds; the half of a word that is exchanged is named by a
// mask.

// exchange swaps the high lanes of x with the low lanes of y, lanes being shift
// bits wide and mask choosing the low ones.
func exchange(x, y uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (x>>shift ^ y) & mask
	return x ^ t<<shift, y ^ t
}

const (
	mask32 = 0x00000000ffffffff
	mask16 = 0x0000ffff0000ffff
	mask8  = 0x00ff00ff00ff00ff
	mask4  = 0x0f0f0f0f0f0f0f0f
	mask2  = 0x3333333333333333
)

// turn8 transposes 8 source rows of n bytes, n a multiple of 8, to 8 columns.
func turn8(buf unsafe.Pointer, to, stride int64, src unsafe.Pointer, s int64, r *[8]int64, n int64) {
	for i := int64(0); i < n; i += 8 {
		at := s + i
		a, b, c, d := load64(src, at+r[0]), load64(src, at+r[1]), load64(src, at+r[2]), load64(src, at+r[3])
		e, f, g, h := load64(src, at+r[4]), load64(src, at+r[5]), load64(src, at+r[6]), load64(src, at+r[7])
		a, e = exchange(a, e, 32, mask32)
		b, f = exchange(b, f, 32, mask32)
		c, g = exchange(c, g, 32, mask32)
		d, h = exchange(d, h, 32, mask32)
		a, c = exchange(a, c, 16, mask16)
		b, d = exchange(b, d, 16, mask16)
		e, g = exchange(e, g, 16, mask16)
		f, h = exchange(f, h, 16, mask16)
		a, b = exchange(a, b, 8, mask8)
		c, d = exchange(c, d, 8, mask8)
		e, f = exchange(e, f, 8, mask8)
		g, h = exchange(g, h, 8, mask8)
		p := to + i*stride
		store64(buf, p, a)
		store64(buf, p+stride, b)
		store64(buf, p+2*stride, c)
		store64(buf, p+3*stride, d)
		p += 4 * stride
		store64(buf, p, e)
		store64(buf, p+stride, f)
		store64(buf, p+2*stride, g)
		store64(buf, p+3*stride, h)
	}
}

// turn16 transposes 4 source rows of n 16-bit elements, n a multiple of 4.
func turn16(buf unsafe.Pointer, to, stride int64, src unsafe.Pointer, s int64, r *[4]int64, n int64) {
	for i := int64(0); i < n; i += 4 {
		at := s + i*2
		a, b, c, d := load64(src, at+r[0]), load64(src, at+r[1]), load64(src, at+r[2]), load64(src, at+r[3])
		a, c = exchange(a, c, 32, mask32)
		b, d = exchange(b, d, 32, mask32)
		a, b = exchange(a, b, 16, mask16)
		c, d = exchange(c, d, 16, mask16)
		p := to + i*stride
		store64(buf, p, a)
		store64(buf, p+stride, b)
		store64(buf, p+2*stride, c)
		store64(buf, p+3*stride, d)
	}
}

// turn4 transposes a block of 16 by 16 elements of 4 bits: words from one buffer
// to another, in two passes of two rounds, so that words stay in registers.
func turn4(buf unsafe.Pointer, to, out int64, stage unsafe.Pointer, from, in int64) {
	var m [16]uint64
	for k := range 4 {
		at := from + int64(k)*in
		a, b, c, d := load64(stage, at), load64(stage, at+4*in), load64(stage, at+8*in), load64(stage, at+12*in)
		a, c = exchange(a, c, 32, mask32)
		b, d = exchange(b, d, 32, mask32)
		a, b = exchange(a, b, 16, mask16)
		c, d = exchange(c, d, 16, mask16)
		m[k], m[k+4], m[k+8], m[k+12] = a, b, c, d
	}
	for k := 0; k < 16; k += 4 {
		a, b, c, d := m[k], m[k+1], m[k+2], m[k+3]
		a, c = exchange(a, c, 8, mask8)
		b, d = exchange(b, d, 8, mask8)
		a, b = exchange(a, b, 4, mask4)
		c, d = exchange(c, d, 4, mask4)
		store64(buf, to, a)
		store64(buf, to+out, b)
		store64(buf, to+2*out, c)
		store64(buf, to+3*out, d)
		to += 4 * out
	}
}

// turn2 transposes a block of 32 by 32 elements of 2 bits.
func turn2(buf unsafe.Pointer, to, out int64, stage unsafe.Pointer, from, in int64) {
	var m [32]uint64
	for k := range 8 {
		at := from + int64(k)*in
		a, b, c, d := load64(stage, at), load64(stage, at+8*in), load64(stage, at+16*in), load64(stage, at+24*in)
		a, c = exchange(a, c, 32, mask32)
		b, d = exchange(b, d, 32, mask32)
		a, b = exchange(a, b, 16, mask16)
		c, d = exchange(c, d, 16, mask16)
		m[k], m[k+8], m[k+16], m[k+24] = a, b, c, d
	}
	for k := 0; k < 32; k += 8 {
		for i := k; i < k+2; i++ {
			a, b, c, d := m[i], m[i+2], m[i+4], m[i+6]
			a, c = exchange(a, c, 8, mask8)
			b, d = exchange(b, d, 8, mask8)
			a, b = exchange(a, b, 4, mask4)
			c, d = exchange(c, d, 4, mask4)
			m[i], m[i+2], m[i+4], m[i+6] = a, b, c, d
		}
		for i := k; i < k+8; i += 2 {
			a, b := exchange(m[i], m[i+1], 2, mask2)
			store64(buf, to, a)
			store64(buf, to+out, b)
			to += 2 * out
		}
	}
}
