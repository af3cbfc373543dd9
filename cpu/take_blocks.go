package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/layout"
)

const (
	// takeBlock is the size, in bytes, of the buffer that is streamed.
	takeBlock = 16 << 10
	// takeOffsets is the number of units of a block; their offsets stay in L1.
	takeOffsets = 1 << 10
	// takeAhead is the number of bytes of rows in flight, at least one row; takeFetched is the
	// most rows in flight.
	takeAhead, takeFetched = 4 << 10, 64
	// fewTaken is the number of words below which a block does not pay off.
	fewTaken = 16
	// mostTable is the size of the largest table that is prefetched: a part of it with every
	// tableUnits units of the row before. tableRows is the number of rows of units that a
	// goroutine processes at a time; the first row's table is not prefetched.
	mostTable, tableUnits, tableRows = 128 << 10, 256, 8
	// leastTaken is the least cost of a unit, in bytes.
	leastTaken = 16
)

// takenBlock has units evenly spaced in dst, with their offsets in src; for a put, the reverse.
type takenBlock struct {
	offsets   []int64 // takeOffsets of them; a kernel reads takeFetched more
	n, number int64   // number of units, and the first one's number
	d, step   int64   // the first unit's offset on the evenly spaced side, and the step
	wrong     bool    // an index is out of range
	classes   classSet
	even      []int64 // for a put: the offsets in src

	// The start of the part of the next table to prefetch with these units, and its size in
	// bytes.
	next, table int64
}

// sides returns a location's offset on the side where units are evenly spaced, and on the side
// that an index moves.
func (t *take) sides(p location) (even, moved int64) {
	if t.put {
		return p.s, p.d
	}
	return p.d, p.s
}

// blocks moves the units with the numbers [lo, hi): it first computes the offsets of some units,
// then moves these, so that many are in flight. For a put, it moves the units of some classes.
func (t *take) blocks(lo, hi int64, classes classSet, sc *scratch) {
	room := unsafe.Slice((*int64)(room(&sc.stage, 8*(2*takeOffsets+takeFetched))), 2*takeOffsets+takeFetched)
	x := &t.axes[t.rank-1]
	b := takenBlock{offsets: room[:takeOffsets], even: room[takeOffsets+takeFetched:], classes: classes}
	b.step, _ = t.sides(location{d: x.d, s: x.s})
	b.table = t.sharedTable()
	t.rows(lo, hi, func(p location, n, number int64) {
		for n > 0 {
			even, _ := t.sides(p)
			if b.n == takeOffsets || even != b.d+b.n*b.step {
				t.flush(&b, sc)
			}
			if b.n == 0 {
				b.d, b.number = even, number
				if b.table > 0 {
					_, row := t.sides(p)
					_, next := t.sides(location{d: t.axes[t.rank-2].d, s: t.axes[t.rank-2].s})
					b.next = row + next + number%x.n*b.table/x.n
				}
			}
			some := min(n, takeOffsets-b.n)
			t.locate(&b, p, some)
			p.move(&t.axes[t.rank-1], some)
			n, number = n-some, number+some
		}
	})
	t.flush(&b, sc)
}

// sharedTable returns the size in bytes of the table that all units along the innermost axis come
// from, or go to, if they reach most of its lines and it fits the second-level cache. 0: there is
// none.
func (t *take) sharedTable() int64 {
	x := &t.axes[t.rank-1]
	if kernels.Fetch == nil || t.rank < 2 || x.a == 0 || len(t.by) != 1 {
		return 0
	}
	_, here := t.sides(location{d: x.d, s: x.s})
	_, next := t.sides(location{d: t.axes[t.rank-2].d, s: t.axes[t.rank-2].s})
	if here != 0 || next == 0 {
		return 0
	}
	by := &t.by[0]
	if by.Stride < 0 || by.Stride > mostTable || by.Extent > mostTable || by.Extent*by.Stride > min(mostTable, x.n*cacheLine/2) {
		return 0
	}
	return by.Extent * by.Stride
}

// takeUnits is kernels.Take for units of a block, from one on. Together with each group of units
// it prefetches an equal part of the next table: in sequence, not in the order of the indices.
func (t *take) takeUnits(b *takenBlock, from, n int64, dst *byte, step int64, past bool) {
	src := (*byte)(t.src)
	if b.table == 0 {
		ahead := min(max(takeAhead/t.size, 1), takeFetched)
		kernels.Take(dst, src, &b.offsets[from], step, t.size, n, ahead, past)
		return
	}
	for at := int64(0); at < n; at += tableUnits {
		t.fetchTable(b, from+at)
		kernels.Take(ptr(unsafe.Pointer(dst), at*step), src, &b.offsets[from+at], step, t.size, min(n-at, tableUnits), 0, past)
	}
}

// fetchTable prefetches the part of the next table for tableUnits units of a block, from the first
// on.
func (t *take) fetchTable(b *takenBlock, first int64) {
	moved, in := t.src, t.axes[t.rank-1].n
	if t.put {
		moved = t.dst
	}
	lo, hi := first*b.table/in, (first+tableUnits)*b.table/in
	kernels.Fetch((*byte)(moved), b.next+lo, hi-lo)
}

// locate adds n units along the innermost axis to a block.
func (t *take) locate(b *takenBlock, p location, n int64) {
	x := &t.axes[t.rank-1]
	to := b.offsets[b.n : b.n+n]
	b.n += n
	_, first := t.sides(p)
	_, step := t.sides(location{d: x.d, s: x.s})
	if step == 0 {
		to[0] = first
		for i := 1; i < len(to); i *= 2 {
			copy(to[i:], to[:i])
		}
	} else {
		for i := range to {
			to[i] = first + int64(i)*step
		}
	}
	for k := range t.by {
		by := &t.by[k]
		a, done := p.a+by.Offset, int64(0)
		if kernel := t.kernel(by); kernel != nil && x.a == 1 {
			done = n &^ 7
			wrong := kernel(&to[0], ptr(t.at, a*int64(t.atBits/8)), done, by.Extent, by.Stride)
			b.wrong = b.wrong || wrong != 0
		}
		if !t.read(to[done:], a+done*x.a, x.a, by) {
			b.wrong = true
		}
	}
}

// kernel returns the kernel for an index, or nil.
func (t *take) kernel(by *layout.Index) func(to *int64, at *byte, n, extent, stride int64) int64 {
	switch {
	case by.Extent > math.MaxInt32 || nest.Magnitude(by.Stride) > math.MaxInt32 || by.OutOfRange >= layout.OutOfRangeClampZero:
		return nil
	case t.atBits == 64:
		return kernels.Offsets64
	}
	return kernels.Offsets32
}

// read adds the offsets of indices, which are a step apart in at, from position a on. False: one
// is out of range.
func (t *take) read(to []int64, a, step int64, by *layout.Index) bool {
	outside := int64(0) // negative: an index was out of range
	for i := range to {
		var index int64
		if t.atBits == 64 {
			index = int64(load64(t.at, 8*a))
		} else {
			index = int64(int32(load32(t.at, 4*a)))
		}
		a += step
		if by.OutOfRange == layout.OutOfRangeClampZero {
			index &^= index >> 63
		}
		if by.OutOfRange != layout.OutOfRangeStrict {
			index += by.Extent & (index >> 63)
		}
		outside |= index | (by.Extent - 1 - index)
		to[i] += index * by.Stride
	}
	return outside >= 0
}

// flush moves the units of a block, and empties it.
func (t *take) flush(b *takenBlock, sc *scratch) {
	switch {
	case b.n == 0:
	case b.wrong:
		t.rows(b.number, b.number+b.n, func(p location, n, number int64) { t.unitsOf(b.classes, p, n, number) })
	case t.put:
		t.putUnits(b)
	case kernels.Take == nil:
		t.moveUnits(b)
	default:
		t.moveVectors(b, sc)
	}
	b.n, b.wrong = 0, false
}

// moveVectors moves a block's units with kernels.
func (t *take) moveVectors(b *takenBlock, sc *scratch) {
	past := t.past()
	switch {
	case past && (int64(uintptr(t.dst))|b.d|b.step|t.size)%cacheLine == 0:
		t.takeUnits(b, 0, b.n, ptr(t.dst, b.d), b.step, true)
	case past && (t.size >= streamRow || b.step == t.size && t.size*b.n >= streamRow):
		buf, some := (*byte)(room(&sc.tile, takeBlock)), takeBlock/t.size
		for lo := int64(0); lo < b.n; lo += some {
			n, size := min(some, b.n-lo), t.size
			t.takeUnits(b, lo, n, buf, size, false)
			if b.step == size {
				n, size = 1, n*size
			}
			kernels.Stream(ptr(t.dst, b.d+lo*b.step), buf, b.step, size, size, n)
		}
	default:
		t.takeUnits(b, 0, b.n, ptr(t.dst, b.d), b.step, false)
	}
}

// moveUnits moves them without kernels.
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

// moveWords moves words that are a step apart in dst.
func moveWords[W word](t *take, d, step int64, offsets []int64) {
	for _, s := range offsets {
		store(t.dst, d, load[W](t.src, s))
		d += step
	}
}
