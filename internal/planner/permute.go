package planner

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"

	"github.com/restride/restride/internal/nest"
)

const (
	// groupBits is log2(GroupSize).
	groupBits = 8
	// permuteOuter is the largest number of axes of blocks in a launch of permute, and
	// permuteStages the largest number of exchanges: two for each bit of a word.
	permuteOuter, permuteStages = 12, 8
	// permuteRoom is the number of axes that its parameters fill: see source/permute.h.
	permuteRoom = permuteOuter + (2+2*(groupBits+4)+permuteStages+1)/2
)

// permuteSpecs lists the kernels of this form.
func permuteSpecs() []Spec {
	var all []Spec
	for _, b := range []uint8{2, 4, 8, 16} {
		all = append(all, Spec{Form: Permute, DstBits: b, SrcBits: b})
	}
	return all
}

// wordBits is the number of bits of an element's number that select it in a word, and registerBits
// the number of bits that select one of a work-item's words.
func wordBits(width int) int     { return bits.TrailingZeros(uint(32 / width)) }
func registerBits(width int) int { return max(3, wordBits(width)) }

// permuteBlocks is Spec.minBlocksPerSM for this form.
func permuteBlocks(s Spec) int { return 8 >> (registerBits(int(s.DstBits)) - 3) }

// permuteDefines are the macros of this form.
func permuteDefines(s Spec) []string {
	registers := registerBits(int(s.DstBits))
	return []string{
		"LOG " + strconv.Itoa(wordBits(int(s.DstBits))),
		"REGISTERS " + strconv.Itoa(registers),
		"WORDS " + strconv.Itoa(1<<registers),
		"OUTER " + strconv.Itoa(permuteOuter),
		"STAGES " + strconv.Itoa(permuteStages),
	}
}

// bit is a bit of the index along an axis, counted from dst's innermost one.
type bit struct{ axis, level int }

// permutation is a tile of a copy: the low bits of indices along some of the axes.
type permutation struct {
	p     *problem
	axes  []axis   // from dst's innermost one outwards, then gaps
	n     []int    // number of bits of each axis
	tile  []bit    // all bits
	cut   []int    // axes whose extent is not a multiple of the tile's
	words [2][]bit // the bits within a word of dst and of src, lowest first
	base  [2]int64 // where each side's first word begins
	gaps  [2][]bit // the gaps among words: see gaps.go
	lived [2]int64 // the existing index of each gap, as bits of an element's number in a word
}

// The sides of a copy.
const (
	toDst = iota
	fromSrc
)

// step is a side's step along a bit, in elements.
func (t *permutation) step(side int, b bit) int64 {
	if side == toDst {
		return t.axes[b.axis].D << b.level
	}
	return t.axes[b.axis].S << b.level
}

// permutes returns the tile of a permutation within and between words, if the copy is one: on both
// sides, powers of two of the indices along some axes fill words.
func (p *tiling) permutes() (*permutation, refusal) {
	in := p.inner(0)
	rows := nest.Magnitude(in.S) == 1 && in.N*int64(p.dBits) >= sectorBytes*8
	switch {
	case p.dBits == 1 || p.dBits > 16:
		return nil, otherWidth
	case rows:
		return nil, sourceRows
	}
	t := &permutation{p: p.problem, axes: p.innermostFirst(), n: make([]int, len(p.axes)), base: [2]int64{p.dBase, p.sBase}}
	for _, a := range t.axes {
		switch {
		case a.S == 0:
			return nil, repeatsAxis
		case a.N >= limit || nest.Magnitude(a.S) >= limit || a.D >= limit:
			return nil, longAxes
		}
	}
	t.pad()
	for side := range t.words {
		if t.words[side] = t.fill(side); t.words[side] == nil {
			return nil, noWords
		}
	}
	for _, b := range t.words[fromSrc] {
		if t.backwards(b) { // a word begins at its last element
			t.base[fromSrc] += t.step(fromSrc, b)
		}
	}
	if !t.join() {
		return nil, noWords
	}
	for _, word := range t.words {
		for _, b := range word {
			t.n[b.axis] = max(t.n[b.axis], b.level+1)
		}
	}
	if !t.grow() {
		return nil, noTile
	}
	for side := range t.words {
		reach := int64(0)
		for _, b := range t.tile {
			reach += nest.Magnitude(t.step(side, b))
		}
		if reach >= limit/2 {
			return nil, longAxes
		}
	}
	return t, ""
}

// fill returns the bits whose elements fill a word of a side.
func (t *permutation) fill(side int) []bit {
	var word []bit
	n := make([]int, len(t.n))
	for j := range wordBits(t.p.dBits) {
		found := -1
		for i := range n {
			if n[i] < t.even(i) && nest.Magnitude(t.step(side, bit{i, n[i]})) == 1<<j {
				found = i
				break
			}
		}
		if found < 0 {
			g, ok := t.gap(side, j, n)
			if !ok {
				return nil
			}
			word = append(word, g)
			continue
		}
		word = append(word, bit{found, n[found]})
		n[found]++
	}
	return word
}

// aligned reports whether everything on a side begins at multiples of per elements, ignoring the
// bits in but.
func (t *permutation) aligned(side int, base, per int64, but ...bit) bool {
	for i := range t.n {
		level := 0
		for slices.Contains(but, bit{i, level}) {
			level++
		}
		if t.axes[i].N > 1<<level && t.step(side, bit{i, level})%per != 0 {
			return false
		}
	}
	return base%per == 0
}

// neighbours returns the bits that select among four consecutive words of a side, if these are in
// the tile.
func (t *permutation) neighbours(side int) []bit {
	per := int64(32 / t.p.dBits)
	var found []bit
	for j := range int64(2) {
		i := slices.IndexFunc(t.tile, func(b bit) bool { return t.step(side, b) == per<<j })
		if i < 0 {
			return nil
		}
		found = append(found, t.tile[i])
	}
	return found
}

// rest returns the tile's other bits, smallest steps of the side first.
func (t *permutation) rest(side int, but ...bit) []bit {
	rest := without(t.tile, but)
	slices.SortStableFunc(rest, func(a, b bit) int {
		return int(nest.Magnitude(t.step(side, a)) - nest.Magnitude(t.step(side, b)))
	})
	return rest
}

// How a side's words are read or written: see source/permute.h.
const (
	vectors = iota
	aligned
	runs
	shifted
	loose
	masked
	joined
	halves
	looseHalves
)

// access is how a side is read or written.
type access struct {
	how       uint32
	registers []bit // which select among a work-item's words
	items     []bit // which select the work-item
	unit      int64 // elements in a step of registers
}

// access chooses how a side is accessed; the bits in must are among the registers.
func (t *permutation) access(side int, must []bit) access {
	base := t.base[side]
	per := int64(32 / t.p.dBits)
	word := t.words[side]
	four := t.neighbours(side)
	a := access{how: aligned, unit: per}
	switch {
	case t.aligned(side, base, per, word...):
		if side == toDst && t.masked() != 0xffffffff {
			a.how = masked
		} else if four != nil && t.aligned(side, base, 4*per, slices.Concat(word, four)...) {
			a.how = vectors
		}
	case side == fromSrc:
		a.how = shifted
		if four != nil {
			a.how = runs
		}
	case t.masked() == 0xffffffff && t.aligned(side, base, per/2, word[:len(word)-1]...):
		a.how = halves
	default:
		a.how = shifted
		if four != nil && t.masked() == 0xffffffff {
			a.how = joined
		}
	}

	most := registerBits(t.p.dBits)
	if a.how == vectors || a.how == runs {
		first := slices.Clone(four)
		for _, b := range must {
			if !slices.Contains(four, b) {
				first = append(first, b)
			}
		}
		if len(first) <= most {
			must = first
		} else {
			a.how++ // aligned or shifted
		}
	}
	rest := t.rest(side, slices.Concat(word, must)...)
	more := len(rest) - (most - len(must))
	a.registers, a.items = slices.Concat(must, rest[more:]), rest[:more]
	if side == toDst { // the bits of the written words come first
		a.registers = append(without(a.registers, t.gaps[fromSrc]), t.gaps[fromSrc]...)
	}
	if slices.ContainsFunc(a.registers, func(b bit) bool { return t.step(side, b)%per != 0 }) {
		a.unit = 1
		if a.how == halves {
			a.how = looseHalves
		} else {
			a.how = loose
		}
	}
	if side == toDst && a.how == aligned && len(t.gaps[fromSrc]) > 0 {
		a.how = masked
	}
	if a.how == joined && !slices.Equal(a.items[:len(four)], four) {
		a.how = shifted
	}
	return a
}

// plan sets the parameters; false: there is no room for them.
func (t *permutation) plan(k *parameters) (Spec, bool) {
	p := t.p
	w := t.early()
	if late := t.late(); t.wayCost(late) < t.wayCost(w) {
		w = late
	}

	// The blocks: first the axes that the tile does not divide.
	var cut []int
	for i := range t.n {
		if t.axes[i].N > t.extent(i) {
			cut = append(cut, i)
		}
	}
	slices.SortStableFunc(cut, func(i, j int) int { return t.whole(i) - t.whole(j) })
	cut = append(cut, len(t.n), len(t.n)) // trivial axes
	a, b := p.inner(cut[0]), p.inner(cut[1])
	ta, tb := t.extent(cut[0]), t.extent(cut[1])
	k.na, k.ta, k.nb, k.tb = uint32(a.N), uint32(ta), uint32(b.N), uint32(tb)
	var outer []axis
	for i, c := range cut {
		if x := p.inner(c).Blocks(t.extent(c)); i < 2 || x.N > 1 {
			outer = append(outer, x)
		}
	}
	if len(outer) > permuteOuter || k.setOuter(outer...) != nil {
		return Spec{}, false
	}
	k.run = make([]axis, permuteOuter-len(outer)) // the following fields have fixed places
	p.d.add += (t.base[toDst] - p.dBase) << p.d.shift
	p.s.add += (t.base[fromSrc] - p.sBase) << p.s.shift

	le := binary.LittleEndian
	add := func(values ...uint32) {
		for _, v := range values {
			k.more = le.AppendUint32(k.more, v)
		}
	}
	late := uint32(0)
	if w.late {
		late = 1
	}
	add(uint32(len(w.stages)), late, w.slot, w.src.how, w.dst.how, t.masked(), 1<<(len(w.dst.registers)-len(t.gaps[fromSrc])), 0)
	places := func(side int, x access, held []bit) {
		for _, b := range x.items {
			add(uint32(t.step(side, b)), w.slots[b], t.index(cut[0], b), t.index(cut[1], b))
		}
		for j, b := range x.registers {
			add(uint32(t.step(side, b)/x.unit), w.slots[held[j]], t.index(cut[0], b), t.index(cut[1], b))
		}
	}
	if w.late {
		places(fromSrc, w.src, w.src.registers)
		places(toDst, w.dst, w.held)
	} else {
		places(fromSrc, w.src, w.held)
		places(toDst, w.dst, w.dst.registers)
	}
	for _, s := range w.stages {
		add(s.with, s.shift, s.mask, s.bytes)
	}
	add(make([]uint32, 4*(permuteStages-len(w.stages)))...)
	return p.spec(Permute), true
}

// whole is a sort key for axes: 0 for axes that the tile does not divide, else 1.
func (t *permutation) whole(i int) int {
	if slices.Contains(t.cut, i) {
		return 0
	}
	return 1
}

// extent is the number of indices of an axis in the tile.
func (t *permutation) extent(i int) int64 {
	if i == len(t.n) {
		return 1
	}
	return 1 << t.n[i]
}

// index is what a bit adds to the index along an axis.
func (t *permutation) index(axis int, b bit) uint32 {
	if b.axis != axis {
		return 0
	}
	return 1 << b.level
}
