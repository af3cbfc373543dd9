package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

// Blocks of the destination whose bytes come from anywhere, in one order: what is left
// where axes are too short for rows, picks and tiles.

const (
	// permutedBytes is the size of a copy from which it pays to prepare such blocks.
	permutedBytes = 1 << 10
	// permutedTile is the size of a tile, in bytes, up to which blocks of a term are
	// faster: a tile costs a call, a block instructions for each of its terms.
	permutedTile = 2 << 10
	// wordTerms is what a small element costs without kernels.
	wordTerms = 8
	// packedTerms is what a box costs, and anyTerms is more than a block has.
	packedTerms, anyTerms = 1, 1 << 10
	// permutedRow is the length of a row up to which they may be.
	permutedRow = 128
	// permuteWidth is the most bytes of a block without kernels.
	permuteWidth = 64
)

// permuted says how the blocks of a job are made, which are some items each: all of
// the inner axes, for some indices of job.b.
type permuted struct {
	on    bool
	size  int64 // bytes of an item
	items int64 // of a block
	// Those of a block, and of one that has what is left.
	whole, rest simd.Permutation
	from        [permuteWidth]int64 // of each element of a block
	bytes       [permuteWidth]int64 // of each byte
	words       wordTurns           // below a byte, without kernels
	swaps       swaps               // where blocks are these
}

// tileTerms returns how many terms a block may have to be faster than the tile that was
// planned.
func (j *job) tileTerms() int64 {
	all := j.a.n * j.b.n * int64(j.dBits)
	if j.tile.threes == noThrees {
		all *= j.tile.iIn * j.tile.jIn
	}
	return permutedTile * 8 / all
}

// shortRows reports whether rows of the destination are too short for what moves rows. No
// kernel moves packed elements that are nowhere neighbours.
func (j *job) shortRows() bool {
	row := j.axes[j.rank-1].n * int64(j.dBits)
	switch j.class {
	case general:
		return j.packed || row <= permutedRow*8
	case strided, reversed:
		return row <= permutedRow*8
	case rows:
		return j.packed && row <= shortRow*8
	}
	return false
}

// planPermute plans blocks of so many terms at the most. False: they do not pay, or cannot
// be made.
func (j *job) planPermute(terms int64) bool {
	p := &j.permuted
	width := int64(j.dBits / 8)
	last := j.rank - 1
	if j.strings || j.packed || j.bytes < permutedBytes || j.axes[last].d != width {
		return false
	}
	most := int64(permuteWidth)
	if kernels.Permute != nil {
		most = kernels.PermuteWidth
	}
	size, k := width, last
	for k >= 0 && j.axes[k].d == size && size*j.axes[k].n <= most {
		size *= j.axes[k].n
		k--
	}
	if k < 0 || k == last {
		return false
	}
	x := &j.axes[k]
	items := int64(1)
	if x.d == size {
		items = min(most/size, x.n)
	}
	p.size, p.items = size, items
	j.gather(k, items, width)
	switch rest := x.n % items; {
	case kernels.Permute == nil:
		if width < 4 && terms < wordTerms {
			return false
		}
	case !p.plan(&p.whole, items, width) || p.whole.Terms() > terms:
		return false
	case rest > 0 && !p.plan(&p.rest, rest, width):
		return false
	}
	p.on = true
	j.rank = k + 1
	j.blockItems()
	return true
}

// gather lists where the elements of a block come from: items of the axes within axis k.
func (j *job) gather(k int, items, width int64) {
	p := &j.permuted
	n := p.size / width
	for e := range n {
		at, rest := int64(0), e
		for i := j.rank - 1; i > k; i-- {
			x := &j.axes[i]
			at += rest % x.n * x.s
			rest /= x.n
		}
		for item := range items {
			p.from[item*n+e] = at + item*j.axes[k].s
		}
	}
}

// plan prepares a block of some items.
func (p *permuted) plan(to *simd.Permutation, items, width int64) bool {
	from := p.bytes[:items*p.size] // a call of a kernel makes all escape
	for b := range items * p.size {
		from[b] = p.from[b/width] + b%width
	}
	return kernels.PlanPermute(to, from)
}

// nearItems returns the axis, -1 if there is none, with which the innermost one makes blocks,
// and whether items are nearer along it in the source.
func nearItems(axes []axis) (near int, nearer bool) {
	last := len(axes) - 1
	near = last - 1
	for i := near - 1; i >= 0; i-- {
		if magnitude(axes[i].s) < magnitude(axes[near].s) {
			near = i
		}
	}
	if near >= 0 && magnitude(axes[near].s) < magnitude(axes[last].s) {
		return near, true
	}
	return last - 1, false
}

// blockItems cuts the axes in blocks of what is near on both sides.
func (j *job) blockItems() {
	p := &j.permuted
	last := j.rank - 1
	near, nearer := nearItems(j.axes[:j.rank])
	perRow := max(1, blockBytes/p.size)
	if nearer {
		// Square blocks use all of each cache line on both sides.
		side := max(1, 4*cacheLine/p.size)
		j.block(near, max(side, perRow/2/min(j.axes[last].n, side)), max(side, perRow/2/min(j.axes[near].n, side)))
	} else {
		j.block(near, max(1, perRow/min(j.axes[last].n, perRow)), perRow)
	}
	if by := 64 * p.items; j.blkB < j.b.n { // of whole blocks, and of whole lines
		if j.blkB < by {
			by = p.items
		}
		j.divide(j.blkA, max(by, j.blkB/by*by))
	}
}

// permuteItems moves na rows of nb items. Rows to be streamed are made in a buffer.
func (j *job) permuteItems(d, s, na, nb int64, sc *scratch) {
	row := nb * j.permuted.size
	path := j.pathOf(d, na, row)
	if j.b.d != j.permuted.size {
		path = cached
	}
	if piece := 64 * j.permuted.items; path != cached && kernels.Direct && na == 1 && nb > piece {
		// Whole lines at a time: see stagePiece.
		for ; nb > 0; nb -= piece {
			j.permuteItems(d, s, 1, min(nb, piece), sc)
			d, s = d+piece*j.b.d, s+piece*j.b.s
		}
		return
	}
	to, at, step := j.dst, d, j.a.d
	if path != cached {
		to, at, step = room(&sc.tile, na*row), 0, row
	}
	j.permuteRows(to, at, step, s, na, nb)
	switch {
	case path == cached:
	case j.a.d == row:
		kernels.Stream(ptr(j.dst, d), (*byte)(to), 0, 0, na*row, 1)
	default:
		kernels.Stream(ptr(j.dst, d), (*byte)(to), j.a.d, row, row, na)
	}
}

// permuteRows writes na rows, step apart. Where rows have few blocks, or the source is
// nearer from row to row, it goes down the rows with each block.
func (j *job) permuteRows(dst unsafe.Pointer, d, step, s, na, nb int64) {
	p := &j.permuted
	blocks := nb / p.items
	down := na > blocks || na > 1 && magnitude(j.a.s) < magnitude(p.items*j.b.s)
	if kernels.Permute == nil || !down || p.size*p.items != kernels.PermuteWidth || nb%p.items > 0 {
		for i := range na {
			j.permuteRow(dst, d+i*step, s+i*j.a.s, nb)
		}
		return
	}
	for range blocks {
		kernels.Permute(ptr(dst, d), ptr(j.src, s), step, j.a.s, na, &p.whole)
		d += p.items * j.b.d
		s += p.items * j.b.s
	}
}

// permuteRow moves n items.
func (j *job) permuteRow(dst unsafe.Pointer, d, s, n int64) {
	p := &j.permuted
	if kernels.Permute == nil {
		for ; n > 0; n -= p.items {
			p.copy(j.dBits, dst, d, j.src, s, min(n, p.items))
			d += p.items * j.b.d
			s += p.items * j.b.s
		}
		return
	}
	blocks := n / p.items
	if blocks > 0 {
		kernels.Permute(ptr(dst, d), ptr(j.src, s), p.items*j.b.d, p.items*j.b.s, blocks, &p.whole)
	}
	if rest := n - blocks*p.items; rest > 0 {
		done := blocks * p.items
		kernels.Permute(ptr(dst, d+done*j.b.d), ptr(j.src, s+done*j.b.s), 0, 0, 1, &p.rest)
	}
}

// copy moves some items of a block.
func (p *permuted) copy(bits int, dst unsafe.Pointer, d int64, src unsafe.Pointer, s, items int64) {
	from := p.from[:items*p.size*8/int64(bits)]
	switch bits {
	case 8:
		copyFrom[uint8](dst, d, src, s, from)
	case 16:
		copyFrom[uint16](dst, d, src, s, from)
	case 32:
		copyFrom[uint32](dst, d, src, s, from)
	case 64:
		copyFrom[uint64](dst, d, src, s, from)
	case 128:
		copyFrom[[2]uint64](dst, d, src, s, from)
	}
}

func copyFrom[W word](dst unsafe.Pointer, d int64, src unsafe.Pointer, s int64, from []int64) {
	size := int64(unsafe.Sizeof(*new(W)))
	src = unsafe.Add(src, s)
	for ; len(from) >= 8; from = from[8:] {
		f, p := (*[8]int64)(from), (*[8]W)(unsafe.Add(dst, d))
		v0, v1, v2, v3 := load[W](src, f[0]), load[W](src, f[1]), load[W](src, f[2]), load[W](src, f[3])
		p[0], p[1], p[2], p[3] = v0, v1, v2, v3
		v0, v1, v2, v3 = load[W](src, f[4]), load[W](src, f[5]), load[W](src, f[6]), load[W](src, f[7])
		p[4], p[5], p[6], p[7] = v0, v1, v2, v3
		d += 8 * size
	}
	for _, at := range from {
		store(dst, d, load[W](src, at))
		d += size
	}
}
