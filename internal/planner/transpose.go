package planner

import (
	"math/bits"
	"strconv"

	"github.com/restride/restride/internal/nest"
)

// transposeSpecs lists the kernels of Tile and Transpose.
func transposeSpecs() []Spec {
	var all []Spec
	for _, b := range []uint8{32, 64, 128} {
		all = append(all, Spec{Form: Tile, DstBits: b, SrcBits: b})
	}
	for _, b := range []uint8{2, 4, 8, 16} {
		all = append(all, Spec{Form: Transpose, DstBits: b, SrcBits: b})
	}
	for _, b := range []uint8{2, 4} {
		all = append(all, Spec{Form: Transpose, DstBits: b, SrcBits: b, CPUTarget: true})
	}
	return all
}

// transposeDefines are the macros of Transpose.
func transposeDefines(s Spec) []string {
	if !s.CPUTarget {
		return []string{include("LINES_OF", "lines.h")}
	}
	a, b := s.tileSize()
	return []string{"TILE_A " + strconv.FormatInt(a, 10), "TILE_B " + strconv.FormatInt(b, 10)}
}

// tileSize returns the usual extents of a tile along axes a and b, for form tile and for kernels
// for CPUs.
func (s Spec) tileSize() (a, b int64) {
	switch {
	case s.CPUTarget: // long lines of dst: few words at their ends to merge
		return 256 / int64(s.DstBits), 512
	case s.DstBits == 64:
		return 32, 64
	case s.DstBits == 128:
		return 32, 32
	}
	return 64, 64
}

// transposition is a problem whose sides are dense along different axes: dst along its innermost
// axis, and src along the axis near, counted from the innermost.
type transposition struct {
	*problem
	near int
}

// band is the largest number of blocks of a band along dst's innermost axis.
func (p *transposition) band() int64 {
	if nest.Magnitude(p.inner(p.near).D)*int64(p.dBits)/8 <= bandPitch {
		return bandBlocks
	}
	return 1
}

// transposes returns the form for a transposition of two long axes, if the copy is one.
func (p *transposition) transposes() (Form, refusal) {
	a, b := p.inner(p.near), p.inner(0)
	form, long := Tile, max(4, int64(256/p.dBits))
	if p.dBits < 32 {
		form, long = Transpose, 16
		if p.target.CPU {
			long = int64(64 / p.dBits)
		}
	}
	switch {
	case p.dBits == 1:
		return none, otherWidth
	case p.near == 0:
		return none, notTurned
	case form == Transpose && a.S != 1 && (a.S != -1 || p.target.CPU):
		return none, sourceGaps
	case b.D != 1:
		return none, notDense
	case min(a.N, b.N) < long:
		return none, shortAxes
	case max(a.N, b.N) >= limit:
		return none, longAxes
	}
	return form, ""
}

// transposed offers the tile for a transposition of two long axes.
func (p *tiling) transposed() (offer, refusal) {
	t := &transposition{p.problem, p.nearest()}
	form, why := t.transposes()
	if why != "" {
		return offer{}, why
	}
	spec := p.spec(form)
	switch {
	case form == Tile:
		x := t.tileShape(spec)
		return offer{spec, x.cost.withoutPenalty().cycles(p.bytes), func(k *parameters) (Spec, error) { return spec, t.planTile(k, x) }}, ""
	case p.target.CPU:
		return offer{spec: spec, lay: func(k *parameters) (Spec, error) { return spec, t.planCPUTransposed(k) }}, ""
	}
	x := t.strip(spec)
	return offer{spec, x.cost.withoutPenalty().cycles(p.bytes), func(k *parameters) (Spec, error) { return spec, t.planTranspose(k, spec, x) }}, ""
}

func (p *transposition) planCPUTransposed(k *parameters) error {
	a, b := p.inner(p.near), p.inner(0)
	ta, tb := p.spec(Transpose).tileSize()
	k.ta, k.na, k.da, k.sa = uint32(ta), uint32(a.N), a.D, a.S
	k.tb, k.nb, k.db, k.sb = uint32(tb), uint32(b.N), b.D, b.S
	return k.setOuter(append([]axis{a.Blocks(ta), b.Blocks(tb)}, p.others(0, p.near)...)...)
}

// across is the number of elements of a line that a work-item of a transposition by squares reads.
func (s Spec) across() int64 {
	switch {
	case s.spreads(): // 16 bytes, so that neighbours touch the same sectors
		return max(4, int64(32/s.DstBits))
	case s.Form == TransposedCast:
		return max(s.denseItem(), 8)
	}
	return min(int64(128/s.DstBits), 32)
}

// slots is the number of 16-byte slots of its tile.
func (s Spec) slots() int64 {
	if s.Form == TransposedCast && (s.DstBits == 4 || s.SrcBits <= 8) {
		return 4 * GroupSize
	}
	return 8 * GroupSize
}

// lines is the number of lines that it reads.
func (s Spec) lines() int64 {
	return s.slots() * 128 / (int64(s.DstBits) * GroupSize * s.across())
}

// strip is a shape of a tile of squares (see source/squares.h): the number of indices of the axes
// a and b, and, where a and b are short, of another axis c. Blocks along b are step indices apart.
type strip struct {
	width      int // the logarithm of the number of work-items side by side along a
	ta, tb, tc int64
	step       int64
	c          int  // counted from the innermost axis; 0: none; axis a: blocks of it
	across     bool // 16 bytes of dst are assembled across lines
	cost       cost
}

// planTranspose plans a transposition by squares, for axis a and dst's innermost axis, b.
func (p *transposition) planTranspose(k *parameters, spec Spec, t strip) error {
	if p.inner(p.near).S < 0 {
		p.reverseAxis(p.near)
	}
	a, b := p.inner(p.near), p.inner(0)
	c, but := axis{N: 1}, []int{0, p.near}
	switch {
	case t.c == p.near:
		c, a.N = a.Blocks(t.ta), t.ta
	case t.c > 0:
		c, but = p.inner(t.c), append(but, t.c)
	}
	unit := int64(128 / p.dBits)
	k.flat, k.words = uint32(t.width), uint32(bits.TrailingZeros64(uint64(t.tb/unit)))
	k.ta, k.na, k.da, k.sa = uint32(t.ta), uint32(a.N), a.D, a.S
	k.tb, k.nb, k.db, k.sb = uint32(t.tb), uint32(b.N), b.D, b.S
	k.step, k.rows = uint32(t.step), uint32(rowsOf(b.N, t.tb, t.step))
	k.cut, k.extent, k.d, k.s = uint32(t.tc), c.N, c.D, c.S
	if spec.spreads() && !p.aligned(spec.across(), p.sBase, p.near, func(a axis) int64 { return a.S }) {
		k.length = 1
	}
	if t.across {
		k.span, k.inner = 1, []axis{{N: b.N}, {N: min(a.N, t.ta)}}
	}
	if err := k.setBands(a.Blocks(t.ta), b, p.band(), append([]axis{c.Blocks(t.tc)}, p.others(but...)...)...); err != nil {
		return err
	}
	k.groups = spec.groups(k.blocks, p.target.fewBlocks())
	return nil
}

// blocksOfTable is the number of blocks of a group that begins with a table.
const blocksOfTable = 16

// groups is the number of groups for so many blocks: one per block, because an H100 is up to a
// tenth faster this way than with groups that process several blocks one after the other. Where
// each group begins with a table, there are fewer groups, but at least few if there are as many
// blocks.
func (s Spec) groups(blocks, few int64) int64 {
	if !s.dense() || !s.looksUp() {
		return blocks
	}
	return max(blocks/blocksOfTable, min(blocks, few))
}

// strip chooses the cheapest shape.
func (p *transposition) strip(spec Spec) strip {
	best, least := strip{}, 0.0
	dAligned := p.aligned(sectorBytes*8/int64(p.dBits), p.dBase, 0, func(a axis) int64 { return a.D })
	sAligned := p.aligned(spec.across(), p.sBase, p.near, func(a axis) int64 { return a.S })
	for width := 0; width <= 6; width++ {
		for c := range p.axes {
			if c == p.near && p.inner(p.near).N%(spec.across()<<width) != 0 {
				continue
			}
			t := p.stripOf(spec, width, c, dAligned, sAligned)
			if t.step == 0 {
				continue
			}
			if cycles := t.cost.cycles(p.bytes); least == 0 || cycles < least {
				best, least = t, cycles
			}
		}
	}
	return best
}

// stripOf is the shape of the given width, with indices of axis c; without a step, there is none.
// dAligned and sAligned: lines of dst and src are aligned.
func (p *transposition) stripOf(spec Spec, width, c int, dAligned, sAligned bool) strip {
	a, b := p.inner(p.near), p.inner(0)
	unit := int64(128 / p.dBits)
	t := strip{width: width, ta: spec.across() << width, c: c}
	room := spec.slots() / t.ta * unit
	for t.tb = max(unit, spec.lines()); t.tb < b.N && t.tb < room; t.tb *= 2 {
	}
	t.step, t.tc = t.tb, room/t.tb
	if t.tb < b.N && !dAligned {
		t.step -= sectorBytes * 8 / int64(p.dBits)
	}
	if t.step <= 0 {
		t.step = 0
		return t
	}
	as, bs, cs := a.Blocks(t.ta).N, rowsOf(b.N, t.tb, t.step), int64(1)
	others := p.count() / (a.N * b.N)
	switch {
	case c == p.near:
		cs = as
		as = (as + t.tc - 1) / t.tc
	case c > 0:
		cs = p.inner(c).N
		others = others / cs * ((cs + t.tc - 1) / t.tc)
	}
	nc := min(t.tc, cs)
	t.cost.blocks = as * bs * others
	na, nb := min(a.N, t.ta), min(b.N, t.tb)
	lines := nc * na
	reads := touched(nc*nb, na*int64(p.sBits)/8, sAligned)
	writes := touched(lines, nb*int64(p.dBits)/8, dAligned)
	slots := lines * ((nb + unit - 1) / unit)
	each := (slots + GroupSize - 1) / GroupSize
	apart := int64(1) // of so many lines that a work-item writes, one begins as the first does
	for apart*GroupSize*t.ta/spec.slots()*a.D%unit != 0 {
		apart *= 2
	}
	together := nc * touched(1, ((nb-1)*nest.Magnitude(b.S)+na)*int64(p.sBits)/8, false)
	// Of the kernel's parts, as predicted for several shapes.
	instructions := int64(230)
	switch {
	case sAligned:
		instructions += 85
	case spec.spreads(): // a load per element, as many side by side as there are work-items
		instructions += 200
		reads = min(reads+nc*nb*(na>>min(width, 5)), 2*min(reads, together))
	case spec.Form == TransposedCast: // what follows in a line is read by both neighbours
		instructions += 350
		// In two accesses: sectors of lines near each other are read no more than twice.
		reads = 2 * min(reads, together)
	default: // through local memory, except for the last one
		instructions += 330
		reads = min(reads+nc*nb, 2*together)
	}
	t.across = p.follow(&t) && (!dAligned || b.N%unit > 0)
	switch {
	case t.across:
		items := (lines*b.N/unit + GroupSize - 1) / GroupSize
		instructions += 120 * items
		if p.dBits < 8 { // plus lines that end within 16 bytes
			instructions += (200/int64(p.dBits) + 120*max(0, unit-b.N)/b.N) * items
		}
		writes = touched(1, lines*b.N*int64(p.dBits)/8, false)
	case !dAligned:
		instructions += 44*each + 36*min(apart, each)
	case a.N%t.ta == 0 && b.N%t.tb == 0:
		instructions += 10 * each
	default:
		instructions += 35 * each
	}
	if !t.across && !dAligned { // both ends of lines, or one in blocks at an end of axis b
		kinds := max(1, 3-bs)
		instructions += 300 * ((kinds*nc*t.ta + GroupSize - 1) / GroupSize) * min(bs, 2) / bs
		writes += 2 * lines / bs
	}
	t.cost.instructions, t.cost.sectors, t.cost.passes = instructions, reads+writes, 3*spec.slots()/8
	t.cost.shortLinePenalty = p.shortLinePenalty(na, nb)
	return t
}

// follow reports whether a block has whole lines of dst that follow each other directly.
func (p *transposition) follow(t *strip) bool {
	a, b := p.inner(p.near), p.inner(0)
	if t.tb < b.N || a.D != b.N || a.S < 0 {
		return false
	}
	return t.c == 0 || t.c == p.near || t.tc == 1 || a.N <= t.ta && p.inner(t.c).D == a.N*a.D
}

// count is the number of elements.
func (p *problem) count() int64 {
	n := int64(1)
	for _, a := range p.axes {
		n *= a.N
	}
	return n
}

// aligned reports whether one side's lines, which run along the given axis, begin at multiples of
// unit elements.
func (p *problem) aligned(unit, base int64, along int, step func(axis) int64) bool {
	sum := base
	for i := range p.axes {
		if i != along {
			sum |= step(p.inner(i))
		}
	}
	return sum%unit == 0
}
