package cpu

import (
	"math/bits"
	"unsafe"
)

// Elements below a byte. Positions count elements, and the low bits of a byte
// come first. Everything here reads and writes the bytes of the elements it is
// given and no others; of a byte at an edge, only the bits.

// putBits sets n <= 8 bits at a bit position, which lie in one byte.
func putBits(dst unsafe.Pointer, at int64, v byte, n int64) {
	shift := at & 7
	mask := byte(1<<n-1) << shift
	b := (*byte)(unsafe.Add(dst, at>>3))
	*b = *b&^mask | v<<shift&mask
}

// getBits returns w <= 8 bits at a bit position, which lie in one byte.
func getBits(src unsafe.Pointer, at, w int64) byte {
	return load8(src, at>>3) >> (at & 7) & byte(1<<w-1)
}

// someBits returns n < 64 bits at any bit position.
func someBits(src unsafe.Pointer, at, n int64) uint64 {
	p, shift := at>>3, uint(at&7)
	v := uint64(load8(src, p)) >> shift
	for have := 8 - shift; int64(have) < n; have += 8 {
		p++
		v |= uint64(load8(src, p)) << have
	}
	return v & (1<<n - 1)
}

// wordBits returns the 64 bits at any bit position.
func wordBits(src unsafe.Pointer, at int64) uint64 {
	p, shift := at>>3, uint(at&7)
	if shift == 0 {
		return load64(src, p)
	}
	return load64(src, p)>>shift | uint64(load8(src, p+8))<<(64-shift)
}

// copyBits moves n bits between any bit positions.
func copyBits(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n int64) {
	if head := min(-d&7, n); head > 0 {
		putBits(dst, d, byte(someBits(src, s, head)), head)
		d, s, n = d+head, s+head, n-head
	}
	to := d >> 3
	switch {
	case n < 8:
	case s&7 == 0:
		copy(span(dst, to, n>>3), span(src, s>>3, n>>3))
		to += n >> 3
		s += n &^ 7
		n &= 7
	default:
		from, shift := s>>3, uint(s&7)
		for ; n >= 64; n -= 64 {
			v := load64(src, from)>>shift | uint64(load8(src, from+8))<<(64-shift)
			store64(dst, to, v)
			from += 8
			to += 8
		}
		s = from<<3 | int64(shift)
		for ; n >= 8; n -= 8 {
			store8(dst, to, byte(someBits(src, s, 8)))
			s += 8
			to++
		}
	}
	if n > 0 {
		putBits(dst, to<<3, byte(someBits(src, s, n)), n)
	}
}

// fillBits sets n elements of w bits.
func fillBits(dst unsafe.Pointer, d, n, w int64, v byte) {
	v *= [...]byte{2: 0x55, 4: 0x11}[w]
	d, n = d*w, n*w
	if head := min(-d&7, n); head > 0 {
		putBits(dst, d, v, head)
		d, n = d+head, n-head
	}
	if n >= 8 {
		whole := span(dst, d>>3, n>>3)
		head := min(len(whole), 64)
		for i := range whole[:head] {
			whole[i] = v
		}
		for at := head; at < len(whole); {
			at += copy(whole[at:], whole[:min(at, 8<<10)])
		}
	}
	if tail := n & 7; tail > 0 {
		putBits(dst, d+n&^7, v, tail)
	}
}

// reverseBits moves n elements of w bits in reverse; s is the last of them in
// memory.
func reverseBits(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n, w int64) {
	d, s, n = d*w, (s+1)*w, n*w // s is the end of what is left, going down
	for ; n > 0 && d&7 != 0; n -= w {
		s -= w
		putBits(dst, d, getBits(src, s, w), w)
		d += w
	}
	for ; n >= 64; n -= 64 {
		s -= 64
		v := bits.ReverseBytes64(wordBits(src, s))
		v = v&mask4<<4 | v>>4&mask4
		if w == 2 {
			v = v&mask2<<2 | v>>2&mask2
		}
		store64(dst, d>>3, v)
		d += 64
	}
	for ; n > 0; n -= w {
		s -= w
		putBits(dst, d, getBits(src, s, w), w)
		d += w
	}
}

// gatherBits moves n elements of w bits from every step-th of the source to
// neighbours.
func gatherBits(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, step, n, w int64) {
	d, s, step = d*w, s*w, step*w
	for ; n > 0 && d&7 != 0; n-- {
		putBits(dst, d, getBits(src, s, w), w)
		d += w
		s += step
	}
	mask := uint64(1)<<w - 1
	for ; n*w >= 64; n -= 64 / w {
		v := uint64(0)
		for shift := uint(0); shift < 64; shift += uint(w) {
			v |= uint64(load8(src, s>>3)) >> (s & 7) & mask << shift
			s += step
		}
		store64(dst, d>>3, v)
		d += 64
	}
	for ; n > 0; n-- {
		putBits(dst, d, getBits(src, s, w), w)
		d += w
		s += step
	}
}

// packedKernel moves one block of elements below a byte.
func (j *job) packedKernel(d, s, na, nb int64, sc *scratch) {
	if j.class == transpose {
		j.packedTile(d, s, na, nb, sc)
		return
	}
	for i := range na {
		d, s, n := d+i*j.a.d, s+i*j.a.s, nb
		if j.b.d == 1 {
			// The bytes that are this worker's.
			if skip := j.clipLo - d; skip > 0 {
				d, s, n = d+skip, s+skip*j.b.s, n-skip
			}
			n = min(n, j.clipHi-d)
			if n <= 0 {
				continue
			}
		}
		j.packedRow(d, s, n, sc)
	}
}

// packedRow moves n elements along b.
func (j *job) packedRow(d, s, n int64, sc *scratch) {
	w := int64(j.dBits)
	switch {
	case j.class == convert:
		j.convertRow(d, s, n, sc)
	case j.b.d != 1:
		for k := range n {
			if at := d + k*j.b.d; at >= j.clipLo && at < j.clipHi {
				putBits(j.dst, at*w, getBits(j.src, (s+k*j.b.s)*w, w), w)
			}
		}
	case j.class == contiguous || j.class == rows:
		copyBits(j.dst, d*w, j.src, s*w, n*w)
	case j.class == fill:
		fillBits(j.dst, d, n, w, getBits(j.src, s*w, w))
	case j.class == reverse:
		reverseBits(j.dst, d, j.src, s, n, w)
	default:
		gatherBits(j.dst, d, j.src, s, j.b.s, n, w)
	}
}
