package planner

import (
	"slices"
	"strconv"
)

// With its tables a shuffle's tile fits 32 KiB of local memory, which small devices have.
const (
	tileBytes = 18<<10 + 64 // the tile
	tableSize = 256         // pieces of rows of src in it, and of runs of dst
	lowSize   = 1 << 10     // elements of a run's piece whose places are stored
	vector    = 16          // bytes of a load
	// scatterBytes is reserved for moving rows apart.
	scatterBytes = tileBytes / 8
	// mostPieces is the largest number of pieces of a row or run that is tried.
	mostPieces = 8
	// The extent of a cut axis in a tile, in eighths of its first value: from half to almost
	// twice that.
	leastEighths, mostEighths = 5, 13
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
func shuffleDefines(s Spec) []string {
	far := "FAR 0"
	if s.Wide {
		far = "FAR 1"
	}
	return []string{
		far, "TABLE " + strconv.Itoa(tableSize), "LOW " + strconv.Itoa(lowSize),
		"VECTORS " + strconv.Itoa(tileBytes/vector),
	}
}

// shape is a tile of several axes: the number of indices of each of the problem's axes. It has the
// leading axes of either side's order, the last of which may be cut. Sizes and steps in memory are
// in bytes.
type shape struct {
	p          *problem
	size       int64 // of an element
	src, dst   []int // the axes in the order of either side
	sLow, dLow int   // how many of them are leading
	n          []int64

	pitch         []int64 // the step of each axis in the tile
	row, rows     []int   // src's axes: within a row, and of the rows
	run, runs     []int   // dst's: within a run, and of the runs
	span, length  int64   // the bytes of a row, the elements of a run
	bytes, grain  int64   // of the tile; the unit of a row's position in the tile
	across, parts int64   // threads along a row, and the resulting pieces of a row
	words, pieces int64   // the same for a run
	side          int64   // threads side by side along a run
	piece         int64   // elements of a piece of a run
	turns         int64   // accesses to a bank by a warp's load of elements
	apart         bool    // no row has more than one axis
	parallel      bool    // all runs begin at the same byte of a unit
	alike         bool    // and their pieces do
	read, write   int64   // approximate instructions per thread
	sEven, dEven  bool    // rows begin at vectors, and runs at units
	full          bool    // all units are full
}

// shuffles returns the tile for a permutation of short axes, if the copy is one. Rows of several
// axes are split where a run's elements would be in few banks.
func (p *tiling) shuffles() (*shape, refusal) {
	t, why := p.shuffled(false)
	if why == "" && len(t.row) > 1 && t.turns > fewTurns {
		if apart, why := p.shuffled(true); why == "" && apart.cycles() < t.cycles() {
			return apart, ""
		}
	}
	return t, why
}

// shuffled chooses the tile whose rows have several axes, or just one.
func (p *tiling) shuffled(apart bool) (*shape, refusal) {
	size := int64(p.dBits / 8)
	t := &shape{p: p.problem, size: size, src: p.srcOrder(), dst: p.dstOrder(), n: make([]int64, len(p.axes)), pitch: make([]int64, len(p.axes)), apart: apart}
	switch {
	case len(t.src) == 0:
		return nil, repeatsAxis
	case p.dBits < 32 && !p.dense():
		return nil, notDense
	}
	for _, a := range p.axes {
		if a.N >= limit {
			return nil, longAxes
		}
	}
	for need := lineBytes / size; need*size >= sectorBytes; need /= 2 {
		t.lead(need)
		if t.lay() {
			t.grow()
			return t, ""
		}
	}
	return nil, noTile
}

// lead adds leading axes of both sides to the tile until it has enough elements.
func (t *shape) lead(need int64) {
	for i := range t.n {
		t.n[i] = 1
	}
	lead := func(order []int) int {
		size := int64(1)
		for low, i := range order {
			n := t.p.inner(i).N
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

// cut reports whether the tile has only a part of an axis.
func (t *shape) cut(i int) bool { return t.n[i] < t.p.inner(i).N }

func (t *shape) count(axes []int) int64 {
	n := int64(1)
	for _, i := range axes {
		n *= t.n[i]
	}
	return n
}

// lay computes the tile's layout in memory, and reports whether it fits the kernel's memory.
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

// grow enlarges the tile, beginning with the side whose leading axes have fewer elements, while
// enough blocks remain.
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

// level chooses the extents of the cut axes in a tile by cost, near their present values.
func (t *shape) level() {
	for _, i := range []int{t.a(), t.b()} {
		n, old := t.p.inner(i).N, t.n[i]
		best, chosen, last := t.total(), old, old
		for eighths := int64(leastEighths); eighths < mostEighths && old < n; eighths++ {
			cuts := (8*n + eighths*old - 1) / (eighths * old)
			each := (n + cuts - 1) / cuts
			for _, even := range []int64{1, vector} {
				t.n[i] = min((each+even-1)/even*even, n)
				if t.n[i] == last {
					continue
				}
				last = t.n[i]
				if t.lay() && t.total() < best {
					best, chosen = t.total(), last
				}
			}
		}
		t.n[i] = chosen
		t.lay()
	}
	t.scatter()
}

// total is the approximate cost of all tiles, in instructions of a thread.
func (t *shape) total() int64 {
	tables := t.parts*t.count(t.rows) + t.pieces*t.count(t.runs)
	return t.blocks() * (150 + tables/8 + t.read + t.write)
}

// cycles is the approximate time of all tiles.
func (t *shape) cycles() float64 {
	blocks, turns := t.blocks(), t.turns+1
	if !t.alike {
		turns++ // of the table of elements
	}
	return cost{
		blocks:       blocks,
		instructions: t.total() / blocks,
		sectors:      touched(t.count(t.rows), t.span, t.sEven) + touched(t.count(t.runs), t.length*t.size, t.dEven),
		passes:       t.bytes/lineBytes + t.count(t.src)/warp*turns*max(1, t.size/4),
	}.cycles(t.p.bytes)
}

// a and b are the last leading axes of src and dst: both may be cut.
func (t *shape) a() int { return t.src[t.sLow-1] }
func (t *shape) b() int { return t.dst[t.dLow-1] }

// extend doubles the tile along a side's last leading axis, or adds the next axis.
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
	t.n[i] = min(t.p.inner(i).N, 2*t.n[i])
	return true
}

// blocks is the number of tiles.
func (t *shape) blocks() int64 {
	blocks := int64(1)
	for i, n := range t.n {
		blocks *= (t.p.inner(i).N + n - 1) / n
	}
	return blocks
}
