package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/nest"
)

// nibbleBlocks moves blocks of nibbles without unpacking. It first combines the nibbles of each of
// the destination's bytes, which are a step apart in the source, separately for the low and the
// high halves of the source's bytes. The rest is a copy of bytes, straight to the destination.
type nibbleBlocks struct{ *unpackedBlocks }

func (nibbleBlocks) name() string { return "blocks of nibbles" }

// pairing says how the bytes of blocks are made.
type pairing struct {
	on bool
	// step is the distance from the first nibble of a byte to its second one: even, or -1 if
	// the halves of bytes change places.
	step int64
	// halves is the axis over low and high halves, -1 if only one of them is copied.
	halves int
	back   bool  // high halves come first
	odd    bool  // the first nibble is in a high half
	high   int64 // distance in the buffer from bytes of low halves to bytes of high halves
	group  int64 // see groups
}

// plan rewrites the loops over nibbles as loops over the destination's bytes: steps still count
// nibbles, but all are even. One axis, with a step of 0, is over the halves of the source's bytes.
// False: bytes of either side are not whole, and the loops are unchanged.
func (p *pairing) plan(j *job) bool {
	p.on = false
	last := j.rank - 1
	in := j.axes[last]
	if j.dBits != 4 || in.D != 1 || in.N&1 != 0 || in.S&1 != 0 && in.S != -1 || j.dOff&1 != 0 || j.rank+1 > mostUnpackedAxes {
		return false
	}
	halves := -1
	for k := range j.rank {
		x := &j.axes[k]
		switch {
		case k < last && x.D&1 != 0:
			return false
		case nest.Magnitude(x.S) == 1:
			// Pairs begin in a low half or, backwards, in a high one.
			if halves >= 0 || x.N&1 != 0 || (x.S < 0) != (j.sOff&1 != 0) {
				return false
			}
			halves = k
		case x.S&1 != 0:
			return false
		}
	}
	*p = pairing{on: true, step: in.S, halves: -1, odd: j.sOff&1 != 0 && in.S != -1}
	var to [mostUnpackedAxes]axis
	n := 0
	add := func(x axis) {
		if x.N > 1 {
			to[n] = x
			n++
		}
	}
	for k, x := range j.axes[:j.rank] {
		switch {
		case k == last:
			add(axis{N: x.N / 2, D: 2, S: 2 * x.S})
		case k == halves:
			add(axis{N: x.N / 2, D: 2 * x.D, S: 2 * x.S})
			add(axis{N: 2, D: x.D, S: 0})
			p.halves, p.back = n-1, x.S < 0
		default:
			add(x)
		}
	}
	j.rank = copy(j.axes[:], to[:n])
	return n > 0
}

// pairedBytes makes the jobs that copy a block's bytes out of the buffer: one job, or a second one
// before it that copies to a second buffer.
func (b *unpackedBlocks) pairedBytes(work *unpackedWork) {
	p := &b.pairs
	var dims, ds, ss, ms [mostUnpackedAxes + 1]int64
	start := b.first / 2
	if p.odd {
		start += p.high
	}
	for i := range b.rank {
		x := &b.axes[i]
		dims[i], ds[i], ss[i] = x.N, x.D/2, x.bufS
		switch {
		case x.halves && p.back:
			ss[i] = -p.high
		case x.halves:
			ss[i] = p.high
		case x.inSrc:
			ss[i] = x.S / 2
		}
	}
	n := b.rank
	if p.group > 0 {
		// In the second buffer neighbours of the destination are together, in groups that
		// fill a vector together with the other axes' elements.
		g, step := p.group, p.group
		for i := 1; i < n; i++ {
			ms[i] = step
			step *= dims[i]
		}
		dims[n], ds[n], ss[n], ms[n] = dims[0]/g, g, g*ss[0], step
		dims[0], ms[0] = g, 1
		n++
		copyBytes(&work.job, dims[:n], ms[:n], ss[:n], start)
		copyBytes(&work.last, dims[:n], ds[:n], ms[:n], 0)
	} else {
		copyBytes(&work.last, dims[:n], ds[:n], ss[:n], start)
	}
	work.dOff = work.last.dOff
}

// groups returns the number of destination neighbours that form an element of a second step, a
// transpose of whole vectors, if a transpose of bytes would have few columns; otherwise 0.
func (b *unpackedBlocks) groups() int64 {
	const vector = 16
	x, columns := &b.axes[0], int64(1)
	for i := 1; i < b.rank; i++ {
		columns *= b.axes[i].N
	}
	if kernels.Permute == nil || x.halves || x.D != 2 || columns < 2 || columns >= vector || vector%columns > 0 || x.N*columns%vector > 0 || x.N < 2*vector {
		return 0
	}
	return vector / columns
}

// move moves a block; all blocks have the same extents.
func (b nibbleBlocks) move(j *job, d, s, _, _ int64, sc *scratch) {
	p, work := &b.pairs, b.work(sc)
	buf := room(&work.src, p.high+b.src)
	index := work.index[:b.rank]
	at, to := s>>1-b.first/2, int64(0)
	for more := true; more; {
		if p.step == -1 {
			swapNibbles(buf, to, j.src, at, b.run)
		} else {
			pairNibbles(buf, to, to+p.high, j.src, at, at+p.step/2, b.run)
		}
		more = false
		for i := range b.rank {
			if x := &b.axes[i]; !x.inSrc && !x.halves && x.next(&index[i], &at, &to, x.S/2, x.bufS, x.N) {
				more = true
				break
			}
		}
	}
	if p.group > 0 {
		from := buf
		buf = room(&work.dst, b.dst)
		work.job.runBetween(buf, from, &work.sc)
	}
	work.last.dOff = work.dOff + d/2
	work.last.runBetween(j.dst, buf, &work.sc)
}

// pairNibbles writes n combined low halves of pairs of bytes, and n of high halves.
func pairNibbles(buf unsafe.Pointer, low, high int64, src unsafe.Pointer, first, second, n int64) {
	if kernels.PairNibbles != nil && n >= kernels.PairWidth {
		kernels.PairNibbles(ptr(buf, low), ptr(buf, high), ptr(src, first), ptr(src, second), n)
		return
	}
	for ; n >= 8; n -= 8 {
		x, y := load64(src, first), load64(src, second)
		store64(buf, low, x&mask4|y&mask4<<4)
		store64(buf, high, x>>4&mask4|y&^uint64(mask4))
		low, high, first, second = low+8, high+8, first+8, second+8
	}
	for i := range n {
		x, y := load8(src, first+i), load8(src, second+i)
		store8(buf, low+i, x&15|y<<4)
		store8(buf, high+i, x>>4|y&^15)
	}
}

// swapNibbles writes n bytes with their halves swapped.
func swapNibbles(buf unsafe.Pointer, to int64, src unsafe.Pointer, at, n int64) {
	if kernels.SwapNibbles != nil && n >= kernels.PairWidth {
		kernels.SwapNibbles(ptr(buf, to), ptr(src, at), n)
		return
	}
	for ; n >= 8; n -= 8 {
		x := load64(src, at)
		store64(buf, to, x>>4&mask4|x&mask4<<4)
		to, at = to+8, at+8
	}
	for i := range n {
		x := load8(src, at+i)
		store8(buf, to+i, x>>4|x<<4)
	}
}
