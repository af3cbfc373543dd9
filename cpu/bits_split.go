package cpu

// Below a byte, two rows of the destination may share a byte, so units are not independent.
// Goroutines own bytes instead: the destination is cut at byte boundaries, in the order of its
// positions. The axis that is outermost in memory is cut into parts. A goroutine moves a part
// without the elements in a byte shared with the part before; the caller moves these few at the
// end.
//
// The destination's axes must be nested: each steps over everything that the inner ones cover.
// Other layouts are rare (only contrived strides interleave axes), and one goroutine moves them.

// nested reports whether the order of the loops is the order of positions.
func (p *pair) nested() bool {
	reach := int64(0)
	for k := p.rank - 1; k >= 0; k-- {
		x := &p.axes[k]
		if x.D <= reach {
			return false
		}
		reach += x.D * (x.N - 1)
	}
	return true
}

// sharesBytes reports whether elements of both sides may be in the same byte of one buffer: a
// worker would read it while another writes.
func (p *pair) sharesBytes() bool {
	if p.dst != p.src {
		return false
	}
	reach := func(low int64, width int, step func(*axis) int64) (first, last int64) {
		high := low
		for k := range p.rank {
			if by := step(&p.axes[k]) * (p.axes[k].N - 1); by < 0 {
				low += by
			} else {
				high += by
			}
		}
		return low * int64(width) / 8, (high*int64(width) + int64(width) - 1) / 8
	}
	dLo, dHi := reach(p.dOff, p.dBits, func(x *axis) int64 { return x.D })
	sLo, sHi := reach(p.sOff, p.sBits, func(x *axis) int64 { return x.S })
	return dLo <= sHi && sLo <= dHi
}

// parts divides a pair among goroutines: runs of indices of its first few axes.
type parts struct {
	*pair
	lead  int    // number of axes
	count int64  // number of their indices
	size  int64  // indices in a part
	inner int64  // elements under each index
	ran   string // the mover of the first part
}

// executePacked runs a job below a byte with workers. False: it cannot be cut.
func (j *job) executePacked(sc *scratch) bool {
	n := parallelism(j.axes[0].N, j.bytes)
	if n == 1 || !j.nested() || j.sharesBytes() {
		return false
	}
	// The outermost axis alone, if that balances the work: kernels do not benefit from a cut
	// axis.
	p := parts{pair: &j.pair, lead: 1, count: j.axes[0].N, inner: 1}
	for p.lead < j.rank-1 && p.count < int64(n)*4 {
		p.count *= j.axes[p.lead].N
		p.lead++
	}
	for _, x := range j.axes[p.lead:j.rank] {
		p.inner *= x.N
	}
	p.size = max(1, p.count/int64(n*4))
	if p.size > 64 {
		p.size &^= 63
	}
	if p.thin() {
		j.executeColumns(n, sc)
		return true
	}
	j.parts = p
	units := (p.count + p.size - 1) / p.size
	j.shareOut(&j.parts, n, units, 1, sc)
	for part := int64(1); part < units; part++ {
		p.finish(part, sc)
	}
	j.ran = j.parts.ran
	return true
}

// start returns the position of a part's first destination element, and of the first element from
// there on that begins a byte.
func (p *parts) start(part int64) (first, whole int64) {
	first, _ = p.offsets(part * p.size * p.inner)
	per := max(1, int64(8/p.dBits))
	return first, (first + per - 1) &^ (per - 1)
}

// partOf returns the goroutine's own job, initially a copy of a pair.
func (sc *scratch) partOf(p *pair) *job {
	if sc.sub == nil {
		sc.sub = new(job)
	}
	sc.sub.pair = *p
	return sc.sub
}

// runAll plans and runs a goroutine's own job, and drops its addresses, which would keep memory
// alive.
func (j *job) runAll(sc *scratch) {
	j.plan()
	j.part(0, j.units, sc)
	j.drop()
}

// part runs the parts [from, to), each as the goroutine's own jobs.
func (p *parts) part(from, to int64, sc *scratch) {
	for part := from; part < to; part++ {
		lo := part * p.size
		hi := min(lo+p.size, p.count)
		lastLead := p.axes[p.lead-1].N
		for i := lo; i < hi; {
			// Up to the end of the last leading axis.
			run := min(hi-i, lastLead-i%lastLead)
			sub := sc.partOf(p.pair)
			sub.dOff, sub.sOff = p.offsets(i * p.inner)
			sub.rank = copy(sub.axes[:], p.axes[p.lead-1:p.rank])
			sub.axes[0].N = run
			if part > 0 {
				_, sub.clipLo = p.start(part)
			}
			if hi < p.count {
				_, sub.clipHi = p.start(part + 1)
			}
			sub.runAll(sc)
			if i == 0 {
				p.ran = sub.mover.name()
			}
			i += run
		}
	}
}

// finish writes a part's elements that are in a byte of the part before.
func (p *parts) finish(part int64, sc *scratch) {
	first, whole := p.start(part)
	if first == whole {
		return
	}
	w, one := int64(p.dBits), p.conversion(1, 1)
	all := p.count * p.inner
	for number := part * p.size * p.inner; number < all; number++ {
		d, s := p.offsets(number)
		if d >= whole {
			return
		}
		if p.kind == convert {
			one.row(&p.ends, d, s, 1, sc)
		} else {
			putBits(p.dst, d*w, getBits(p.src, s*w, w), w)
		}
	}
}
