package planner

import "strconv"

// tileRoom is the local memory of form tile, in bytes: room for lines that are one element longer
// than necessary.
const tileRoom = 17 << 10

// partialEndsCost is the share of memory's time that is added where two blocks complete a line of
// dst, times the square of the line's bytes: memory writes the sectors at its ends twice, and
// reads them in between. On an H100 it was 38 % for lines of 256 bytes, 10 to 19 % for 512, and 7
// % for 704.
const partialEndsCost = 25e3

// tileShape is the shape of a block of form tile: the number of indices of the axes a and b, and,
// where a and b are short, of a third axis c.
type tileShape struct {
	a, b, c       int64
	step          int64 // of blocks along b: less than b where they overlap
	axis          int   // c, counted from the innermost axis; 0: none
	reads, writes int64 // lines that a work-item reads, and writes
	cost          cost
}

// readers and writers are the number of work-items below each other.
func (t *tileShape) readers() int64 { return (t.b + t.reads - 1) / t.reads }
func (t *tileShape) writers() int64 { return (t.a + t.writes - 1) / t.writes }

// tileDefines are the macros of form tile.
func tileDefines(s Spec) []string {
	a, b := s.tileSize()
	return []string{
		"TILE_A " + strconv.FormatInt(a, 10), "TILE_B " + strconv.FormatInt(b, 10),
		"TILE " + strconv.Itoa(tileRoom*8/int(s.DstBits)),
	}
}

// planTile plans form tile for axis a and dst's innermost axis, b.
func (p *transposition) planTile(k *parameters, t tileShape) error {
	a, b, but := p.inner(p.near), p.inner(0), []int{0, p.near}
	var cuts []axis
	k.cut = uint32(t.c)
	if t.axis > 0 {
		c := p.inner(t.axis)
		k.extent, k.d, k.s = c.N, c.D, c.S
		cuts, but = append(cuts, c.Blocks(t.c)), append(but, t.axis)
	}
	k.ta, k.na, k.da, k.sa = uint32(t.a), uint32(a.N), a.D, a.S
	k.tb, k.nb, k.db, k.sb = uint32(t.b), uint32(b.N), b.D, b.S
	k.step, k.rows = uint32(t.step), uint32(rowsOf(b.N, t.b, t.step))
	k.inner = []axis{{N: t.a}, {N: t.readers(), D: t.reads}, {N: t.b}, {N: t.writers(), D: t.writes}}
	return k.setBands(a.Blocks(t.a), b, p.band(), append(cuts, p.others(but...)...)...)
}

// tileShape chooses the cheapest shape. The usual size is preferred unless others are much better:
// it needs fewer instructions.
func (p *transposition) tileShape(spec Spec) tileShape {
	ta, tb := spec.tileSize()
	sector := sectorBytes * 8 / int64(p.dBits)
	overlaps, partial := []int64{0}, !p.aligned(sector, p.dBase, 0, func(a axis) int64 { return a.D })
	if partial {
		overlaps = []int64{sector, 0}
	}
	best := p.tileShapeOf(0, ta, tb, overlaps[0], partial)
	best.cost.instructions -= best.cost.instructions / 8
	least := best.cost.cycles(p.bytes)
	try := func(t tileShape) {
		if cycles := t.cost.cycles(p.bytes); t.c > 0 && cycles < least {
			best, least = t, cycles
		}
	}
	for _, a := range p.extents(p.inner(p.near).N) {
		for _, b := range p.extents(p.inner(0).N) {
			for c := range p.axes {
				if c == p.near || c > 0 && (a < p.inner(p.near).N || b < p.inner(0).N) {
					continue
				}
				for _, overlap := range overlaps {
					try(p.tileShapeOf(c, a, b, overlap, partial))
				}
			}
		}
	}
	return best
}

// extents are the extents of a block to try along an axis of n indices: the axis in a few equal
// parts, or whole sectors.
func (p *transposition) extents(n int64) []int64 {
	var all []int64
	whole := max(1, sectorBytes*8/int64(p.dBits))
	for parts := int64(1); parts <= 8; parts++ {
		each := (n + parts - 1) / parts
		if parts > 1 {
			each = (each + whole - 1) / whole * whole
		}
		if each <= GroupSize {
			all = append(all, each)
		}
	}
	for each := max(whole, 16); each < min(n, GroupSize+1); each += max(whole, 16) {
		all = append(all, each)
	}
	return all
}

// tileShapeOf is the shape with the given numbers of indices of a and b, and as many of c as there
// is room for; a shape without indices if there is none. Where there are several blocks along b,
// they overlap by overlap. partial: lines of dst do not begin on sectors.
func (p *transposition) tileShapeOf(c int, a, b, overlap int64, partial bool) tileShape {
	size := int64(p.dBits / 8)
	loads := 64 / size
	if p.dBits == 32 {
		loads = 20
	}
	several := b < p.inner(0).N
	t := tileShape{a: a, b: b, step: b, axis: c}
	if several {
		t.step -= overlap
	}
	if t.step <= 0 {
		return t
	}
	most := int64(1)
	if c > 0 {
		most = p.inner(c).N
	}
	most = min(most, GroupSize/max(a, b), tileRoom/size/((a|1)*b))
	for ; most > 0; most-- {
		readers, writers := GroupSize/(a*most), GroupSize/(b*most)
		t.reads, t.writes = (b+readers-1)/readers, (a+writers-1)/writers
		if max(t.reads, t.writes) <= loads {
			break
		}
	}
	if t.c = most; t.c == 0 {
		return t
	}
	blocks := p.inner(p.near).Blocks(a).N * rowsOf(p.inner(0).N, b, t.step)
	for i := range p.axes {
		switch n := p.inner(i).N; {
		case i == 0 || i == p.near:
		case i == c:
			blocks *= (n + t.c - 1) / t.c
		default:
			blocks *= n
		}
	}
	na, nb := min(a, p.inner(p.near).N), min(b, p.inner(0).N)
	t.cost = cost{
		blocks: blocks,
		// As predicted for several shapes.
		instructions:     150 + 7*(t.reads+t.writes),
		sectors:          touched(nb*t.c, na*size, false) + touched(na*t.c, nb*size, false),
		passes:           2 * na * nb * t.c * size / lineBytes,
		shortLinePenalty: p.shortLinePenalty(na, nb),
	}
	switch {
	case t.step < b:
		t.cost.instructions += 6 * t.writes
	case several && partial:
		t.cost.shortLinePenalty += partialEndsCost / float64(nb*size*nb*size)
	}
	return t
}
