package planner

import (
	"encoding/binary"
	"slices"

	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/layout"
)

// Takes and puts: copies whose positions in src, or in dst, depend on indices in memory.

// takes reports whether a kernel has indices, puts whether these are dst's, and reduces whether
// elements are reduced.
func (s Spec) takes() bool   { return s.form().does == takes || s.puts() }
func (s Spec) puts() bool    { return s.form().does == puts || s.reduces() }
func (s Spec) reduces() bool { return s.form().does == reduces }

// takeSpecs lists the kernels of takes and puts, but for those of Join, Reduce and Fold.
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

// planTake plans a take between layouts of one shape: of elements of 2 to 128
// bits, by indices of 32 or 64.
func planTake(dst, src, at layout.Layout, by []layout.Index, bits, atBits int, t Target) (Launch, error) {
	p := problem{op: "Take", target: t}
	d, s, a := dst, src, at
	layout.Simplify(&d, &s, &a)
	l, err := p.planIndexed("take", &d, &s, &a, by, bits, atBits, dst.Offset(), src.Offset())
	l.bases[At] = moved(a, at)
	return l, err
}

// planPut is planTake for a put, as a take whose sides are exchanged: d is src's.
func planPut(dst, src, at layout.Layout, by []layout.Index, bits, atBits int, t Target) (Launch, error) {
	p := problem{op: "Put", target: t, puts: true}
	return p.planUnordered(dst, src, at, by, bits, atBits)
}

// planUnordered plans a put whose elements come in any order.
func (p *problem) planUnordered(dst, src, at layout.Layout, by []layout.Index, bits, atBits int) (Launch, error) {
	d, s, a := src, dst, at
	if repeats(&d) { // its steps say little of an order
		layout.Simplify(&s, &d, &a)
	} else {
		layout.Simplify(&d, &s, &a)
	}
	l, err := p.planIndexed("put", &d, &s, &a, by, bits, atBits, src.Offset(), dst.Offset())
	l.exchange(moved(a, at))
	return l, err
}

// exchange makes a put's launch of one that was planned as a take.
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

// planIndexed plans a take of simplified layouts, or a put with its sides exchanged.
func (p *problem) planIndexed(kind string, d, s, a *layout.Layout, by []layout.Index, bits, atBits int, dOffset, sOffset int64) (Launch, error) {
	wide := bits
	if !p.reduces {
		wide = layout.Widen(bits, indexing.WidthLimit(by, bits, 128), d, s, a)
	}
	per := int64(wide / bits)
	p.sBits = wide
	p.walk(*d, *s, dOffset, sOffset, wide, per)
	if indexing.LeadNowhere(by) {
		p.bytes = 0
	}

	steps := make([]int64, 0, d.Rank()) // of at, innermost first
	for i := d.Rank(); i > 0; i-- {
		steps = append(steps, a.Stride(i-1))
	}
	join := !p.puts && p.joins(steps, len(by))
	if join {
		steps = p.split(steps)
	}
	return p.plan(kind, func(p *problem, k *parameters) (Spec, error) {
		var indices parameters
		form, err := p.cutTake(k, &indices, steps, by, join)
		if err != nil {
			return Spec{}, err
		}
		p.appendIndices(k, &indices, by, per)
		spec := p.spec(form)
		spec.AtBits = uint8(atBits)
		return spec, nil
	})
}

// appendIndices adds to parameters those of the indices, of elements that are per of the
// operands' each.
func (p *problem) appendIndices(k, indices *parameters, by []layout.Index, per int64) {
	k.na, k.sa = uint32(len(by)), indices.s
	k.more = indices.encode(0)[headerBytes:]
	for _, x := range by {
		flags := uint64(x.OutOfRange)
		if p.puts {
			flags |= 1 << 32
		}
		for _, v := range []uint64{uint64(x.Offset), uint64(x.Extent), uint64(x.Stride / per * p.s.parts), flags} {
			k.more = binary.LittleEndian.AppendUint64(k.more, v)
		}
	}
}

// cutTake cuts a take into blocks for a kernel of a form, and the same work with at, whose
// steps it is given, in place of src.
func (p *problem) cutTake(k, indices *parameters, steps []int64, by []layout.Index, join bool) (Form, error) {
	q := problem{target: p.target, puts: p.puts, dBits: p.dBits, dBase: p.dBase, bytes: p.bytes, axes: slices.Clone(p.axes)}
	for i := range q.axes {
		q.axes[len(q.axes)-1-i].s = steps[i]
	}
	cut := func(f Form, rounds int64) error {
		*k, *indices = parameters{}, parameters{}
		for _, c := range []struct {
			*problem
			to *parameters
		}{{p, k}, {&q, indices}} {
			if err := c.cutFor(f, c.to, rounds); err != nil {
				return err
			}
		}
		return nil
	}
	rows, each := Take, Pick
	if p.puts {
		rows, each = Put, Place
	}
	switch {
	case p.reduces:
		return Reduce, cut(Reduce, 1)
	case join:
		return Join, cut(Join, 1)
	case p.puts && p.dBits < 8:
		return Place, cut(Place, 1)
	case p.target.CPU:
		return rows, cut(rows, 1)
	case p.byColumns(steps, by):
		if err := cut(rows, columnsOf); err != nil {
			return rows, err
		}
		k.numberRows(indices)
		return rows, nil
	}
	for rounds := int64(max(2, 64/p.dBits)); rounds > 0; rounds /= 2 {
		if err := cut(rows, rounds); err != nil {
			return rows, err
		}
		if n := k.numberRows(indices); n <= takeRows && n*takeRepeats <= int64(k.flat)*int64(k.cut) {
			return rows, nil
		}
	}
	if p.picks(steps, by) {
		each = Picks
	}
	return each, cut(each, 1)
}

// mostPicked is the width, in bits, of the widest elements of which Picks has chunks.
const mostPicked = 32

// picks reports whether a take of single elements goes by chunks: of rows that are dense in
// dst, as their indices are in at, and have several chunks, from places that 32 bits reach.
func (p *problem) picks(steps []int64, by []layout.Index) bool {
	in, per := p.inner(0), int64(128/p.dBits)
	if p.puts || p.manyAxes || p.dBits > mostPicked || in.d != 1 || len(steps) == 0 || steps[0] != 1 || in.n < 4*per {
		return false
	}
	reach := int64(0)
	if in.s != 0 {
		reach = min(magnitude(in.s), limit) * per
	}
	for _, x := range by {
		if x.Extent < 1 || x.Extent >= limit || magnitude(x.Stride) >= limit {
			return false
		}
		reach += (x.Extent - 1) * magnitude(x.Stride)
		if reach >= limit {
			return false
		}
	}
	return reach < limit
}

// byColumns reports whether a long axis at the innermost place, dense on the side that indices do not
// move, is the only one that these depend on: blocks have many indices of the next one, for which
// places are the same, if 32 bits reach these.
func (p *problem) byColumns(steps []int64, by []layout.Index) bool {
	in, n := p.inner(0), p.inner(0).n
	if len(p.axes) < 2 || p.dBits < 8 || p.dBits > 64 || in.d != 1 || steps[0] == 0 || n < 4*GroupSize || n >= limit || p.inner(1).n < takeRepeats || p.inner(1).n >= limit {
		return false
	}
	for _, s := range steps[1:] {
		if s != 0 {
			return false
		}
	}
	reach := limit / (int64(p.dBits) / 8)
	if magnitude(in.s) >= reach/n {
		return false
	}
	reach -= n * magnitude(in.s)
	for _, x := range by {
		if x.Extent >= limit || magnitude(x.Stride) >= limit {
			return false
		}
		if reach -= x.Extent * magnitude(x.Stride); reach <= 0 {
			return false
		}
	}
	return true
}

// columnsOf stands for a number of rounds.
const columnsOf = 0

// cutColumns makes blocks of as many columns as work-items have elements, in equal parts, and of some
// rows: see source/take.h.
func (k *parameters) cutColumns(spec Spec, axes []axis, blocks int64) error {
	column, row := axes[0], axes[1]
	parts := (column.n + spec.items()*GroupSize - 1) / (spec.items() * GroupSize)
	total := parts
	for _, b := range axes[1:] {
		total = min(total*b.n, limit)
	}
	rows := min(max(total/blocks, 4), 64)
	side := max(1, 32/int64(spec.DstBits))
	k.cutAxis(column, ((column.n+parts-1)/parts+side-1)/side*side)
	k.flat, k.tb, k.span = 1, uint32(rows), uint32(row.n)
	k.inner = []axis{{rows, row.d, row.s}}
	return k.setOuter(append([]axis{row.blocks(rows)}, axes[2:]...)...)
}

// cutFor cuts one side of a take into blocks of so many rounds.
func (p *problem) cutFor(f Form, k *parameters, rounds int64) error {
	spec := p.spec(f)
	switch {
	case f == Join:
		return p.planJoin(k)
	case f == Picks:
		return p.cutChunks(k, int64(128/p.dBits), p.chunksPerBlock(GroupSize), p.takeRun(k, 1))
	case p.dBits < 8 && !p.puts:
		return p.planWords(k, len(p.axes), 1)
	case rounds == columnsOf:
		return k.cutColumns(spec, p.innermostFirst(), p.target.fewBlocks())
	}
	return k.cutRounds(spec, p.innermostFirst(), rounds)
}

// takeRepeats is how many elements there are at least for each of a block's rows, and
// takeRows how many of these it has at the most.
const takeRepeats, takeRows = 2, 12 * GroupSize

// numberRows numbers a block's rows: the combinations of indices along the axes that at
// has steps along. It returns how many these are.
func (k *parameters) numberRows(indices *parameters) int64 {
	k.nb = 1
	for i := range indices.inner {
		a := &indices.inner[i]
		if a.d = 0; a.s != 0 {
			k.run = append(k.run, *a)
			a.d = int64(k.nb)
			k.nb *= uint32(a.n)
		}
	}
	indices.run = k.run
	if indices.s == 0 {
		return int64(k.nb)
	}
	k.ta = k.nb
	return int64(k.nb) * int64(k.cut)
}
