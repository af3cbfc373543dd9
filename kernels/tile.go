package kernels

import (
	"slices"
	"strconv"

	"github.com/restride/restride/layout"
)

// Plans for parallel targets, GPUs: a copy whose sides are dense along different
// axes goes through local memory, so that neighbouring work-items both read
// neighbours and write neighbours. (Serial targets transpose only elements below
// a byte in this way.)

// The forms.
const (
	Tile      Form = "tile"      // a transposition
	Transpose Form = "transpose" // the same of elements narrower than a word
	Shuffle   Form = "shuffle"   // a permutation of short axes
	Spread    Form = "spread"    // elements that src repeats along an outer axis
)

const (
	// lineBytes is how much of either side a group reads or writes in one run,
	// at least; sectorBytes is the least that memory moves.
	lineBytes, sectorBytes = 128, 32
	// tileBytes is the size of shuffle's tile. With its tables it takes 32 KiB
	// of local memory at the most, which is what small devices have.
	tileBytes = 16 << 10
	// tableSize is how many entries a table of shuffle has room for.
	tableSize = 768
	// spreadCopies is how many copies of an element a work-item of spread makes.
	spreadCopies = 8
	// fewBlocks is how many blocks are left, at least, when tiles are made larger.
	fewBlocks = 1 << 10
)

// tileSpecs lists the kernels of this file's forms.
func tileSpecs() []Spec {
	var all []Spec
	add := func(form Form, bits ...uint8) {
		for _, b := range bits {
			all = append(all, Spec{Form: form, DstBits: b, SrcBits: b})
			if form == Shuffle || form == Spread {
				all = append(all, Spec{Form: form, DstBits: b, SrcBits: b, Wide: true})
			}
		}
	}
	add(Tile, 32, 64, 128)
	add(Transpose, 2, 4, 8, 16)
	add(Shuffle, 8, 16, 32, 64, 128)
	add(Spread, 32, 64, 128)
	for _, b := range []uint8{2, 4} {
		all = append(all, Spec{Form: Transpose, DstBits: b, SrcBits: b, Serial: true})
	}
	return all
}

// tileSize returns the extents of a tile or transpose kernel's tile along axes a and b.
func (s Spec) tileSize() (a, b int64) {
	switch {
	case s.Serial: // long lines of dst, for few words at their ends to merge
		return 256 / int64(s.DstBits), 512
	case s.DstBits == 2:
		return 256, 256
	case s.DstBits == 4:
		return 256, 128
	case s.DstBits == 8:
		return 128, 128
	case s.DstBits == 64:
		return 32, 64
	case s.DstBits == 128:
		return 32, 32
	}
	return 64, 64
}

// tileDefines are the macros of this file's forms.
func (s Spec) tileDefines() []string {
	switch s.Form {
	case Tile, Transpose:
		a, b := s.tileSize()
		return []string{"TILE_A " + strconv.FormatInt(a, 10), "TILE_B " + strconv.FormatInt(b, 10)}
	case Shuffle:
		return []string{"TABLE " + strconv.Itoa(tableSize), "SLOTS " + strconv.Itoa(tileBytes*8/int(s.DstBits))}
	}
	return nil
}

// planTiles chooses among this file's forms; false: none of them fits.
func (p *problem) planTiles(k *parameters) (Spec, bool, error) {
	if len(p.axes) < 2 {
		return Spec{}, false, nil
	}
	if p.scattered() {
		if form, near := p.transposes(); form != "" {
			spec := p.spec(form)
			return spec, true, p.planTile(k, spec, near)
		}
		if p.dBits >= 8 {
			if t := p.shuffles(); t != nil {
				spec, err := t.plan(k)
				return spec, true, err
			}
		}
	}
	if p.dBits >= 32 {
		if c := p.repeats(); c > 0 {
			spec, err := p.planSpread(k, c)
			return spec, true, err
		}
	}
	return Spec{}, false, nil
}

// srcOrder lists the axes, counted from dst's innermost one, in the order of src's
// steps; without those along which it repeats elements.
func (p *problem) srcOrder() []int {
	var order []int
	for i := range p.axes {
		if p.inner(i).s != 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := magnitude(p.inner(i).s), magnitude(p.inner(j).s)
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	return order
}

// dstOrder is the same for dst: 0, 1, 2, ...
func (p *problem) dstOrder() []int {
	order := make([]int, len(p.axes))
	for i := range order {
		order[i] = i
	}
	return order
}

// sectors is about how many sectors of src a line's worth of elements takes, if
// they are taken in this order of axes.
func (p *problem) sectors(order []int) float64 {
	need := float64(lineBytes * 8 / p.dBits)
	perSector := float64(sectorBytes * 8 / p.dBits)
	got, sectors := 1.0, 1.0
	for _, i := range order {
		if got >= need {
			break
		}
		a := p.inner(i)
		n := min(float64(a.n), need/got)
		got *= n
		sectors *= min(n, max(1, n*float64(magnitude(a.s))/perSector))
	}
	return sectors * need / got
}

// scattered reports whether a line of dst comes from so many locations in src that
// it pays to go through local memory.
func (p *problem) scattered() bool {
	return p.sectors(p.dstOrder()) >= 2*p.sectors(p.srcOrder())
}

// transposes returns the form for a transposition of two long axes, if that is
// what the copy is, and the axis along which src is dense.
func (p *problem) transposes() (Form, int) {
	near := p.nearest()
	a, b := p.inner(near), p.inner(0)
	form, long := Tile, int64(layout.LongSide)
	switch {
	case p.dBits >= 32:
	case a.s != 1:
		return "", 0
	case p.target.Serial:
		form, long = Transpose, int64(64/p.dBits)
	default:
		form, long = Transpose, max(layout.LongSide, min(48, int64(512/p.dBits)))
	}
	if near == 0 || b.d != 1 || min(a.n, b.n) < long || max(a.n, b.n) >= limit {
		return "", 0
	}
	return form, near
}

// planTile plans a transposition of axis a and dst's innermost one, b.
func (p *problem) planTile(k *parameters, spec Spec, near int) error {
	a, b := p.inner(near), p.inner(0)
	ta, tb := spec.tileSize()
	k.ta, k.na, k.da, k.sa = uint32(ta), uint32(a.n), a.d, a.s
	k.tb, k.nb, k.db, k.sb = uint32(tb), uint32(b.n), b.d, b.s
	return k.setOuter(append([]axis{a.blocks(ta), b.blocks(tb)}, p.others(0, near)...)...)
}

// blocks is the axis of blocks of n indices each.
func (a axis) blocks(n int64) axis { return axis{(a.n + n - 1) / n, n * a.d, n * a.s} }

// others returns the axes but these, innermost first.
func (p *problem) others(but ...int) []axis {
	var others []axis
	for i := range p.axes {
		if !slices.Contains(but, i) {
			others = append(others, p.inner(i))
		}
	}
	return others
}

// repeats returns an axis along which src repeats its elements, and dst's rows
// within it are long enough to be written one after the other; 0: there is none.
func (p *problem) repeats() int {
	row := p.inner(0).n * int64(p.dBits) / 8
	for i := 1; i < len(p.axes) && p.dense(); i++ {
		a := p.inner(i)
		if a.s == 0 && a.n >= 4 && a.n < limit && row >= lineBytes {
			return i
		}
		row *= a.n
	}
	return 0
}

// planSpread plans a copy of elements that src repeats along axis c.
func (p *problem) planSpread(k *parameters, c int) (Spec, error) {
	spec := p.spec(Spread)
	a := p.inner(c)
	copies := min(a.n, spreadCopies)
	k.na, k.ta, k.da = uint32(a.n), uint32(copies), a.d
	axes := p.others(c)
	if len(axes) == 0 {
		axes = []axis{{n: 1}}
	}
	if err := k.cutItems(axes, itemsPerBlock); err != nil {
		return spec, err
	}
	spec.Wide = k.wide()
	k.outer = slices.Insert(k.outer, 1, a.blocks(copies))
	outer := k.outer
	k.outer = nil
	return spec, k.setOuter(outer...)
}

// shape is a tile of several axes: of each of the problem's axes, how many indices.
type shape struct {
	p        *problem
	src, dst []int // the tile's axes in the order of either side
	a, b     int   // the last axes of the sides' leading ones: either may be cut
	sLow     int   // how many of src's are leading
	dLow     int
	n        []int64
}

// shuffles returns the tile for a permutation of short axes, if that is what the copy
// is.
func (p *problem) shuffles() *shape {
	src, dst := p.srcOrder(), p.dstOrder()
	for need := int64(lineBytes * 8 / p.dBits); need*int64(p.dBits) >= sectorBytes*8; need /= 2 {
		if t := p.shape(src, dst, need); t != nil && t.fits() {
			t.grow()
			return t
		}
	}
	return nil
}

// shape makes a tile of the leading axes of both sides, until there are as many
// elements as needed.
func (p *problem) shape(src, dst []int, need int64) *shape {
	t := &shape{p: p, n: make([]int64, len(p.axes))}
	lead := func(order []int) int {
		size := int64(1)
		for low, i := range order {
			n := p.inner(i).n
			cut := min(n, (need+size-1)/size)
			t.n[i] = max(t.n[i], cut)
			if size *= cut; size >= need || low == len(order)-1 {
				return low + 1
			}
		}
		return 0
	}
	t.sLow, t.dLow = lead(src), lead(dst)
	if t.sLow == 0 || t.dLow == 0 {
		return nil
	}
	t.a, t.b = src[t.sLow-1], dst[t.dLow-1]
	t.src = union(src[:t.sLow], dst[:t.dLow])
	t.dst = union(dst[:t.dLow], src[:t.sLow])
	return t
}

// union returns low and then the rest of what is in other, whose last is kept last.
func union(low, other []int) []int {
	all := slices.Clone(low)
	for _, i := range other {
		if !slices.Contains(low, i) {
			all = append(all, i)
		}
	}
	return all
}

func (t *shape) size(axes []int) int64 {
	size := int64(1)
	for _, i := range axes {
		size *= t.n[i]
	}
	return size
}

// fits reports whether the tile and its tables fit the kernel's memory.
func (t *shape) fits() bool {
	if t.p.inner(t.a).n >= limit || t.p.inner(t.b).n >= limit {
		return false
	}
	if t.size(t.src) > int64(tileBytes*8/t.p.dBits) {
		return false
	}
	for _, parts := range [][]axis{t.parts(t.src, t.sLow), t.parts(t.dst, t.dLow)} {
		if parts[0].n+parts[1].n > tableSize {
			return false
		}
	}
	return true
}

// grow makes the tile larger along its two cut axes, the side with the shorter
// runs first, while there remain enough blocks.
func (t *shape) grow() {
	blocks := int64(1)
	for i := range t.n {
		blocks *= (t.p.inner(i).n + max(t.n[i], 1) - 1) / max(t.n[i], 1)
	}
	for sides := []bool{true, true}; blocks >= 2*fewBlocks && (sides[0] || sides[1]); {
		side, i := 0, t.a
		if !sides[0] || sides[1] && t.size(t.dst[:t.dLow]) < t.size(t.src[:t.sLow]) {
			side, i = 1, t.b
		}
		old, n := t.n[i], t.p.inner(i).n
		t.n[i] = min(n, 2*old)
		if sides[side] = t.n[i] > old && t.fits(); sides[side] {
			blocks = blocks / ((n + old - 1) / old) * ((n + t.n[i] - 1) / t.n[i])
		} else {
			t.n[i] = old
		}
	}
	for _, i := range []int{t.a, t.b} { // cuts of about one size
		n := t.p.inner(i).n
		cuts := (n + t.n[i] - 1) / t.n[i]
		t.n[i] = (n + cuts - 1) / cuts
	}
}

// parts returns how the kernel splits an element's number in the order of one side:
// the sizes of the low and the high part, then the axes of both, each with its extent,
// its number (d), and how many of its indices an index of the part counts for (s).
func (t *shape) parts(order []int, low int) []axis {
	var axes []axis
	for _, i := range order {
		axes = append(axes, axis{t.n[i], int64(i), 1})
	}
	if low == len(order) { // no high part: split the last axis
		last := axes[low-1]
		n := (last.n + 31) / 32
		axes[low-1].n = n
		axes = append(axes, axis{(last.n + n - 1) / n, last.d, n})
	}
	sizes := []axis{{n: 1}, {n: 1}}
	for j, a := range axes {
		part := 0
		if j >= low {
			part = 1
		}
		sizes[part].n *= a.n
	}
	return append(sizes, axes...)
}

// plan sets the parameters.
func (t *shape) plan(k *parameters) (Spec, error) {
	p := t.p
	same := t.a == t.b
	ta, tb := t.n[t.a], t.n[t.b]
	a, b := p.inner(t.a), p.inner(t.b)
	cuts := []axis{a.blocks(ta), b.blocks(tb)}
	k.ta, k.na, k.tb, k.nb = uint32(ta), uint32(a.n), uint32(tb), uint32(b.n)
	k.flat = uint32(t.size(t.src) / ta)
	if same {
		cuts[1] = axis{n: 1}
		k.tb, k.nb, k.span = 1, 1, 1
	} else {
		k.flat /= uint32(tb)
	}

	// Where an element lies in the tile: one after the other in dst's order.
	slot := make([]int64, len(t.n))
	for size, j := int64(1), 0; j < len(t.dst); j++ {
		slot[t.dst[j]] = size
		size *= t.n[t.dst[j]]
	}
	list := func(order []int, low, last int, d func(int) int64) (axes []axis, entries int64) {
		parts := t.parts(order, low)
		edge := parts[0]
		if low < len(order) { // the low part of a block at the end of its last axis
			n := p.inner(last).n
			edge.n = edge.n / t.n[last] * ((n-1)%t.n[last] + 1)
		}
		axes = []axis{parts[0], edge}
		for _, part := range parts[2:] {
			i := int(part.d)
			axes = append(axes, axis{part.n, part.s * d(i), part.s * p.inner(i).s})
		}
		return axes, parts[0].n + parts[1].n
	}
	k.inner, k.extent = list(t.src, t.sLow, t.a, func(i int) int64 { return slot[i] })
	k.run, k.length = list(t.dst, t.dLow, t.b, func(i int) int64 { return p.inner(i).d })
	k.cut, k.words = uint32(t.sLow), uint32(t.dLow)

	d, s := int64(0), int64(0)
	for _, i := range t.src {
		d += (t.n[i] - 1) * magnitude(p.inner(i).d)
		s += (t.n[i] - 1) * magnitude(p.inner(i).s)
	}
	spec := p.spec(Shuffle)
	spec.Wide = d >= limit || s >= limit
	return spec, k.setOuter(append(cuts, p.others(t.src...)...)...)
}
