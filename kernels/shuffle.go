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
	tileBytes = 18<<10 + 64 // the tile
	tableSize = 256         // rows of src in it, and runs of dst
	lowSize   = 1024        // elements of a run whose places are kept
	unitBytes = 8           // of what is stored at once, at least
	vector    = 16          // bytes of a load
	// scatterBytes is what is kept for rows to be moved apart.
	scatterBytes = tileBytes / 8
	// mostPieces is how many pieces of a row or run are tried, at the most.
	mostPieces = 32
	// shuffleBlocks is how many blocks a group does, if there are enough.
	shuffleBlocks = 4
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
	spanLoose
	spanThrees
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
	far := "FAR 0"
	if s.Wide {
		far = "FAR 1"
	}
	return []string{
		far, "TABLE " + strconv.Itoa(tableSize), "LOW " + strconv.Itoa(lowSize),
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
	bytes, grain  int64   // of the tile; what a row's place in it is counted in
	across, parts int64   // threads along a row, and the pieces of a row for that
	words, pieces int64   // the same of a run
	piece         int64   // elements of a piece of a run
	read, write   int64   // about what a thread does, in instructions
	sEven, dEven  bool    // rows begin at vectors, and runs at units
	full          bool    // all units are
	apart         bool    // no row has more than one axis
}

// shuffles returns the tile for a permutation of short axes, if that is what the copy
// is. Rows of several axes are taken apart where elements of a run would lie in few banks.
func (p *problem) shuffles() *shape {
	t := p.shuffled(false)
	if t != nil && len(t.row) > 1 && t.turns() > fewTurns {
		if apart := p.shuffled(true); apart != nil && apart.cycles() < t.cycles() {
			return apart
		}
	}
	return t
}

// shuffled chooses the tile whose rows have several axes, or one only.
func (p *problem) shuffled(apart bool) *shape {
	size := int64(p.dBits / 8)
	t := &shape{p: p, size: size, src: p.srcOrder(), dst: p.dstOrder(), n: make([]int64, len(p.axes)), pitch: make([]int64, len(p.axes)), apart: apart}
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
	room := int64(tileBytes)
	if len(t.rows) > 0 {
		room -= scatterBytes
	}
	if t.bytes > room || t.count(t.rows) > tableSize || t.count(t.runs) > tableSize {
		return false
	}
	return t.splitRows() && t.splitRuns()
}

// layRows finds what of the tile lies together in src: a row, read by vectors, whole.
func (t *shape) layRows() {
	t.row, t.rows = t.row[:0], t.rows[:0]
	t.span = t.size
	joins := true
	for _, i := range t.src {
		if t.n[i] == 1 {
			continue
		}
		step := magnitude(t.p.inner(i).s) * t.size
		if joins = joins && step-t.span < vector; joins { // each vector of a row has some of it
			t.row = append(t.row, i)
			t.pitch[i] = step
			t.span += (t.n[i] - 1) * step
			joins = !t.cut(i) && !t.apart
			continue
		}
		t.rows = append(t.rows, i)
	}
	t.first(t.rows)
	t.sEven = t.even(t.row, vector, t.p.sBase, func(a axis) int64 { return a.s })
	t.grain = vector
	t.place(nil)
}

// place lays rows into the tile, each as far from the begin of a vector (or of a word:
// grain) as in src, and as many grains further apart than they must be.
func (t *shape) place(more []int64) {
	least := int64(vector - 1)
	if t.grain < vector && !t.sEven {
		least *= 2
	}
	end := t.span
	for k, i := range t.rows {
		step := magnitude(t.p.inner(i).s) * t.size
		t.pitch[i] = end + least + (step-end-least)&(t.grain-1)
		if k < len(more) {
			t.pitch[i] += more[k] * t.grain
		}
		end += (t.n[i] - 1) * t.pitch[i]
	}
	t.bytes = end + 2*(vector-1)
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
		if joins = joins && t.p.inner(i).d == t.length && t.cuts(t.n[i]); joins {
			t.run = append(t.run, i)
			t.length *= t.n[i]
			joins = !t.cut(i)
			continue
		}
		t.runs = append(t.runs, i)
	}
	t.first(t.runs)
	t.dEven = t.even(t.run, max(unitBytes, t.size), t.p.dBase, func(a axis) int64 { return a.d })
}

// cuts reports whether a run that goes on along an axis of n indices can be cut into pieces
// that begin at units and have room in the table: of whole indices, or all.
func (t *shape) cuts(n int64) bool {
	room := lowSize - 2*t.per()
	piece := t.length
	for piece%t.per() != 0 {
		piece *= 2
	}
	return min(piece, n*t.length) <= room
}

// first moves a and b to the front, where they are.
func (t *shape) first(axes []int) {
	for _, i := range []int{t.b(), t.a()} {
		if k := slices.Index(axes, i); k > 0 {
			copy(axes[1:k+1], axes[:k])
			axes[0] = i
		}
	}
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

// splitRows lays rows along threads, a vector each, in pieces of as many threads as do it
// in the least time.
func (t *shape) splitRows() bool {
	n, lines := t.vectors(), t.count(t.rows)
	t.read = 0
	for k := (n + GroupSize - 1) / GroupSize; k <= n && k*lines <= tableSize && k < mostPieces; k++ {
		x := (n + k - 1) / k
		each := int64(30)
		if t.sEven && vector*x*k == t.span {
			each = 17
		}
		cost := (k*lines + GroupSize/x - 1) / (GroupSize / x) * each
		if t.read == 0 || cost < t.read {
			t.across, t.parts, t.read = x, k, cost
		}
	}
	return t.read > 0
}

// splitRuns lays runs along threads, a unit each, in pieces of whole units.
func (t *shape) splitRuns() bool {
	below, last := t.length, int64(1)
	if i := ends(t.run); i >= 0 {
		last = t.n[i]
		below /= last
	}
	per, end := t.per(), t.length
	if !t.dEven {
		end += per - 1
	}
	lines := t.count(t.runs)
	t.write = 0
	for k, tried := max(1, end/per/GroupSize), 0; k <= last && k*lines <= tableSize && tried < mostPieces; k, tried = k+1, tried+1 {
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
		full := t.dEven && piece*pieces == t.length
		each := 12 + 4*per
		switch {
		case !t.dEven:
			// Places anew for each run, and units that are full and not in a warp near an end.
			each += 8 + 3*per + 100*min(2*warp, end/per)/(end/per)
		case !full:
			each += 8 + 2*per
		}
		cost := (pieces*lines + GroupSize/x - 1) / (GroupSize / x) * each
		cost += (piece + GroupSize - 1) / GroupSize * 4
		if t.write == 0 || cost < t.write {
			t.write, t.words, t.pieces, t.piece, t.full = cost, x, pieces, piece, full
		}
	}
	return t.write > 0
}

// per is how many elements a unit has.
func (t *shape) per() int64 { return max(1, unitBytes/t.size) }

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

// level chooses how much of the cut axes a tile has, near what it has now, by what that
// costs.
func (t *shape) level() {
	for _, i := range []int{t.a(), t.b()} {
		n, old := t.p.inner(i).n, t.n[i]
		best, chosen := t.total(), old
		for eighths := int64(4); eighths < 16 && old < n; eighths++ {
			cuts := (8*n + eighths*old - 1) / (eighths * old)
			each := (n + cuts - 1) / cuts
			for _, even := range []int64{1, 4, vector} {
				t.n[i] = min((each+even-1)/even*even, n)
				if t.lay() && t.total() < best {
					best, chosen = t.total(), t.n[i]
				}
			}
			t.n[i] = old
		}
		t.n[i] = chosen
		t.lay()
	}
	t.scatter()
}

// total is about what all tiles cost, in instructions of a thread.
func (t *shape) total() int64 {
	tables := t.parts*t.count(t.rows) + t.pieces*t.count(t.runs)
	return t.blocks() * (150 + tables/8 + t.read + t.write)
}

// cycles is about how long all tiles take.
func (t *shape) cycles() float64 {
	blocks, passes := t.blocks(), t.count(t.src)/warp*(t.turns()+1)
	if !t.dEven { // single elements near the ends of runs
		units := max(1, t.length/t.per())
		passes += passes/2 + 5*passes*min(2*warp, units)/units
	}
	return effort{
		blocks:       blocks,
		instructions: t.total() / blocks,
		sectors:      touched(t.count(t.rows), t.span, t.sEven) + touched(t.count(t.runs), t.length*t.size, t.dEven),
		passes:       t.bytes/lineBytes + passes*max(1, t.size/4),
	}.cycles(t.p.bytes)
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
	if t.grain < vector {
		k.span |= spanLoose
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
	k.extent, k.length = t.piece+2*t.per(), (below-1)*t.per()
	for _, i := range t.run {
		k.run = append(k.run, axis{t.n[i], t.step(i), 0})
	}
	even := true
	for _, i := range t.runs {
		even = even && p.inner(i).d*t.size%unitBytes == 0
	}
	if even {
		k.span |= spanEven
	}
	if t.full {
		k.span |= spanFull
	}
	if t.threes() {
		k.span |= spanThrees
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
	if err := k.setOuter(append(cuts, others...)...); err != nil {
		return spec, err
	}
	k.groups = max(k.blocks/shuffleBlocks, min(k.blocks, 4*p.target.fewBlocks()))
	return spec, nil
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

// threes reports whether a unit's elements are every third one in the tile, as those of
// pixels of three channels.
func (t *shape) threes() bool {
	if t.size > 2 || len(t.run) == 0 || t.step(t.run[0]) != 3*t.size {
		return false
	}
	return len(t.run) == 1 || t.dEven && t.n[t.run[0]]%t.per() == 0
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
