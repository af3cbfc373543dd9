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

// turnWords transposes a block of len(m) words of len(m) elements each, of 4
// bits (16 words) or 2 bits (32 words).
func turnWords(m []uint64) {
	masks := [...]uint64{mask32, mask16, mask8, mask4, mask2}
	shift := uint(32)
	for round, half := 0, len(m)/2; half > 0; round, half = round+1, half/2 {
		mask := masks[round]
		for i := 0; i < len(m); i += 2 * half {
			x, y := m[i:i+half], m[i+half:i+2*half]
			for k := range x {
				x[k], y[k] = exchange(x[k], y[k], shift, mask)
			}
		}
		shift /= 2
	}
}
