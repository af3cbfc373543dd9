package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/layout"
)

// Elements below a byte whose order changes within words: a box of the loops, with runs on
// both sides, is unpacked to bytes, copied as such by a job of its own, and packed.

const (
	// boxElements is about how many bytes a box has in the buffers: they stay in L1.
	boxElements = 4096
	// boxRun is how many its runs should have.
	boxRun = 512
	// boxBytes is the size of a copy from which boxes pay.
	boxBytes = 2 << 10
	// leastBoxRun is the fewest elements of a run.
	leastBoxRun = 8
	// mostBoxAxes is the most axes of a box.
	mostBoxAxes = 12
)

// boxes says how a job is cut into boxes. The axes of the job that a box does not have
// whole are job.a and job.b, and those of which it has one index.
type boxes struct {
	on   bool
	id   uint64 // of the plan
	axes [mostBoxAxes]boxAxis
	rank int
	// Bytes of the buffers, where the first element is in the source's, and bytes of a run
	// there.
	src, dst, first, run int64
	pairs                pairing
}

// boxAxis is an axis of a box: the job's, of which the box has the first n, and its steps
// in the buffers.
type boxAxis struct {
	axis
	cut        cutting
	halves     bool // of pairing
	inSrc, inD bool // in runs of the source, and of the destination
	bufD, bufS int64
}

// cutting says which of its job's cut axes an axis of a box is.
type cutting uint8

const (
	uncut cutting = iota
	cutA
	cutB
)

// boxWork is what a goroutine needs for boxes.
type boxWork struct {
	id    uint64 // of the plan that the job was made for
	job   job
	last  job   // of boxes of pairs: to the destination
	dOff  int64 // the last job's, for a box at 0
	sc    scratch
	src   []byte
	dst   []byte
	index [maxAxes]int64
}

var boxIDs atomic.Uint64

// planBoxes plans boxes. False: they do not pay.
func (j *job) planBoxes() bool {
	if !j.packed || j.class == convert || j.bytes < boxBytes || j.axes[j.rank-1].d != 1 {
		return false
	}
	b := &j.boxes
	rank, axes := j.rank, [mostBoxAxes]axis{}
	copy(axes[:], j.axes[:rank])
	if rank < mostBoxAxes && j.planPairs() && j.growBoxes(2) {
		return true
	}
	if b.pairs = (pairing{halves: -1}); rank <= mostBoxAxes {
		j.rank = copy(j.axes[:], axes[:rank])
	}
	return j.growBoxes(1)
}

// growBoxes chooses the extents of boxes, where a byte, or else an element, has unit of
// what steps count.
func (j *job) growBoxes(unit int64) bool {
	var ext [maxAxes]int64
	for k := range j.rank {
		ext[k] = 1
	}
	if h := j.boxes.pairs.halves; h >= 0 {
		ext[h] = 2
	}
	// Runs of both sides, and then longer ones as long as a box has room.
	run, most := boxRun*unit, boxElements*unit
	j.growRun(&ext, unit, run)
	all := j.growSpan(&ext, unit, run)
	j.growRun(&ext, unit, max(run, most/all*run))
	all = j.growSpan(&ext, unit, run)
	j.growSpan(&ext, unit, max(run, most/all*run))
	return j.loadBoxes(&ext, unit)
}

// growRun extends a box along the axes of the destination's runs, to runs of some
// elements.
func (j *job) growRun(ext *[maxAxes]int64, unit, target int64) {
	run := unit
	for k := j.rank - 1; k >= 0 && j.axes[k].d == run && run < target; k-- {
		ext[k] = j.boxExtent(j.axes[k].n, ext[k], target/run)
		run *= ext[k]
		if ext[k] < j.axes[k].n {
			break
		}
	}
}

// boxExtent is how much of an axis a box has that wants some of it. Boxes of pairs are
// all alike.
func (j *job) boxExtent(n, have, want int64) int64 {
	if j.boxes.pairs.on {
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

// growSpan extends a box along the axes of the source's runs, which may have gaps as
// long as what is between. It returns the elements of the box.
func (j *job) growSpan(ext *[maxAxes]int64, unit, target int64) int64 {
	all := unit
	for k := range j.rank {
		all *= ext[k]
	}
	j.eachNear(func(k int, span int64) bool {
		x := &j.axes[k]
		if span >= target {
			return false
		}
		old := ext[k]
		want := min(max(1, target/magnitude(x.s)), max(1, boxElements*unit/(all/old)))
		ext[k] = j.boxExtent(x.n, old, want)
		all = all / old * ext[k]
		return ext[k] == x.n
	}, ext, unit)
	return all
}

// eachNear visits the axes of the source's runs, the innermost first, as long as visit
// says, with the elements that those before span.
func (j *job) eachNear(visit func(k int, span int64) bool, ext *[maxAxes]int64, unit int64) {
	var used uint64
	for span := unit; ; {
		near := -1
		for k := range j.rank {
			if s := magnitude(j.axes[k].s); used>>k&1 == 0 && s > 0 && s <= 2*span && (near < 0 || s < magnitude(j.axes[near].s)) {
				near = k
			}
		}
		if near < 0 {
			return
		}
		used |= 1 << near
		on := visit(near, span)
		span += (ext[near] - 1) * magnitude(j.axes[near].s)
		if !on {
			return
		}
	}
}

// loadBoxes sets the boxes of a plan, and the loops around them. False: runs are too
// short, or too many axes are cut.
func (j *job) loadBoxes(ext *[maxAxes]int64, unit int64) bool {
	b := &j.boxes
	b.id, b.rank = boxIDs.Add(1), 0
	near, srcRun := uint64(0), unit
	j.eachNear(func(k int, span int64) bool {
		near |= 1 << k
		srcRun = span + (ext[k]-1)*magnitude(j.axes[k].s)
		return true
	}, ext, unit)
	dstRun, dense := unit, true
	alongA, alongB := axis{n: 1}, axis{n: 1}
	blkA, blkB := int64(1), int64(1)
	for k := j.rank - 1; k >= 0; k-- {
		x := boxAxis{axis: j.axes[k], inSrc: near>>k&1 != 0, halves: k == b.pairs.halves}
		dense = dense && x.d == dstRun && ext[k] > 1
		if ext[k] == 1 {
			continue
		}
		if x.inD = dense; dense {
			dstRun *= ext[k]
		}
		if ext[k] < x.n {
			dense = false
			switch {
			case alongB.n == 1:
				x.cut, alongB, blkB = cutB, x.axis, ext[k]
			case alongA.n == 1:
				x.cut, alongA, blkA = cutA, x.axis, ext[k]
			default:
				return false
			}
		}
		if x.n = ext[k]; b.rank == mostBoxAxes {
			return false
		}
		b.axes[b.rank] = x
		b.rank++
	}
	if dstRun < leastBoxRun || srcRun < leastBoxRun {
		return false
	}
	b.on, j.a, j.b = true, alongA, alongB
	b.bufferSteps(srcRun, dstRun, unit)
	j.nOut = 0
	for k := range j.rank {
		if ext[k] == 1 {
			j.outer[j.nOut] = j.axes[k]
			j.nOut++
		}
	}
	j.divide(blkA, blkB)
	return true
}

// bufferSteps lays the runs out in the buffers, each on a line of its own.
func (b *boxes) bufferSteps(srcRun, dstRun, unit int64) {
	pitch := func(run int64) int64 { return (run+cacheLine-1)&^(cacheLine-1) + cacheLine }
	b.run, b.first = srcRun/unit, 0
	b.src, b.dst = pitch(b.run), pitch(dstRun)
	for i := range b.rank {
		x := &b.axes[i]
		if x.bufS = x.s; !x.inSrc && !x.halves {
			x.bufS = b.src
			b.src *= x.n
		} else if x.s < 0 {
			b.first -= (x.n - 1) * x.s
		}
		if x.bufD = x.d; !x.inD {
			x.bufD = b.dst
			b.dst *= x.n
		}
	}
	if b.pairs.on {
		b.pairs.high, b.pairs.group = b.src, b.groups()
		b.dst = 1
		for i := range b.rank {
			b.dst *= b.axes[i].n
		}
		b.dst += cacheLine
	}
}

// bytes makes the job that copies a box's bytes between the buffers.
func (b *boxes) bytes(j *job) {
	var dims, ds, ss [mostBoxAxes]int64
	for i := range b.rank {
		x := &b.axes[i]
		dims[i], ds[i], ss[i] = x.n, x.bufD, x.bufS
	}
	copyBytes(j, dims[:b.rank], ds[:b.rank], ss[:b.rank], b.first)
}

// copyBytes makes a job that copies bytes out of a buffer.
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
	j.parts.lead = 0
	j.plan()
	j.tile.reach += cacheLine // buffers have that much more
}

// lowest returns the lowest offset, from the first element on.
func lowest(dims, steps []int64) int64 {
	low := int64(0)
	for i, n := range dims {
		low += min(0, (n-1)*steps[i])
	}
	return low
}

// moveBox moves a box, of which job.a and job.b have na and nb indices.
func (j *job) moveBox(d, s, na, nb int64, sc *scratch) {
	b := &j.boxes
	if sc.box == nil {
		sc.box = new(boxWork)
	}
	work := sc.box
	if work.id != b.id {
		work.id = b.id
		if b.pairs.on {
			b.pairedBytes(work)
		} else {
			b.bytes(&work.job)
		}
	}
	if b.pairs.on {
		j.pairBox(d, s, work)
		return
	}
	from, to := room(&work.src, b.src), room(&work.dst, b.dst)
	j.unpackBox(from, s, na, nb, work)
	work.job.src, work.job.dst = from, to
	work.job.run(0, work.job.units, &work.sc)
	work.job.src, work.job.dst = nil, nil
	j.packBox(to, d, na, nb, work)
}

// unpackBox makes bytes of a box's elements.
func (j *job) unpackBox(buf unsafe.Pointer, s, na, nb int64, work *boxWork) {
	b, w := &j.boxes, int64(j.dBits)
	low, run := int64(0), int64(1)
	for i := range b.rank {
		if x := &b.axes[i]; x.inSrc {
			by := (x.extent(na, nb) - 1) * x.s
			low += min(by, 0)
			run += magnitude(by)
		}
	}
	index := work.index[:b.rank]
	at, to := s+low, b.first+low
	for more := true; more; {
		unpack(buf, to, j.src, at*w, run, w, meaningOf(int(w), false), false)
		more = false
		for i := range b.rank {
			if x := &b.axes[i]; !x.inSrc && x.next(&index[i], &at, &to, x.s, x.bufS, x.extent(na, nb)) {
				more = true
				break
			}
		}
	}
}

// packBox writes a box's elements.
func (j *job) packBox(buf unsafe.Pointer, d, na, nb int64, work *boxWork) {
	b, w := &j.boxes, int64(j.dBits)
	run := int64(1)
	for i := range b.rank {
		if x := &b.axes[i]; x.inD {
			run *= x.extent(na, nb)
		}
	}
	past := j.streams()
	index := work.index[:b.rank]
	at, from := d, int64(0)
	for more := true; more; {
		if lo, hi := max(at, j.clipLo), min(at+run, j.clipHi); lo < hi {
			pack(j.dst, lo*w, buf, from+lo-at, hi-lo, w, past)
		}
		more = false
		for i := range b.rank {
			if x := &b.axes[i]; !x.inD && x.next(&index[i], &at, &from, x.d, x.bufD, x.extent(na, nb)) {
				more = true
				break
			}
		}
	}
}

// extent returns how many indices of an axis a box has.
func (x *boxAxis) extent(na, nb int64) int64 {
	switch x.cut {
	case cutA:
		return na
	case cutB:
		return nb
	}
	return x.n
}

// next moves on to the next of n indices of an axis, or back to the first: false.
func (x *boxAxis) next(index, at, buf *int64, step, bufStep, n int64) bool {
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
