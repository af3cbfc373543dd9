package cpu

import (
	"encoding/binary"
	"unsafe"
)

// streamBytes is the size from which a destination is written past the caches.
const streamBytes = 4 << 20

// longRow is the size from which the runtime's memmove is as good as a kernel.
const longRow = 2 << 10

// streamRow is the length, in bytes, from which rows that begin within a cache line
// are streamed: their ends go the usual way.
const streamRow = 1 << 10

// moveRows moves na dense rows of nb elements.
func moveRows[W word](j *job, d, s, na, nb int64, sc *scratch) {
	if j.strings {
		for i := range na {
			to := unsafe.Slice((*string)(unsafe.Add(j.dst, d+i*j.a.d)), nb)
			copy(to, unsafe.Slice((*string)(unsafe.Add(j.src, s+i*j.a.s)), nb))
		}
		return
	}
	size := nb * int64(unsafe.Sizeof(*new(W)))
	switch way := j.way(d, na, size); {
	case kernels.Move == nil || way == straight && size > longRow:
		moveSpans(j.dst, j.src, d, s, na, j.a.d, j.a.s, size)
	case way == straight:
		kernels.Move(ptr(j.dst, d), ptr(j.src, s), j.a.d, j.a.s, size, na)
	case way == streamed:
		kernels.Stream(ptr(j.dst, d), ptr(j.src, s), j.a.d, j.a.s, size, na)
	default:
		buf := room(&sc.tile, na*size)
		kernels.Move((*byte)(buf), ptr(j.src, s), size, j.a.s, size, na)
		kernels.Stream(ptr(j.dst, d), (*byte)(buf), 0, 0, na*size, 1)
	}
}

// A way is how a block of dense rows gets to the destination.
type way uint8

const (
	straight way = iota // through the caches
	streamed            // past them
	staged              // the same, from a buffer in L1, where the block is put together
)

// way chooses one for na rows of size bytes at d. Streaming pays for whole cache
// lines only.
func (j *job) way(d, na, size int64) way {
	switch {
	case kernels.Stream == nil || j.bytes < streamBytes:
		return straight
	case size >= streamRow || size >= 2*cacheLine && (int64(uintptr(j.dst))|d|j.a.d|size)%cacheLine == 0:
		return streamed
	case j.a.d == size && na*size >= streamRow:
		return staged
	}
	return straight
}

func ptr(p unsafe.Pointer, off int64) *byte { return (*byte)(unsafe.Add(p, off)) }

// moveSpans moves n runs of size bytes. Short ones are moved by two words that
// may overlap in the middle, which is cheaper than a call of memmove each.
func moveSpans(dst, src unsafe.Pointer, d, s, n, dStep, sStep, size int64) {
	switch {
	case size > 256 || size < 2:
		for range n {
			copy(span(dst, d, size), span(src, s, size))
			d += dStep
			s += sStep
		}
	case size >= 16:
		last := size - 16
		for range n {
			for at := int64(0); at < last; at += 16 {
				*(*[16]byte)(unsafe.Add(dst, d+at)) = *(*[16]byte)(unsafe.Add(src, s+at))
			}
			*(*[16]byte)(unsafe.Add(dst, d+last)) = *(*[16]byte)(unsafe.Add(src, s+last))
			d += dStep
			s += sStep
		}
	case size >= 8:
		last := size - 8
		for range n {
			x, y := load64(src, s), load64(src, s+last)
			store64(dst, d, x)
			store64(dst, d+last, y)
			d += dStep
			s += sStep
		}
	case size >= 4:
		last := size - 4
		for range n {
			x, y := load32(src, s), load32(src, s+last)
			store32(dst, d, x)
			store32(dst, d+last, y)
			d += dStep
			s += sStep
		}
	default: // 2 or 3
		last := size - 1
		for range n {
			x, y, z := load8(src, s), load8(src, s+1), load8(src, s+last)
			store8(dst, d, x)
			store8(dst, d+1, y)
			store8(dst, d+last, z)
			d += dStep
			s += sStep
		}
	}
}

func load32(p unsafe.Pointer, off int64) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, off))[:])
}

func store32(p unsafe.Pointer, off int64, v uint32) {
	binary.LittleEndian.PutUint32((*[4]byte)(unsafe.Add(p, off))[:], v)
}
