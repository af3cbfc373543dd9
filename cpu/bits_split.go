package cpu

// Below a byte, two rows of the destination may share a byte, so units are not
// independent. Goroutines own bytes instead: the destination is cut, in the order of its
// positions, at byte boundaries. The axis that is outermost in memory is cut into parts.
// A goroutine does a part without the elements in a byte shared with the part before;
// the caller does these few at the end.
//
// The destination's axes must be nested: each steps over all that the inner ones cover.
// Others are rare (only contrived strides interleave axes), and one goroutine does them.

// nested reports whether the order of the loops is the order of positions.
func (j *job) nested() bool {
	reach := int64(0)
	for k := j.rank - 1; k >= 0; k-- {
		x := &j.axes[k]
		if x.d <= reach {
			return false
		}
		reach += x.d * (x.n - 1)
	}
	return true
}

// sharesBytes reports whether elements of both sides may lie in one byte of one buffer:
// a worker would read it while another writes.
func (j *job) sharesBytes() bool {
	if j.dst != j.src {
		return false
	}
	reach := func(low int64, width int, step func(*axis) int64) (first, last int64) {
		high := low
		for k := range j.rank {
			if by := step(&j.axes[k]) * (j.axes[k].n - 1); by < 0 {
				low += by
			} else {
				high += by
			}
		}
		return low * int64(width) / 8, (high*int64(width) + int64(width) - 1) / 8
	}
	dLo, dHi := reach(j.dOff, j.dBits, func(x *axis) int64 { return x.d })
	sLo, sHi := reach(j.sOff, j.sBits, func(x *axis) int64 { return x.s })
	return dLo <= sHi && sLo <= dHi
}

// parts are runs of the indices over the first few axes; or of the innermost one: see
// executeColumns.
type parts struct {
	lead    int   // how many axes
	count   int64 // their indices in all
	size    int64 // indices in a part
	inner   int64 // elements under each index
	columns bool  // of the innermost axis
}

// executePacked runs a job below a byte with workers. False: it cannot be cut.
func (j *job) executePacked(sc *scratch) bool {
	n := parallelism(j.axes[0].n, j.bytes)
	if n == 1 || !j.nested() || j.sharesBytes() {
		return false
	}
	// The outermost axis alone, if that is enough for balance: what is cut is
	// lost to the kernel.
	p := parts{lead: 1, count: j.axes[0].n, inner: 1}
	for p.lead < j.rank-1 && p.count < int64(n)*4 {
		p.count *= j.axes[p.lead].n
		p.lead++
	}
	for _, x := range j.axes[p.lead:j.rank] {
		p.inner *= x.n
	}
	p.size = max(1, p.count/int64(n*4))
	if p.size > 64 {
		p.size &^= 63
	}
	if j.thin(&p) {
		j.executeColumns(n, sc)
		return true
	}
	j.parts = p
	j.units = (p.count + p.size - 1) / p.size
	j.shareOut(n, j.units, 1, sc)
	for part := int64(1); part < j.units; part++ {
		j.finish(part, sc)
	}
	return true
}

// start returns the position of a part's first destination element, and of the first
// from there on that begins a byte.
func (j *job) start(part int64) (first, whole int64) {
	first, _ = j.offsets(part * j.parts.size * j.parts.inner)
	per := max(1, int64(8/j.dBits))
	return first, (first + per - 1) &^ (per - 1)
}

// offsets returns the positions of an element, given by its number in the order of the
// loops.
func (j *job) offsets(number int64) (d, s int64) {
	d, s = j.dOff, j.sOff
	for k := j.rank - 1; k >= 0; k-- {
		x := &j.axes[k]
		i := number % x.n
		number /= x.n
		d += i * x.d
		s += i * x.s
	}
	return d, s
}

// partOf returns the goroutine's own job, as j is before it is planned.
func (sc *scratch) partOf(j *job) *job {
	if sc.sub == nil {
		sc.sub = new(job)
	}
	sc.sub.move = j.move
	return sc.sub
}

// runAll plans a goroutine's own job, runs it, and drops its addresses, which would keep memory
// alive.
func (j *job) runAll(sc *scratch) {
	j.plan()
	j.run(0, j.units, sc)
	j.dst, j.src = nil, nil
}

// runPart does one part, by the goroutine's own job.
func (j *job) runPart(part int64, sc *scratch) {
	p := j.parts
	lo := part * p.size
	hi := min(lo+p.size, p.count)
	lastLead := j.axes[p.lead-1].n
	for i := lo; i < hi; {
		// As far as the last of the leading axes goes.
		run := min(hi-i, lastLead-i%lastLead)
		sub := sc.partOf(j)
		sub.dOff, sub.sOff = j.offsets(i * p.inner)
		sub.rank = copy(sub.axes[:], j.axes[p.lead-1:j.rank])
		sub.axes[0].n = run
		if part > 0 {
			_, sub.clipLo = j.start(part)
		}
		if hi < p.count {
			_, sub.clipHi = j.start(part + 1)
		}
		sub.runAll(sc)
		i += run
	}
}

// finish writes the elements of a part that lie in a byte of the part before.
func (j *job) finish(part int64, sc *scratch) {
	first, whole := j.start(part)
	if first == whole {
		return
	}
	w := int64(j.dBits)
	all := j.parts.count * j.parts.inner
	for number := part * j.parts.size * j.parts.inner; number < all; number++ {
		d, s := j.offsets(number)
		if d >= whole {
			return
		}
		if j.class == convert {
			j.convertRow(d, s, 1, sc)
		} else {
			putBits(j.dst, d*w, getBits(j.src, s*w, w), w)
		}
	}
}
