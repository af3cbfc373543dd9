package cpu

import (
	"math/bits"
	"unsafe"
)

// blend sets each of n elements to a's where cond, one byte per element, is not zero, and to b's
// elsewhere. All are neighbours, and begin with a byte. With past set it writes past the caches,
// where that pays off.
func blend(dst, a, b, cond unsafe.Pointer, n int64, bits int, past bool) {
	if bits < 8 {
		blendBits(dst, a, b, cond, n, int64(bits))
		return
	}
	from, to := blendLines(dst, a, b, cond, n, int64(bits/8), past)
	blendLoop(dst, a, b, cond, 0, from, bits)
	blendLoop(dst, a, b, cond, to, n, bits)
}

// blendLines is blend for the elements of whole lines, [from, to), with a kernel.
func blendLines(dst, a, b, cond unsafe.Pointer, n, size int64, past bool) (from, to int64) {
	kernel := kernels.Blend[bits.TrailingZeros64(uint64(size))]
	if kernel == nil || n*size < cacheLine {
		return 0, 0
	}
	lines, head, past := linesOf(dst, 0, n*size, past)
	if head%size != 0 { // no element begins at the start of a line
		lines, head, past = n*size/cacheLine, 0, false
	}
	from = head / size
	kernel(ptr(dst, head), ptr(a, head), ptr(b, head), ptr(cond, from), lines, past)
	return from, from + lines*cacheLine/size
}

// blendLoop is blend for the elements [i, n). The pointers do not advance: one past the last
// element could point outside the memory.
func blendLoop(dst, a, b, cond unsafe.Pointer, i, n int64, bits int) {
	switch bits {
	case 8:
		blendBytes(dst, a, b, cond, i, n)
	case 16:
		blendHalves(dst, a, b, cond, i, n)
	case 32:
		blendWords[uint32](dst, a, b, cond, i, n)
	case 64:
		blendWords[uint64](dst, a, b, cond, i, n)
	default:
		blendPairs(dst, a, b, cond, i, n)
	}
}

// trues is 1 in each byte that is not zero.
func trues(cond uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	return ((cond&low + low) | cond) >> 7 & 0x0101010101010101
}

// pick is the bits of x where the mask has ones, else those of y.
func pick(mask, x, y uint64) uint64 { return y ^ (x^y)&mask }

func blendBytes(dst, a, b, cond unsafe.Pointer, i, n int64) {
	for ; i+8 <= n; i += 8 {
		store64(dst, i, pick(trues(load64(cond, i))*0xff, load64(a, i), load64(b, i)))
	}
	blendWords[uint8](dst, a, b, cond, i, n)
}

func blendHalves(dst, a, b, cond unsafe.Pointer, i, n int64) {
	for ; i+4 <= n; i += 4 {
		x := uint64(load32(cond, i))
		x = (x | x<<16) & 0x0000ffff0000ffff
		x = (x | x<<8) & 0x00ff00ff00ff00ff
		mask := (x + 0x7fff7fff7fff7fff) >> 15 & 0x0001000100010001 * 0xffff
		store64(dst, 2*i, pick(mask, load64(a, 2*i), load64(b, 2*i)))
	}
	blendWords[uint16](dst, a, b, cond, i, n)
}

func blendWords[W uint8 | uint16 | uint32 | uint64](dst, a, b, cond unsafe.Pointer, i, n int64) {
	size := int64(unsafe.Sizeof(*new(W)))
	for ; i < n; i++ {
		v, x := load[W](b, i*size), load[W](a, i*size) // a choice of registers needs no branch
		if load8(cond, i) != 0 {
			v = x
		}
		store(dst, i*size, v)
	}
}

func blendPairs(dst, a, b, cond unsafe.Pointer, i, n int64) {
	for ; i < n; i++ {
		src := b
		if load8(cond, i) != 0 {
			src = a
		}
		store(dst, i*16, load[[2]uint64](src, i*16))
	}
}

// blendBits is blend below a byte. Unused bits of a last byte are undefined.
func blendBits(dst, a, b, cond unsafe.Pointer, n, w int64) {
	i := int64(0)
	for ; i+8 <= n; i += 8 {
		at := i * w / 8
		if x := trues(load64(cond, i)); w == 4 {
			x *= 15
			x = (x | x>>4) & mask8
			x = (x | x>>8) & mask16
			store32(dst, at, uint32(pick(x|x>>16, uint64(load32(a, at)), uint64(load32(b, at)))))
		} else {
			x *= 3
			x = (x | x>>6) & 0x000f000f000f000f
			x = (x | x>>12) & 0x000000ff000000ff
			x |= x >> 24
			for k := range int64(2) {
				store8(dst, at+k, byte(pick(x>>(8*k), uint64(load8(a, at+k)), uint64(load8(b, at+k)))))
			}
		}
	}
	for ; i < n; i++ {
		src := b
		if load8(cond, i) != 0 {
			src = a
		}
		putBits(dst, i*w, getBits(src, i*w, w), w)
	}
}
