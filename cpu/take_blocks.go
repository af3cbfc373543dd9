package cpu

import (
	"math"
	"unsafe"
)

const (
	// takeBlock is the size, in bytes, of what is put together before it is streamed.
	takeBlock = 16 << 10
	// takeOffsets is how many units a block has: so many offsets are in L1.
	takeOffsets = 1 << 10
	// takeAhead is how many bytes of rows are on their way at once, if that is one row
	// at least; takeFetched how many rows that are at the most.
	takeAhead, takeFetched = 4 << 10, 64
	// leastTaken is what a unit costs, in bytes, however small it is.
	leastTaken = 16
)

// takenBlock is units that are evenly spaced in dst, with where they are in src.
type takenBlock struct {
	offsets   []int64 // of takeOffsets, behind which a kernel reads takeFetched more
	n, number int64   // how many units, and the number of the first one
	d, step   int64   // where that is in dst, and how far apart they are
	wrong     bool    // an index is out of range
}

// blocks takes the units with the numbers [lo, hi): first finds where some are in src,
// and then moves them, so that many are on their way at once.
func (t *take) blocks(lo, hi int64, sc *scratch) {
	room := room(&sc.stage, 8*(takeOffsets+takeFetched))
	b := takenBlock{offsets: unsafe.Slice((*int64)(room), takeOffsets), step: t.axes[t.rank-1].d}
	t.rows(lo, hi, func(p place, n, number int64) {
		for n > 0 {
			if b.n == takeOffsets || p.d != b.d+b.n*b.step {
				t.flush(&b, sc)
			}
			if b.n == 0 {
				b.d, b.number = p.d, number
			}
			some := min(n, takeOffsets-b.n)
			t.locate(&b, p, some)
			p.move(&t.axes[t.rank-1], some)
			n, number = n-some, number+some
		}
	})
	t.flush(&b, sc)
}

// locate adds n units along the innermost axis to a block.
func (t *take) locate(b *takenBlock, p place, n int64) {
	x := &t.axes[t.rank-1]
	to := b.offsets[b.n : b.n+n]
	b.n += n
	if x.s == 0 {
		for i := range to {
			to[i] = p.s
		}
	} else {
		for i := range to {
			to[i] = p.s + int64(i)*x.s
		}
	}
	for k := range t.by {
		by := &t.by[k]
		done := int64(0)
		if x.a == 1 && n >= 8 && kernels.Take != nil && by.Extent <= math.MaxInt32 && magnitude(by.Stride) <= math.MaxInt32 {
			done = n &^ 7
			if kernel := kernels.Offsets64; t.atBits == 64 {
				b.wrong = b.wrong || kernel(&to[0], ptr(t.at, 8*(p.a+by.Offset)), done, by.Extent, by.Stride) != 0
			} else {
				kernel := kernels.Offsets32
				b.wrong = b.wrong || kernel(&to[0], ptr(t.at, 4*(p.a+by.Offset)), done, by.Extent, by.Stride) != 0
			}
		}
		if !t.read(to[done:], p.a+by.Offset+done*x.a, x.a, by.Extent, by.Stride) {
			b.wrong = true
		}
	}
}

// read adds what indices say to offsets. False: one is out of range.
func (t *take) read(to []int64, a, step, extent, stride int64) bool {
	beyond := uint64(0)
	for i := range to {
		var index int64
		if t.atBits == 64 {
			index = int64(load64(t.at, 8*a))
		} else {
			index = int64(int32(load32(t.at, 4*a)))
		}
		a += step
		index += extent & (index >> 63)
		beyond |= uint64(index) | uint64(extent-1-index)
		to[i] += index * stride
	}
	return int64(beyond) >= 0
}

// flush moves the units of a block, and empties it.
func (t *take) flush(b *takenBlock, sc *scratch) {
	switch {
	case b.n == 0:
	case b.wrong:
		t.rows(b.number, b.number+b.n, t.unitRow)
	case kernels.Take == nil:
		t.moveUnits(b)
	default:
		t.moveVectors(b, sc)
	}
	b.n, b.wrong = 0, false
}

// moveVectors moves the units of a block by kernels.
func (t *take) moveVectors(b *takenBlock, sc *scratch) {
	src, offsets := (*byte)(t.src), &b.offsets[0]
	ahead := min(max(takeAhead/t.size, 1), takeFetched)
	past := t.bytes >= streamBytes
	switch {
	case past && (int64(uintptr(t.dst))|b.d|b.step|t.size)%cacheLine == 0:
		kernels.Take(ptr(t.dst, b.d), src, offsets, b.step, t.size, b.n, ahead, true)
	case past && (t.size >= streamRow || b.step == t.size && t.size*b.n >= streamRow):
		some := takeBlock / t.size
		buf := (*byte)(room(&sc.tile, takeBlock))
		for lo := int64(0); lo < b.n; lo += some {
			n := min(some, b.n-lo)
			kernels.Take(buf, src, &b.offsets[lo], t.size, t.size, n, ahead, false)
			if b.step == t.size {
				kernels.Stream(ptr(t.dst, b.d+lo*b.step), buf, 0, 0, n*t.size, 1)
			} else {
				kernels.Stream(ptr(t.dst, b.d+lo*b.step), buf, b.step, t.size, t.size, n)
			}
		}
	default:
		kernels.Take(ptr(t.dst, b.d), src, offsets, b.step, t.size, b.n, ahead, false)
	}
}

// moveUnits is moveVectors without any.
func (t *take) moveUnits(b *takenBlock) {
	offsets := b.offsets[:b.n]
	switch {
	case t.size*8 != int64(t.bits):
		for i, s := range offsets {
			moveSpans(t.dst, t.src, b.d+int64(i)*b.step, s, 1, 0, 0, t.size)
		}
	case t.bits == 8:
		moveWords[uint8](t, b.d, b.step, offsets)
	case t.bits == 16:
		moveWords[uint16](t, b.d, b.step, offsets)
	case t.bits == 32:
		moveWords[uint32](t, b.d, b.step, offsets)
	case t.bits == 64:
		moveWords[uint64](t, b.d, b.step, offsets)
	default:
		moveWords[[2]uint64](t, b.d, b.step, offsets)
	}
}

// moveWords moves words that are steps apart in dst.
func moveWords[W word](t *take, d, step int64, offsets []int64) {
	for _, s := range offsets {
		store(t.dst, d, load[W](t.src, s))
		d += step
	}
}
