// Package oracle computes the correct result of an operation: it walks every index and moves
// one element at a time, below a byte one bit at a time. It is slow and simple, and shares no
// code with any device, so that errors are independent.
//
// A [Case] is one operation on two layouts; its name can be parsed back
// ([ParseCase]), [Random] makes interesting ones, and [Check] runs one on a
// device and compares every bit of the buffers with the walk's.
package oracle

import "github.com/restride/restride/layout"

// Copy copies the elements of width bits at s in src to those at d in dst. The layouts have one
// shape and fit their memory.
func Copy(dst []byte, d layout.Layout, src []byte, s layout.Layout, width int) {
	walk(d, s, func(p, q int64) { move(dst, p, src, q, width) })
}

// CopyStrings copies the strings at s in src to those at d in dst.
func CopyStrings(dst []string, d layout.Layout, src []string, s layout.Layout) {
	walk(d, s, func(p, q int64) { dst[p] = src[q] })
}

// Fill sets the elements of width bits at d in dst to the pattern: one element in little-endian
// bytes, or the low bits of one byte.
func Fill(dst []byte, d layout.Layout, pattern []byte, width int) {
	walk(d, d, func(p, _ int64) { move(dst, p, pattern, 0, width) })
}

// FillStrings sets the strings at d in dst.
func FillStrings(dst []string, d layout.Layout, s string) {
	walk(d, d, func(p, _ int64) { dst[p] = s })
}

// move sets element p of dst to element q of src, both of width bits.
func move(dst []byte, p int64, src []byte, q int64, width int) {
	if width < 8 {
		moveBits(dst, p, src, q, int64(width))
		return
	}
	n := int64(width / 8)
	copy(dst[p*n:p*n+n], src[q*n:q*n+n])
}

// moveBits sets element p of dst to element q of src, both of w bits, bit by bit.
func moveBits(dst []byte, p int64, src []byte, q int64, w int64) {
	for i := range w {
		setBit(dst, p*w+i, bit(src, q*w+i))
	}
}

func bit(b []byte, i int64) bool { return b[i/8]>>(i%8)&1 == 1 }

func setBit(b []byte, i int64, one bool) {
	if one {
		b[i/8] |= 1 << (i % 8)
	} else {
		b[i/8] &^= 1 << (i % 8)
	}
}

// walk calls visit with the two positions of every index, in row-major order.
func walk(a, b layout.Layout, visit func(p, q int64)) {
	var step func(axis int, p, q int64)
	step = func(axis int, p, q int64) {
		if axis == a.Rank() {
			visit(p, q)
			return
		}
		for i := range a.Dim(axis) {
			step(axis+1, p+i*a.Stride(axis), q+i*b.Stride(axis))
		}
	}
	step(0, a.Offset(), b.Offset())
}
