package planner

import (
	"encoding/binary"
	"slices"

	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/layout"
)

// Takes and puts: copies whose positions in src, or in dst, depend on indices in memory.

// takes reports whether a kernel has indices, puts whether they are dst's, and reduces whether
// elements are reduced.
func (s Spec) takes() bool   { return s.form().does == takes || s.puts() }
func (s Spec) puts() bool    { return s.form().does == puts || s.reduces() }
func (s Spec) reduces() bool { return s.form().does == reduces }

// takeSpecs lists the kernels of takes and puts, except Join, Reduce and Fold.
func takeSpecs() []Spec {
	var all []Spec
	add := func(f Form, bits, at uint8, cpu bool) {
		all = append(all, Spec{Form: f, DstBits: bits, SrcBits: bits, AtBits: at, CPUTarget: cpu})
	}
	for _, cpu := range []bool{false, true} {
		for _, bits := range []uint8{2, 4, 8, 16, 32, 64, 128} {
			for _, at := range []uint8{32, 64} {
				if bits >= 8 || cpu {
					add(Take, bits, at, cpu)
				}
				if bits >= 8 {
					add(Put, bits, at, cpu)
				}
				if bits >= 8 && !cpu {
					add(Pick, bits, at, cpu)
				}
				if bits >= 8 && bits <= mostPicked && !cpu {
					add(Picks, bits, at, cpu)
				}
				if bits < 8 || !cpu {
					add(Place, bits, at, cpu)
				}
			}
		}
	}
	return all
}

// indexed is a take, or a put with its sides exchanged, prepared for its forms.
type indexed struct {
	*problem
	puts    bool // d is src's side, and s dst's
	reduces bool // a put that reduces
	by      []layout.Index
	atBits  int
	steps   []int64    // of at, innermost first
	join    bool       // elements are split for form Join
	indices parameters // the same blocks with at instead of src
}

// takePlanners are the planners of a take, and of a put with any order of elements.
var takePlanners = []planner[*indexed]{
	{"reduce", false, func(p *indexed, _ *offer) (offer, refusal) { return p.offerReduce() }},
	{"join", false, func(p *indexed, _ *offer) (offer, refusal) { return p.offerJoin() }},
	{"columns", false, func(p *indexed, _ *offer) (offer, refusal) { return p.offerColumns() }},
	{"rows", false, func(p *indexed, _ *offer) (offer, refusal) { return p.offerRows() }},
	{"picks", false, func(p *indexed, _ *offer) (offer, refusal) { return p.offerPicks() }},
	{"elements", false, func(p *indexed, _ *offer) (offer, refusal) { return p.offerEach() }},
}

// planTake plans a take between layouts of one shape, with elements of 2 to 128 bits and indices
// of 32 or 64 bits.
func (p *indexed) planTake(dst, src, at layout.Layout, bits int) (Launch, error) {
	d, s, a := dst, src, at
	layout.Simplify(&d, &s, &a)
	l, err := p.plan("take", &d, &s, &a, bits, dst.Offset(), src.Offset())
	l.bases[At] = moved(a, at)
	return l, err
}

// planPut is planTake for a put with any order of elements, as a take whose sides are exchanged: d
// is src's.
func (p *indexed) planPut(dst, src, at layout.Layout, bits int) (Launch, error) {
	d, s, a := src, dst, at
	if repeats(&d) { // its steps say little about an order
		layout.Simplify(&s, &d, &a)
	} else {
		layout.Simplify(&d, &s, &a)
	}
	l, err := p.plan("put", &d, &s, &a, bits, src.Offset(), dst.Offset())
	l.exchange(moved(a, at))
	return l, err
}

// exchange turns a launch planned as a take into a put's.
func (l *Launch) exchange(at base) {
	l.bases[Dst], l.bases[Src], l.bases[At] = l.bases[Src], l.bases[Dst], at
}

// repeats reports whether a layout repeats elements.
func repeats(l *layout.Layout) bool {
	for i := range l.Rank() {
		if l.Stride(i) == 0 && l.Dim(i) > 1 {
			return true
		}
	}
	return false
}

// plan plans a take of simplified layouts, or a put with its sides exchanged.
func (p *indexed) plan(class string, d, s, a *layout.Layout, bits int, dOffset, sOffset int64) (Launch, error) {
	wide := bits
	if !p.reduces {
		wide = layout.Widen(bits, indexing.WidthLimit(p.by, bits, 128), d, s, a)
	}
	per := int64(wide / bits)
	p.sBits = wide
	p.walk(*d, *s, dOffset, sOffset, wide, per)
	if indexing.LeadNowhere(p.by) {
		p.bytes = 0
	}

	p.steps = make([]int64, 0, d.Rank())
	for i := d.Rank(); i > 0; i-- {
		p.steps = append(p.steps, a.Stride(i-1))
	}
	if p.join = !p.puts && p.joins(); p.join {
		p.split()
	}
	return p.problem.plan(class, func(try *problem, k *parameters) (Spec, error) {
		x := *p
		x.problem = try
		spec, err := choose(takePlanners, &x, try, k)
		if err == nil {
			x.appendIndices(k, &x.indices, per)
		}
		return spec, err
	})
}

// appendIndices adds the parameters of the indices, for elements that are per of the operands'
// each.
func (p *indexed) appendIndices(k, indices *parameters, per int64) {
	k.na, k.sa = uint32(len(p.by)), indices.s
	k.more = indices.encode(0)[headerBytes:]
	for _, x := range p.by {
		flags := uint64(x.OutOfRange)
		if p.puts {
			flags |= 1 << 32
		}
		for _, v := range []uint64{uint64(x.Offset), uint64(x.Extent), uint64(x.Stride / per * p.s.parts), flags} {
			k.more = binary.LittleEndian.AppendUint64(k.more, v)
		}
	}
}

// cut divides the work into blocks for a form's kernel, and does the same with at instead of src.
func (p *indexed) cut(f Form, k *parameters, rounds int64) error {
	q := problem{target: p.target, dBits: p.dBits, dBase: p.dBase, bytes: p.bytes, axes: slices.Clone(p.axes)}
	for i := range q.axes {
		q.axes[len(q.axes)-1-i].S = p.steps[i]
	}
	*k, p.indices = parameters{}, parameters{}
	if err := p.cutFor(p.problem, f, k, rounds); err != nil {
		return err
	}
	return p.cutFor(&q, f, &p.indices, rounds)
}

// offer offers a form whose blocks are cut.
func (p *indexed) offer(f Form, k *parameters, err error) (offer, refusal) {
	spec := p.spec(f)
	spec.AtBits = uint8(p.atBits)
	return laid(spec, k, err)
}

// forms returns the forms for rows that share indices, and for elements with their own index.
func (p *indexed) forms() (rows, each Form) {
	if p.puts {
		return Put, Place
	}
	return Take, Pick
}

func (p *indexed) offerReduce() (offer, refusal) {
	if !p.reduces {
		return offer{}, notReduced
	}
	var k parameters
	return p.offer(Reduce, &k, p.cut(Reduce, &k, 1))
}

func (p *indexed) offerJoin() (offer, refusal) {
	if !p.join {
		return offer{}, notInCommon
	}
	var k parameters
	return p.offer(Join, &k, p.cut(Join, &k, 1))
}

func (p *indexed) offerColumns() (offer, refusal) {
	switch {
	case p.target.CPU:
		return offer{}, onlyGPU
	case p.puts && p.dBits < 8:
		return offer{}, otherWidth
	case !p.byColumns():
		return offer{}, notByColumns
	}
	var k parameters
	rows, _ := p.forms()
	err := p.cut(rows, &k, columnsOf)
	if err == nil {
		k.numberRows(&p.indices)
	}
	return p.offer(rows, &k, err)
}

func (p *indexed) offerRows() (offer, refusal) {
	if p.puts && p.dBits < 8 {
		return offer{}, otherWidth
	}
	var k parameters
	rows, _ := p.forms()
	if p.target.CPU {
		return p.offer(rows, &k, p.cut(rows, &k, 1))
	}
	for rounds := int64(max(2, 64/p.dBits)); rounds > 0; rounds /= 2 {
		if err := p.cut(rows, &k, rounds); err != nil {
			return p.offer(rows, &k, err)
		}
		if n := k.numberRows(&p.indices); n <= takeRows && n*takeRepeats <= int64(k.flat)*int64(k.cut) {
			return p.offer(rows, &k, nil)
		}
	}
	return offer{}, fewRepeats
}

// offerPicks offers chunks of single elements.
func (p *indexed) offerPicks() (offer, refusal) {
	if why := p.picks(); why != "" {
		return offer{}, why
	}
	var k parameters
	return p.offer(Picks, &k, p.cut(Picks, &k, 1))
}

func (p *indexed) offerEach() (offer, refusal) {
	var k parameters
	_, each := p.forms()
	return p.offer(each, &k, p.cut(each, &k, 1))
}

// mostPicked is the width, in bits, of the widest elements that Picks handles in chunks.
const mostPicked = 32

// picks is the reason why a take of single elements does not use chunks. Chunks need rows that are
// dense in dst, with indices that are dense in at, several chunks per row, and places within 32
// bits.
func (p *indexed) picks() refusal {
	in, per := p.inner(0), int64(128/p.dBits)
	switch {
	case p.puts:
		return onlyTakes
	case p.manyAxes:
		return tooManyAxes
	case p.dBits > mostPicked:
		return otherWidth
	case in.D != 1:
		return notDense
	case len(p.steps) == 0 || p.steps[0] != 1:
		return notNear
	case in.N < 4*per:
		return shortAxes
	}
	reach := int64(0)
	if in.S != 0 {
		reach = min(nest.Magnitude(in.S), limit) * per
	}
	for _, x := range p.by {
		if x.Extent < 1 || x.Extent >= limit || nest.Magnitude(x.Stride) >= limit {
			return notNear
		}
		reach += (x.Extent - 1) * nest.Magnitude(x.Stride)
		if reach >= limit {
			return notNear
		}
	}
	if reach >= limit {
		return notNear
	}
	return ""
}

// byColumns reports whether the indices depend only on a long innermost axis, dense on the side
// that indices do not move. Blocks then have many indices of the next axis, for which places are
// the same, if 32 bits reach these.
func (p *indexed) byColumns() bool {
	in, n := p.inner(0), p.inner(0).N
	if len(p.axes) < 2 || p.dBits < 8 || p.dBits > 64 || in.D != 1 || p.steps[0] == 0 || n < 4*GroupSize || n >= limit || p.inner(1).N < takeRepeats || p.inner(1).N >= limit {
		return false
	}
	for _, s := range p.steps[1:] {
		if s != 0 {
			return false
		}
	}
	reach := limit / (int64(p.dBits) / 8)
	if nest.Magnitude(in.S) >= reach/n {
		return false
	}
	reach -= n * nest.Magnitude(in.S)
	for _, x := range p.by {
		if x.Extent >= limit || nest.Magnitude(x.Stride) >= limit {
			return false
		}
		if reach -= x.Extent * nest.Magnitude(x.Stride); reach <= 0 {
			return false
		}
	}
	return true
}

// columnsOf is a special number of rounds: cut by columns.
const columnsOf = 0

// cutColumns makes blocks of up to as many columns as a group's items have elements, in equal
// parts, and of some rows: see source/take.h.
func (k *parameters) cutColumns(spec Spec, axes []axis, blocks int64) error {
	column, row := axes[0], axes[1]
	parts := (column.N + spec.items()*GroupSize - 1) / (spec.items() * GroupSize)
	total := parts
	for _, b := range axes[1:] {
		total = min(total*b.N, limit)
	}
	rows := min(max(total/blocks, 4), 64)
	side := max(1, 32/int64(spec.DstBits))
	k.cutAxis(column, ((column.N+parts-1)/parts+side-1)/side*side)
	k.flat, k.tb, k.span = 1, uint32(rows), uint32(row.N)
	k.inner = []axis{{N: rows, D: row.D, S: row.S}}
	return k.setOuter(append([]axis{row.Blocks(rows)}, axes[2:]...)...)
}

// cutFor divides one side into blocks of so many rounds.
func (p *indexed) cutFor(side *problem, f Form, k *parameters, rounds int64) error {
	spec := side.spec(f)
	switch {
	case f == Join:
		return chunking{side}.planJoin(k)
	case f == Picks:
		r := chunking{side}
		return r.cutChunks(k, int64(128/side.dBits), r.chunksPerBlock(GroupSize), r.takeRun(k, 1))
	case side.dBits < 8 && !p.puts:
		return chunking{side}.planWords(k, len(side.axes), 1)
	case rounds == columnsOf:
		return k.cutColumns(spec, side.innermostFirst(), side.target.fewBlocks())
	}
	return k.cutRounds(spec, side.innermostFirst(), rounds)
}

// takeRepeats is the least number of elements for each of a block's rows, and takeRows the largest
// number of rows in a block.
const takeRepeats, takeRows = 2, 12 * GroupSize

// numberRows numbers a block's rows: the combinations of indices along the axes along which at has
// steps. It returns their number.
func (k *parameters) numberRows(indices *parameters) int64 {
	k.nb = 1
	for i := range indices.inner {
		a := &indices.inner[i]
		if a.D = 0; a.S != 0 {
			k.run = append(k.run, *a)
			a.D = int64(k.nb)
			k.nb *= uint32(a.N)
		}
	}
	indices.run = k.run
	if indices.s == 0 {
		return int64(k.nb)
	}
	k.ta = k.nb
	return int64(k.nb) * int64(k.cut)
}
