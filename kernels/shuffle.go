package kernels

import (
	"slices"
	"strconv"
)

// Shuffle is the form of a permutation of short axes.
const Shuffle Form = "shuffle"

// With its tables a shuffle's tile takes less than 32 KiB of local memory, which is what
// small devices have.
const (
	tileBytes = 18 << 10 // the tile
	tableSize = 256      // rows of src in it, and runs of dst
	lowSize   = 1024     // elements of a run whose places are kept
	vector    = 16       // bytes of a load
)

// What parameters.span says: see source/shuffle.h.
const (
	spanSame = 1 << iota
	spanRowB
	spanBackwards
	spanRunA
	spanEven
	spanFull
	spanAligned
)

// shuffleSpecs lists the kernels of this form.
func shuffleSpecs() []Spec {
	var all []Spec
	for _, b := range []uint8{8, 16, 32, 64, 128} {
		for _, wide := range []bool{false, true} {
			all = append(all, Spec{Form: Shuffle, DstBits: b, SrcBits: b, Wide: wide})
		}
	}
	return all
}

// shuffleDefines are the macros of this form.
func (s Spec) shuffleDefines() []string {
	return []string{
		"TABLE " + strconv.Itoa(tableSize), "LOW " + strconv.Itoa(lowSize),
		"VECTORS " + strconv.Itoa(tileBytes/vector),
	}
}

// shape is a tile of several axes: of each of the problem's axes, how many indices. In
// either side's order of axes it has the leading ones, whose last may be cut. Sizes and
// steps in memory are in bytes.
type shape struct {
	p          *problem
	size       int64 // of an element
	src, dst   []int // the axes in the order of either side
	sLow, dLow int   // how many of them are leading
	n          []int64

	pitch         []int64 // the step of each axis in the tile
	row, rows     []int   // src's axes: those within a row, and of the rows
	run, runs     []int   // dst's: those within a run, and of the runs
	span, length  int64   // the bytes of a row, the elements of a run
	bytes         int64   // of the tile
	across, parts int64   // threads along a row, and the pieces of a row for that
	words, pieces int64   // the same of a run
	piece         int64   // elements of a piece of a run
	sEven, dEven  bool    // rows begin at vectors, and runs at words
}

// shuffles returns the tile for a permutation of short axes, if that is what the copy
// is.
func (p *problem) shuffles() *shape {
	size := int64(p.dBits / 8)
	t := &shape{p: p, size: size, src: p.srcOrder(), dst: p.dstOrder(), n: make([]int64, len(p.axes)), pitch: make([]int64, len(p.axes))}
	if len(t.src) == 0 || p.dBits < 32 && !p.dense() {
		return nil
	}
	for _, a := range p.axes {
		if a.n >= limit {
			return nil
		}
	}
	for need := lineBytes / size; need*size >= sectorBytes; need /= 2 {
		t.lead(need)
		if t.lay() {
			t.grow()
			return t
		}
	}
	return nil
}

// lead takes leading axes of both sides into the tile, until there are as many elements
// as needed.
func (t *shape) lead(need int64) {
	for i := range t.n {
		t.n[i] = 1
	}
	lead := func(order []int) int {
		size := int64(1)
		for low, i := range order {
			n := t.p.inner(i).n
			cut := min(n, (need+size-1)/size)
			t.n[i] = max(t.n[i], cut)
			if size *= cut; size >= need {
				return low + 1
			}
		}
		return len(order)
	}
	t.sLow, t.dLow = lead(t.src), lead(t.dst)
}

// cut reports whether the tile has a part of an axis only.
func (t *shape) cut(i int) bool { return t.n[i] < t.p.inner(i).n }

func (t *shape) count(axes []int) int64 {
	n := int64(1)
	for _, i := range axes {
		n *= t.n[i]
	}
	return n
}

// lay lays the tile out, if it fits the kernel's memory.
func (t *shape) lay() bool {
	t.layRows()
	t.layRuns()
	if t.bytes > tileBytes || t.count(t.rows) > tableSize || t.count(t.runs) > tableSize {
		return false
	}
	t.across, t.parts = spread(t.vectors(), t.count(t.rows))
	return t.parts > 0 && t.splitRuns()
}

// layRows finds what of the tile lies together in src: a row, read by vectors, whole. An
// element and its place in the tile are equally far from a vector's begin.
func (t *shape) layRows() {
	t.row, t.rows = t.row[:0], t.rows[:0]
	end, joins := t.size, true
	t.span = end
	for _, i := range t.src {
		if t.n[i] == 1 {
			continue
		}
		step := magnitude(t.p.inner(i).s) * t.size
		if joins = joins && step-end < vector; joins { // each vector of a row has some of it
			t.row = append(t.row, i)
			t.pitch[i] = step
			end += (t.n[i] - 1) * step
			t.span = end
			joins = !t.cut(i)
			continue
		}
		t.rows = append(t.rows, i)
		least := end + vector - 1
		t.pitch[i] = least + (step-least)&(vector-1)
		end += (t.n[i] - 1) * t.pitch[i]
	}
	t.bytes = end + 2*(vector-1)
	t.sEven = t.even(t.row, vector, t.p.sBase, func(a axis) int64 { return a.s })
}

// layRuns finds what of the tile lies together in dst.
func (t *shape) layRuns() {
	t.run, t.runs = t.run[:0], t.runs[:0]
	t.length = 1
	joins := true
	for _, i := range t.dst {
		if t.n[i] == 1 {
			continue
		}
		if joins = joins && t.p.inner(i).d == t.length; joins {
			t.run = append(t.run, i)
			t.length *= t.n[i]
			joins = !t.cut(i)
			continue
		}
		t.runs = append(t.runs, i)
	}
	t.dEven = t.even(t.run, 4, t.p.dBase, func(a axis) int64 { return a.d })
}

// even reports whether what lies together along the given axes begins at multiples of so
// many bytes everywhere.
func (t *shape) even(within []int, bytes, base int64, step func(axis) int64) bool {
	sum := base * t.size
	for i := range t.n {
		s := step(t.p.inner(i)) * t.size
		if !slices.Contains(within, i) {
			sum |= s
			continue
		}
		if t.cut(i) {
			sum |= s * t.n[i]
		}
		if s < 0 {
			sum |= s * (t.n[i] - 1)
		}
	}
	return sum&(bytes-1) == 0
}

// vectors is how many of them a row touches.
func (t *shape) vectors() int64 {
	if t.sEven {
		return (t.span + vector - 1) / vector
	}
	return (t.span+vector-2)/vector + 1
}

// spread lays n items along threads: pieces of so many threads each, which pass over
// lines*pieces of them in the fewest steps.
func spread(n, lines int64) (threads, pieces int64) {
	best := int64(0)
	for k := (n + GroupSize - 1) / GroupSize; k <= n && k*lines <= tableSize; k++ {
		x := (n + k - 1) / k
		steps := (k*lines + GroupSize/x - 1) / (GroupSize / x)
		if best == 0 || steps < best {
			best, threads, pieces = steps, x, k
		}
	}
	return threads, pieces
}

// splitRuns lays runs along threads, a word each, in pieces of whole words.
func (t *shape) splitRuns() bool {
	per := max(1, 4/t.size)
	below, last := t.length, int64(1)
	if len(t.run) > 0 {
		last = t.n[t.run[len(t.run)-1]]
		below /= last
	}
	end := t.length
	if !t.dEven {
		end += per - 1
	}
	lines := t.count(t.runs)
	best := int64(0)
	for k := int64(1); k <= last && k*lines <= tableSize; k++ {
		m := (last + k - 1) / k
		piece, pieces := below*m, k
		if k == 1 {
			piece = (end + per - 1) / per * per
		} else {
			for piece%per != 0 {
				piece += below
			}
			pieces = (end + piece - 1) / piece
		}
		x := piece / per
		if x > GroupSize || piece+2*per > lowSize || pieces*lines > tableSize {
			continue
		}
		steps := (pieces*lines + GroupSize/x - 1) / (GroupSize / x) * (6 + 5*per)
		steps += (piece + GroupSize - 1) / GroupSize * 15
		if best == 0 || steps < best {
			best, t.words, t.pieces, t.piece = steps, x, pieces, piece
		}
	}
	return best > 0
}

// grow makes the tile larger, the side first whose leading axes have fewer elements,
// while there remain enough blocks.
func (t *shape) grow() {
	sides := []bool{true, true}
	for sides[0] || sides[1] {
		side := 0
		if !sides[0] || sides[1] && t.count(t.dst[:t.dLow]) < t.count(t.src[:t.sLow]) {
			side = 1
		}
		old := *t
		old.n = slices.Clone(t.n)
		sides[side] = t.extend(side) && t.blocks() >= t.p.target.fewBlocks() && t.lay()
		if !sides[side] {
			old.pitch = t.pitch
			*t = old
			t.lay()
		}
	}
	t.level()
}

// level makes the pieces that an axis is cut into about equally large, by whole vectors.
func (t *shape) level() {
	for _, i := range []int{t.a(), t.b()} {
		n, old := t.p.inner(i).n, t.n[i]
		cuts := (n + old - 1) / old
		t.n[i] = (n + cuts - 1) / cuts
		if even := (t.n[i] + vector - 1) / vector * vector; cuts > 1 && even <= old {
			t.n[i] = even
		}
		if !t.lay() {
			t.n[i] = old
			t.lay()
		}
	}
}

// a and b are the last leading axes of src and dst: either may be cut.
func (t *shape) a() int { return t.src[t.sLow-1] }
func (t *shape) b() int { return t.dst[t.dLow-1] }

// extend doubles the tile along one side's last leading axis, or takes the next one in.
func (t *shape) extend(side int) bool {
	order, low := t.src, &t.sLow
	if side == 1 {
		order, low = t.dst, &t.dLow
	}
	for !t.cut(order[*low-1]) {
		if *low == len(order) {
			return false
		}
		*low++
	}
	i := order[*low-1]
	t.n[i] = min(t.p.inner(i).n, 2*t.n[i])
	return true
}

// blocks is how many tiles there are.
func (t *shape) blocks() int64 {
	blocks := int64(1)
	for i, n := range t.n {
		blocks *= (t.p.inner(i).n + n - 1) / n
	}
	return blocks
}

// plan sets the parameters.
func (t *shape) plan(k *parameters) (Spec, error) {
	p := t.p
	ia, ib := t.a(), t.b()
	a, b := p.inner(ia), p.inner(ib)
	cuts := []axis{a.blocks(t.n[ia]), b.blocks(t.n[ib])}
	k.ta, k.na, k.tb, k.nb = uint32(t.n[ia]), uint32(a.n), uint32(t.n[ib]), uint32(b.n)
	if ia == ib {
		cuts[1] = axis{n: 1}
		k.tb, k.nb, k.span = 1, 1, spanSame
	}

	// Of src: rows.
	cut := int64(0)
	if i := ends(t.row); i >= 0 && t.cut(i) {
		cut = magnitude(p.inner(i).s) * t.size
		if p.inner(i).s < 0 {
			k.span |= spanBackwards
		}
		if i == ib {
			k.span |= spanRowB
		}
	}
	if t.sEven && t.span == vector*t.across*t.parts {
		k.span |= spanAligned
	}
	k.inner = append(k.inner, axis{t.across, t.span, cut}, axis{t.parts, vector * t.across, vector * t.across})
	k.inner = append(k.inner, t.lines(t.rows, func(a axis) int64 { return a.s })...)
	k.cut = uint32(t.parts * t.count(t.rows))
	for i, n := range t.n {
		if s := p.inner(i).s; s < 0 {
			k.d += (n - 1) * t.pitch[i]
			k.da += (n - 1) * s * t.size
			if !slices.Contains(t.row, i) {
				k.sa -= (n - 1) * s * t.size
				k.s += (n - 1) * t.pitch[i]
			}
		}
	}

	// Of dst: runs.
	per := max(1, 4/t.size)
	below, last := t.length, ends(t.run)
	if last >= 0 {
		below /= t.n[last]
	}
	cut = 0
	if last >= 0 && t.cut(last) {
		cut = below
		if last == ia {
			k.span |= spanRunA
		}
	}
	piece := axis{n: t.pieces}
	if t.pieces > 1 {
		piece.d, piece.s = t.piece/below*t.step(last), t.piece*t.size
	}
	k.run = append(k.run, axis{t.words, t.length, cut}, piece)
	k.run = append(k.run, t.lines(t.runs, func(a axis) int64 { return a.d })...)
	k.flat = uint32(t.pieces * t.count(t.runs))
	k.words = uint32(len(k.run))
	k.extent, k.length = t.piece+2*per, (below-1)*per
	for _, i := range t.run {
		k.run = append(k.run, axis{t.n[i], t.step(i), 0})
	}
	even := true
	for _, i := range t.runs {
		even = even && p.inner(i).d*t.size%4 == 0
	}
	if even {
		k.span |= spanEven
	}
	if t.dEven && t.length == per*t.words*t.pieces {
		k.span |= spanFull
	}

	d, s := int64(0), int64(0)
	var others []axis
	for i, n := range t.n {
		x := p.inner(i)
		d += (n - 1) * magnitude(x.d) * t.size
		s += (n - 1) * magnitude(x.s) * t.size
		if n == 1 && i != ia && i != ib {
			others = append(others, x)
		}
	}
	spec := p.spec(Shuffle)
	spec.Wide = max(d, s) >= limit/2
	return spec, k.setOuter(append(cuts, others...)...)
}

// ends returns the last axis, -1: there is none.
func ends(axes []int) int {
	if len(axes) == 0 {
		return -1
	}
	return axes[len(axes)-1]
}

// step is an axis's step in the tile.
func (t *shape) step(i int) int64 {
	if t.p.inner(i).s < 0 {
		return -t.pitch[i]
	}
	return t.pitch[i]
}

// lines are the axes of rows or runs as the kernel wants them, a and b first, with
// their steps in the tile (d) and in memory (s).
func (t *shape) lines(of []int, step func(axis) int64) []axis {
	all := []axis{{n: 1}, {n: 1}}
	for _, i := range of {
		x := axis{t.n[i], t.step(i), step(t.p.inner(i)) * t.size}
		switch i {
		case t.a():
			all[0] = x
		case t.b():
			all[1] = x
		default:
			all = append(all, x)
		}
	}
	return all
}
