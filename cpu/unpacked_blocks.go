package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/layout"
)

const (
	// unpackedElements is the approximate number of bytes of a block in the buffers: they stay
	// in L1.
	unpackedElements = 4096
	// unpackedRun is the preferred length of its runs.
	unpackedRun = 512
	// unpackedBytes is the size of a copy from which unpacking pays off.
	unpackedBytes = 2 << 10
	// leastUnpackedRun is the fewest elements of a run.
	leastUnpackedRun = 8
	// mostUnpackedAxes is the most axes of a block.
	mostUnpackedAxes = 12
	// unpackedCost is the cost of a block: see planner.
	unpackedCost = 2
)

// unpackedBlocks moves elements below a byte whose order changes within words: a block of the
// loops, with runs on both sides, is unpacked to bytes, copied as bytes by a separate job, and
// packed. job.a, job.b and the outer axes are the axes that a block does not contain whole; of the
// outer ones it has one index.
type unpackedBlocks struct {
	id   uint64 // of the plan
	axes [mostUnpackedAxes]unpackedAxis
	rank int
	// The sizes of the buffers in bytes, the position of the first element in the source's
	// buffer, and the bytes of a run there.
	src, dst, first, run int64
	pairs                pairing
}

func (*unpackedBlocks) name() string { return "unpacked blocks" }

// unpackedAxis is an axis of a block: its axis in the job, the number n of that axis's indices
// that the block has, and its steps in the buffers.
type unpackedAxis struct {
	axis
	cut        cutting
	halves     bool // of pairing
	inSrc, inD bool // in runs of the source, and of the destination
	bufD, bufS int64
}

// cutting says which of the job's cut axes an axis of a block is.
type cutting uint8

const (
	uncut cutting = iota
	cutA
	cutB
)

// unpackedWork is a goroutine's data for such blocks.
type unpackedWork struct {
	id    uint64 // of the plan that the job was made for
	job   job
	last  job   // for pairs: to the destination
	dOff  int64 // the last job's offset, for a block at 0
	sc    scratch
	src   []byte
	dst   []byte
	index [maxAxes]int64
}

var unpackedIDs atomic.Uint64

// planUnpacked plans such blocks.
func planUnpacked(j *job, _ int64) (mover, int64, refusal) {
	switch {
	case j.bytes < unpackedBytes:
		return nil, 0, tooSmall
	case j.axes[j.rank-1].D != 1:
		return nil, 0, notDense
	}
	b := &j.memory.unpacked
	rank, axes := j.rank, [mostUnpackedAxes]axis{}
	copy(axes[:], j.axes[:rank])
	if rank < mostUnpackedAxes && b.pairs.plan(j) && b.grow(j, 2) {
		return nibbleBlocks{b}, unpackedCost, ""
	}
	if b.pairs = (pairing{halves: -1}); rank <= mostUnpackedAxes {
		j.rank = copy(j.axes[:], axes[:rank])
	}
	if !b.grow(j, 1) {
		return nil, 0, shortRuns
	}
	return b, unpackedCost, ""
}

// grow chooses the extents of blocks; a byte, or otherwise an element, is unit steps. False: runs
// are too short, or too many axes are cut.
func (b *unpackedBlocks) grow(j *job, unit int64) bool {
	g := blockGrowth{pair: &j.pair, unit: unit, alike: b.pairs.on}
	for k := range j.rank {
		g.ext[k] = 1
	}
	if h := b.pairs.halves; h >= 0 {
		g.ext[h] = 2
	}
	// Runs of both sides first, then longer ones while a block has room.
	run, most := unpackedRun*unit, unpackedElements*unit
	g.growRun(run)
	all := g.growSpan(run)
	g.growRun(max(run, most/all*run))
	all = g.growSpan(run)
	g.growSpan(max(run, most/all*run))
	return b.load(j, &g)
}

// blockGrowth is the extents of a block along the axes of a pair.
type blockGrowth struct {
	*pair
	ext   [maxAxes]int64
	unit  int64
	alike bool // all blocks have the same extents
}

// growRun extends a block along the axes of the destination's runs, to runs of target elements.
func (g *blockGrowth) growRun(target int64) {
	run := g.unit
	for k := g.rank - 1; k >= 0 && g.axes[k].D == run && run < target; k-- {
		g.ext[k] = g.extent(g.axes[k].N, g.ext[k], target/run)
		run *= g.ext[k]
		if g.ext[k] < g.axes[k].N {
			break
		}
	}
}

// extent is the extent along an axis of n indices for a block that has have of them and wants
// want.
func (g *blockGrowth) extent(n, have, want int64) int64 {
	if g.alike {
		want = min(want, n)
		for want > have && n%want > 0 {
			want--
		}
		return max(want, have)
	}
	if want > 16 {
		want &^= 15
	}
	if want = max(want, have); want*4 > n*3 && n <= 2*want {
		return n
	}
	return min(want, n)
}

// growSpan extends a block along the axes of the source's runs, whose gaps may be as long as the
// data between them. It returns the number of the block's elements.
func (g *blockGrowth) growSpan(target int64) int64 {
	all := g.unit
	for k := range g.rank {
		all *= g.ext[k]
	}
	g.eachNear(func(k int, span int64) bool {
		x := &g.axes[k]
		if span >= target {
			return false
		}
		old := g.ext[k]
		want := min(max(1, target/nest.Magnitude(x.S)), max(1, unpackedElements*g.unit/(all/old)))
		g.ext[k] = g.extent(x.N, old, want)
		all = all / old * g.ext[k]
		return g.ext[k] == x.N
	})
	return all
}

// eachNear visits the axes of the source's runs, innermost first, while visit returns true, with
// the number of elements that the earlier axes span.
func (g *blockGrowth) eachNear(visit func(k int, span int64) bool) {
	var used uint64
	for span := g.unit; ; {
		near := -1
		for k := range g.rank {
			if s := nest.Magnitude(g.axes[k].S); used>>k&1 == 0 && s > 0 && s <= 2*span && (near < 0 || s < nest.Magnitude(g.axes[near].S)) {
				near = k
			}
		}
		if near < 0 {
			return
		}
		used |= 1 << near
		on := visit(near, span)
		span += (g.ext[near] - 1) * nest.Magnitude(g.axes[near].S)
		if !on {
			return
		}
	}
}

// load sets a plan's blocks, and the loops around them. False: runs are too short, or too many
// axes are cut.
func (b *unpackedBlocks) load(j *job, g *blockGrowth) bool {
	b.id, b.rank = unpackedIDs.Add(1), 0
	near, srcRun := uint64(0), g.unit
	g.eachNear(func(k int, span int64) bool {
		near |= 1 << k
		srcRun = span + (g.ext[k]-1)*nest.Magnitude(j.axes[k].S)
		return true
	})
	dstRun, dense := g.unit, true
	alongA, alongB := axis{N: 1}, axis{N: 1}
	blkA, blkB := int64(1), int64(1)
	for k := j.rank - 1; k >= 0; k-- {
		x := unpackedAxis{axis: j.axes[k], inSrc: near>>k&1 != 0, halves: k == b.pairs.halves}
		dense = dense && x.D == dstRun && g.ext[k] > 1
		if g.ext[k] == 1 {
			continue
		}
		if x.inD = dense; dense {
			dstRun *= g.ext[k]
		}
		if g.ext[k] < x.N {
			dense = false
			switch {
			case alongB.N == 1:
				x.cut, alongB, blkB = cutB, x.axis, g.ext[k]
			case alongA.N == 1:
				x.cut, alongA, blkA = cutA, x.axis, g.ext[k]
			default:
				return false
			}
		}
		if x.N = g.ext[k]; b.rank == mostUnpackedAxes {
			return false
		}
		b.axes[b.rank] = x
		b.rank++
	}
	if dstRun < leastUnpackedRun || srcRun < leastUnpackedRun {
		return false
	}
	j.a, j.b = alongA, alongB
	b.bufferSteps(srcRun, dstRun, g.unit)
	j.nOut = 0
	for k := range j.rank {
		if g.ext[k] == 1 {
			j.outer[j.nOut] = j.axes[k]
			j.nOut++
		}
	}
	j.divide(blkA, blkB)
	return true
}

// bufferSteps computes the layout of the runs in the buffers, each on its own line.
func (b *unpackedBlocks) bufferSteps(srcRun, dstRun, unit int64) {
	pitch := func(run int64) int64 { return (run+cacheLine-1)&^(cacheLine-1) + cacheLine }
	b.run, b.first = srcRun/unit, 0
	b.src, b.dst = pitch(b.run), pitch(dstRun)
	for i := range b.rank {
		x := &b.axes[i]
		if x.bufS = x.S; !x.inSrc && !x.halves {
			x.bufS = b.src
			b.src *= x.N
		} else if x.S < 0 {
			b.first -= (x.N - 1) * x.S
		}
		if x.bufD = x.D; !x.inD {
			x.bufD = b.dst
			b.dst *= x.N
		}
	}
	if b.pairs.on {
		b.pairs.high, b.pairs.group = b.src, b.groups()
		b.dst = 1
		for i := range b.rank {
			b.dst *= b.axes[i].N
		}
		b.dst += cacheLine
	}
}

// bytes creates the job that copies a block's bytes between the buffers.
func (b *unpackedBlocks) bytes(j *job) {
	var dims, ds, ss [mostUnpackedAxes]int64
	for i := range b.rank {
		x := &b.axes[i]
		dims[i], ds[i], ss[i] = x.N, x.bufD, x.bufS
	}
	copyBytes(j, dims[:b.rank], ds[:b.rank], ss[:b.rank], b.first)
}

// copyBytes creates a job that copies bytes out of a buffer.
func copyBytes(j *job, dims, ds, ss []int64, start int64) {
	// They cannot fail: these are positions of bytes.
	d, _ := layout.Strided(dims, ds, -lowest(dims, ds))
	s, _ := layout.Strided(dims, ss, start)
	f := form{op: opCopy, align: 16, dst: layout.Uint8, src: layout.Uint8}
	if !looseAlignment {
		f.align = 1
	}
	j.prepare(&f, &d, &s)
	j.dOff += lowest(dims, ds)
	j.plan()
	j.memory.tile.reach += cacheLine // buffers are that much larger
}

// lowest returns the lowest offset, relative to the first element.
func lowest(dims, steps []int64) int64 {
	low := int64(0)
	for i, n := range dims {
		low += min(0, (n-1)*steps[i])
	}
	return low
}

// work returns a goroutine's data, with the jobs of the plan.
func (b *unpackedBlocks) work(sc *scratch) *unpackedWork {
	if sc.unpacked == nil {
		sc.unpacked = new(unpackedWork)
	}
	work := sc.unpacked
	if work.id != b.id {
		work.id = b.id
		if b.pairs.on {
			b.pairedBytes(work)
		} else {
			b.bytes(&work.job)
		}
	}
	return work
}

// move moves a block with na and nb indices along job.a and job.b.
func (b *unpackedBlocks) move(j *job, d, s, na, nb int64, sc *scratch) {
	work := b.work(sc)
	from, to := room(&work.src, b.src), room(&work.dst, b.dst)
	b.unpack(j, from, s, na, nb, work)
	work.job.runBetween(to, from, &work.sc)
	b.pack(j, to, d, na, nb, work)
}

// runBetween runs a planned job from one address to another.
func (j *job) runBetween(dst, src unsafe.Pointer, sc *scratch) {
	j.dst, j.src = dst, src
	j.part(0, j.units, sc)
	j.drop()
}

// unpack unpacks a block's elements to bytes.
func (b *unpackedBlocks) unpack(j *job, buf unsafe.Pointer, s, na, nb int64, work *unpackedWork) {
	w := int64(j.dBits)
	low, run := int64(0), int64(1)
	for i := range b.rank {
		if x := &b.axes[i]; x.inSrc {
			by := (x.extent(na, nb) - 1) * x.S
			low += min(by, 0)
			run += nest.Magnitude(by)
		}
	}
	index := work.index[:b.rank]
	at, to := s+low, b.first+low
	for more := true; more; {
		unpack(buf, to, j.src, at*w, run, w, meaningOf(int(w), false), false)
		more = false
		for i := range b.rank {
			if x := &b.axes[i]; !x.inSrc && x.next(&index[i], &at, &to, x.S, x.bufS, x.extent(na, nb)) {
				more = true
				break
			}
		}
	}
}

// pack writes a block's elements.
func (b *unpackedBlocks) pack(j *job, buf unsafe.Pointer, d, na, nb int64, work *unpackedWork) {
	w := int64(j.dBits)
	run := int64(1)
	for i := range b.rank {
		if x := &b.axes[i]; x.inD {
			run *= x.extent(na, nb)
		}
	}
	index := work.index[:b.rank]
	at, from := d, int64(0)
	for more := true; more; {
		if lo, hi := max(at, j.clipLo), min(at+run, j.clipHi); lo < hi {
			pack(j.dst, lo*w, buf, from+lo-at, hi-lo, w, j.past)
		}
		more = false
		for i := range b.rank {
			if x := &b.axes[i]; !x.inD && x.next(&index[i], &at, &from, x.D, x.bufD, x.extent(na, nb)) {
				more = true
				break
			}
		}
	}
}

// extent returns the number of indices of an axis in a block.
func (x *unpackedAxis) extent(na, nb int64) int64 {
	switch x.cut {
	case cutA:
		return na
	case cutB:
		return nb
	}
	return x.N
}

// next moves to the next of n indices of an axis, or back to the first and returns false.
func (x *unpackedAxis) next(index, at, buf *int64, step, bufStep, n int64) bool {
	if *index++; *index < n {
		*at += step
		*buf += bufStep
		return true
	}
	*index = 0
	*at -= (n - 1) * step
	*buf -= (n - 1) * bufStep
	return false
}
