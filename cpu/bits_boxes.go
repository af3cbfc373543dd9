package cpu

import (
	"sync/atomic"

	"github.com/restride/restride/layout"
)

// Elements below a byte whose order changes within words: a box of the loops, with runs on
// both sides, is unpacked to bytes, copied as such by a job of its own, and packed.

const (
	// boxElements is about how many elements a box has: as bytes, they stay in L1 twice.
	boxElements = 4096
	// boxRun is how many elements its runs should have.
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
	// Bytes of the buffers, and where the first element is in the source's.
	src, dst, first int64
}

// boxAxis is an axis of a box: the job's, of which the box has the first n, and its steps
// in the buffers.
type boxAxis struct {
	axis
	cut        cutting
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
	var ext [maxAxes]int64
	for k := range j.rank {
		ext[k] = 1
	}
	// Runs of both sides, and then longer ones as long as a box has room.
	j.growRun(&ext, boxRun)
	all := j.growSpan(&ext, boxRun)
	j.growRun(&ext, max(boxRun, boxElements/all*boxRun))
	all = j.growSpan(&ext, boxRun)
	j.growSpan(&ext, max(boxRun, boxElements/all*boxRun))
	return j.loadBoxes(&ext)
}

// growRun extends a box along the axes of the destination's runs, to runs of some
// elements.
func (j *job) growRun(ext *[maxAxes]int64, target int64) {
	run := int64(1)
	for k := j.rank - 1; k >= 0 && j.axes[k].d == run && run < target; k-- {
		ext[k] = boxExtent(j.axes[k].n, ext[k], target/run)
		run *= ext[k]
		if ext[k] < j.axes[k].n {
			break
		}
	}
}

// boxExtent is how much of an axis a box has that wants some of it.
func boxExtent(n, have, want int64) int64 {
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
func (j *job) growSpan(ext *[maxAxes]int64, target int64) int64 {
	all := int64(1)
	for k := range j.rank {
		all *= ext[k]
	}
	j.eachNear(func(k int, span int64) bool {
		x := &j.axes[k]
		if span >= target {
			return false
		}
		old := ext[k]
		want := min(max(1, target/magnitude(x.s)), max(1, boxElements/(all/old)))
		ext[k] = boxExtent(x.n, old, want)
		all = all / old * ext[k]
		return ext[k] == x.n
	}, ext)
	return all
}

// eachNear visits the axes of the source's runs, the innermost first, as long as visit
// says, with the elements that those before span.
func (j *job) eachNear(visit func(k int, span int64) bool, ext *[maxAxes]int64) {
	var used uint64
	for span := int64(1); ; {
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
func (j *job) loadBoxes(ext *[maxAxes]int64) bool {
	b := &j.boxes
	b.on, b.id, b.rank, b.first = true, boxIDs.Add(1), 0, 0
	near := uint64(0)
	srcRun := int64(1)
	j.eachNear(func(k int, span int64) bool {
		near |= 1 << k
		srcRun = span + (ext[k]-1)*magnitude(j.axes[k].s)
		return true
	}, ext)
	dstRun := int64(1)
	dense := true
	cuts := cutting(0)
	a, c := axis{n: 1}, axis{n: 1}
	blkA, blkB := int64(1), int64(1)
	j.nOut = 0
	for k := j.rank - 1; k >= 0; k-- {
		x := boxAxis{axis: j.axes[k]}
		dense = dense && x.d == dstRun
		if ext[k] == 1 {
			dense = false
			continue
		}
		if x.inD = dense; dense {
			dstRun *= ext[k]
		}
		x.inSrc = near>>k&1 != 0
		if ext[k] < x.n {
			dense = false
			cuts++
			switch cuts {
			case 1:
				x.cut, c, blkB = cutB, x.axis, ext[k]
			case 2:
				x.cut, a, blkA = cutA, x.axis, ext[k]
			default:
				b.on = false
				return false
			}
		}
		x.n = ext[k]
		if b.rank == mostBoxAxes {
			b.on = false
			return false
		}
		b.axes[b.rank] = x
		b.rank++
	}
	if dstRun < leastBoxRun || srcRun < leastBoxRun {
		b.on = false
		return false
	}
	b.bufferSteps(srcRun, dstRun)
	for k := range j.rank {
		if ext[k] == 1 {
			j.outer[j.nOut] = j.axes[k]
			j.nOut++
		}
	}
	j.a, j.b = a, c
	j.cut(blkA, blkB)
	return true
}

// bufferSteps lays the runs out in the buffers, each on a line of its own.
func (b *boxes) bufferSteps(srcRun, dstRun int64) {
	pitch := func(run int64) int64 { return (run+cacheLine-1)&^(cacheLine-1) + cacheLine }
	b.src, b.dst = pitch(srcRun), pitch(dstRun)
	for i := range b.rank {
		x := &b.axes[i]
		if x.bufS = x.s; !x.inSrc {
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
}

// bytes makes the job that copies a box's bytes.
func (b *boxes) bytes(j *job) {
	var room [3][16]int64
	dims, ds, ss := room[0][:0], room[1][:0], room[2][:0]
	for i := range b.rank {
		x := &b.axes[i]
		dims, ds, ss = append(dims, x.n), append(ds, x.bufD), append(ss, x.bufS)
	}
	// They cannot fail: these are positions in the buffers.
	d, _ := layout.Strided(dims, ds, 0)
	s, _ := layout.Strided(dims, ss, b.first)
	j.prepare(&form{op: opCopy, align: 16, dst: layout.Uint8, src: layout.Uint8}, &d, &s)
	j.parts.lead = 0
	j.plan()
	j.tile.reach += cacheLine // buffers have that much more
}

// moveBox moves a box, of which job.a and job.b have na and nb indices.
func (j *job) moveBox(d, s, na, nb int64, sc *scratch) {
	b := &j.boxes
	if sc.box == nil {
		sc.box = new(boxWork)
	}
	work := sc.box
	from, to := room(&work.src, b.src), room(&work.dst, b.dst)
	if work.id != b.id {
		b.bytes(&work.job)
		work.id = b.id
	}
	w := int64(j.dBits)
	low, run := int64(0), int64(1)
	for i := range b.rank {
		if x := &b.axes[i]; x.inSrc {
			by := (x.extent(na, nb) - 1) * x.s
			low += min(by, 0)
			run += magnitude(by)
		}
	}
	index := work.index[:b.rank]
	at, buf := s+low, b.first+low
	for more := true; more; {
		unpack(from, buf, j.src, at*w, run, w, false, false)
		more = false
		for i := range b.rank {
			if x := &b.axes[i]; !x.inSrc && x.next(&index[i], &at, &buf, x.s, x.bufS, na, nb) {
				more = true
				break
			}
		}
	}
	work.job.src, work.job.dst = from, to
	work.job.run(0, work.job.units, &work.sc)
	run = 1
	for i := range b.rank {
		if x := &b.axes[i]; x.inD {
			run *= x.extent(na, nb)
		}
	}
	past := j.streams()
	at, buf = d, 0
	for more := true; more; {
		if lo, hi := max(at, j.clipLo), min(at+run, j.clipHi); lo < hi {
			pack(j.dst, lo*w, to, buf+lo-at, hi-lo, w, past)
		}
		more = false
		for i := range b.rank {
			if x := &b.axes[i]; !x.inD && x.next(&index[i], &at, &buf, x.d, x.bufD, na, nb) {
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

// next moves on to the next index of an axis, or back to the first: false.
func (x *boxAxis) next(index, at, buf *int64, step, bufStep, na, nb int64) bool {
	if *index++; *index < x.extent(na, nb) {
		*at += step
		*buf += bufStep
		return true
	}
	*index = 0
	n := x.extent(na, nb) - 1
	*at -= n * step
	*buf -= n * bufStep
	return false
}
