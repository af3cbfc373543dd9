package planner

// Chunks in periods: see source/periods.h. Where rows begin anywhere in 16 bytes, locating a
// chunk's bits costs more than moving them. After some number of rows both sides have moved by
// whole 16 bytes, and the pattern repeats.

const (
	// periodsPerBlock is the number of periods for which a work-item locates its chunk at
	// once.
	periodsPerBlock = 16
	// stampsPerBlock is the same where the work-item assembles the chunk from single elements.
	stampsPerBlock = 4 * periodsPerBlock
	// periodsCost is the cost of locating a chunk, in periods.
	periodsCost = 4
	// endsCost is the cost of the ends of a row that is not joined with others, in chunks.
	endsCost = 8
	// manyPeriods is the least number of rows per period that is tried; larger where that is
	// too few for a group's work-items.
	manyPeriods = 16
)

// period is a choice of periods: a number of indices per period along an axis, counted from the
// innermost axis.
type period struct {
	axis   int
	n      int64
	joined bool    // dst has no gaps between rows
	items  int64   // per period
	number int64   // of periods
	busy   float64 // the share of work-items' time spent on moving a chunk
}

// periods is a problem for a kernel of form Run, Repack, Gather or Stamp in periods of rows.
type periods struct {
	*problem
	kernel Spec
}

// planPeriods makes spec its kernel for periods of rows; false: that does not pay off.
func (p *problem) planPeriods(k *parameters, spec *Spec) bool {
	x := periods{p, *spec}
	x.kernel.Periodic = true
	if spec.Periodic = x.plan(k); spec.Periodic {
		return true
	}
	*k = parameters{}
	return false
}

// plan sets the parameters for the best periods.
func (p *periods) plan(k *parameters) bool {
	if len(p.axes) < 2 || p.dBits == 1 || !p.dense() || p.manyAxes || p.target.CPU || p.inner(0).N >= limit/4 {
		return false
	}
	best := period{busy: .1}
	for at := 1; at < len(p.axes); at++ {
		for _, joined := range []bool{true, false} {
			if p.kernel.Form == Stamp && (at > 1 || !joined) {
				continue
			}
			if c := p.periodsOf(at, joined); c.busy > best.busy {
				best = c
			}
		}
	}
	return best.n > 0 && p.layPeriods(k, best)
}

// perChunk is the number of elements in a chunk: 16 bytes of the wider side.
func (p *problem) perChunk() int64 { return int64(128 / max(p.dBits, p.sBits)) }

// joined reports whether the elements of the axes inside this one are neighbours in dst.
func (p *periods) joined(axis int) bool {
	n := int64(1)
	for i := range axis {
		if p.inner(i).D != n {
			return false
		}
		n *= p.inner(i).N
	}
	return p.inner(axis).D == n
}

// periodsOf chooses the periods along an axis that keep work-items busiest.
func (p *periods) periodsOf(at int, joined bool) (best period) {
	per, n, a := p.perChunk(), p.inner(0).N, p.inner(at)
	if joined && (n < per-1 && !p.halves() && p.kernel.Form != Stamp || p.sBits == 0 || !p.joined(at)) || !joined && n < per || a.N >= limit {
		return best
	}
	if n > 4*manyChunks*per && p.sBits > 0 && p.inner(0).S != 0 && a.S != 0 { // a block is in one row
		return best
	}
	rows := int64(1)
	for i := 1; i < at; i++ {
		if rows *= p.inner(i).N; rows >= limit {
			return best
		}
	}
	least := int64(1) // rows after which both sides are at the same position in 16 bytes, or in one
	for least*a.D%per != 0 || p.sBits > 0 && least*a.S%p.srcStep() != 0 {
		least *= 2
	}
	for t := int64(1); t <= max(manyPeriods, GroupSize*per/(least*n)); t++ {
		c := period{axis: at, n: least * t, joined: joined}
		if joined {
			c.items = c.n * a.D / per
			// Including what begins before the last chunk.
			c.number = (a.N*a.D + per - 1 + c.n*a.D - 1) / (c.n * a.D)
		} else {
			c.items = c.n * rows * (n/per + 2)
			c.number = (a.N + c.n - 1) / c.n
		}
		if c.items*per >= limit/4 || c.items < 0 {
			break
		}
		each := min(c.number, periodsPerBlock)
		c.busy = float64(a.N) / float64(c.n*c.number) * float64(each) / float64(each+periodsCost) *
			float64(c.items) / float64((c.items+GroupSize-1)/GroupSize*GroupSize)
		if !joined { // ends are stored in pieces
			c.busy *= float64(n/per) / float64(n/per+endsCost)
		}
		if a.S == 0 { // read once
			c.busy *= 2
		}
		if c.busy > best.busy+.02 {
			best = c
		}
	}
	return best
}

// offerStamp offers form Stamp.
func (t *tiling) offerStamp() (offer, refusal) {
	if !t.stamps() {
		return offer{}, noStamps
	}
	spec, k := t.spec(Stamp), parameters{}
	if !t.planPeriods(&k, &spec) {
		return offer{}, noPeriods
	}
	return laid(spec, &k, nil)
}

// stamps reports whether dst has rows below a byte per element that are shorter than a chunk and
// follow one another along the next axis, where src repeats them.
func (p *tiling) stamps() bool {
	if p.target.CPU || p.sBits != p.dBits || p.dBits >= 8 || p.dBits == 1 || len(p.axes) < 2 || !p.dense() {
		return false
	}
	n, a := p.inner(0).N, p.inner(1)
	return a.S == 0 && a.D == n && n < p.perChunk()-1
}

// halves reports whether each chunk holds two whole rows.
func (p *periods) halves() bool {
	return 2*p.inner(0).N == p.perChunk() && !p.uneven(p.inner(0).N*int64(p.dBits)/8)
}

// srcStep is the unit of src's steps between periods, in elements: 16 bytes, or one byte or one
// element where elements are read singly.
func (p *periods) srcStep() int64 {
	if p.inner(0).S == 0 {
		return int64(max(8/p.sBits, 1))
	}
	return int64(128 / p.sBits)
}

// layPeriods sets the parameters; false: there are too many blocks.
func (p *periods) layPeriods(k *parameters, c period) bool {
	row, a, per := p.inner(0), p.inner(c.axis), p.perChunk()
	k.length, k.na, k.ta = row.N, uint32(a.N), uint32(c.n)
	k.da, k.sa = c.n*a.D/per, c.n*a.S
	if p.sBits > 0 {
		k.sa /= p.srcStep()
	}
	switch {
	case p.kernel.Form == Stamp:
		k.run = []axis{{N: row.N, D: 0, S: row.S}, {N: 2 * per}}
	case c.joined:
		k.span = 1
		k.inner = []axis{{N: row.N}}
	default:
		full := row.N / per
		k.words, k.flat = uint32(full), uint32(c.items/(full+2)*full)
		k.inner = []axis{{N: full}}
	}
	for i := 1; i <= c.axis && p.kernel.Form != Stamp; i++ {
		k.run = append(k.run, p.inner(i))
	}
	k.cutAxis(axis{N: c.items}, GroupSize)
	blocks := k.outer[0].N
	for _, a := range p.innermostFirst()[c.axis+1:] {
		blocks *= a.N
	}
	each := min(periodsPerBlock, c.number)
	if p.kernel.Form == Stamp {
		each = min(stampsPerBlock, c.number)
	}
	for each > periodsCost && blocks*(c.number/each) < p.target.fewBlocks() {
		each /= 2
	}
	k.nb, k.tb = uint32(c.number), uint32(each)
	k.outer = append(k.outer, axis{N: (c.number + each - 1) / each, D: each * c.n * a.D, S: each * c.n * a.S})
	return k.setOuter(p.innermostFirst()[c.axis+1:]...) == nil
}
