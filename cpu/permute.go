package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/internal/simd"
)

const (
	// permutedBytes is the size of a copy from which preparing such blocks pays off.
	permutedBytes = 1 << 10
	// permutedTile is the size of a tile, in bytes, up to which blocks of a single term are
	// faster: a tile costs a call, a block costs instructions for each of its terms.
	permutedTile = 2 << 10
	// loopTerms is the cost of a block of small elements without kernels.
	loopTerms = 8
	// permutedRow is the length of a row up to which blocks may be faster than rows.
	permutedRow = 128
	// permuteWidth is the most bytes of a block without kernels.
	permuteWidth = 64
)

// permutation moves blocks of the destination whose bytes come from anywhere, all in the same
// order, where axes are too short for rows, picks and tiles. A block has some items: an item is
// all of the inner axes, for one index of job.b.
type permutation struct {
	size  int64 // of an item in bytes
	items int64 // per block
	// For a whole block, and for the block with the remaining items.
	whole, rest simd.Permutation
	from        [permuteWidth]int64 // of each element of a block
	bytes       [permuteWidth]int64 // of each byte
	loop        func(dst unsafe.Pointer, d int64, src unsafe.Pointer, s int64, from []int64)
	width       int64 // of an element, in bytes
}

func (*permutation) name() string { return "permutation" }

// planPermutation plans such blocks.
func planPermutation(j *job, limit int64) (mover, int64, refusal) {
	p, last := &j.memory.permutation, j.rank-1
	width := int64(j.dBits / 8)
	switch {
	case j.bytes < permutedBytes:
		return nil, 0, tooSmall
	case j.axes[last].D != width:
		return nil, 0, notDense
	}
	most := int64(permuteWidth)
	if kernels.Permute != nil {
		most = kernels.PermuteWidth
	}
	size, k := width, last
	for k >= 0 && j.axes[k].D == size && size*j.axes[k].N <= most {
		size *= j.axes[k].N
		k--
	}
	if k < 0 || k == last {
		return nil, 0, noBlocks
	}
	x := &j.axes[k]
	items := int64(1)
	if x.D == size {
		items = min(most/size, x.N)
	}
	p.size, p.items, p.width = size, items, width
	p.gather(j, k)
	cost := int64(1)
	switch rest := x.N % items; {
	case kernels.Permute == nil:
		p.loop = loopsOf(&j.pair).gather
		if width < 4 {
			cost = loopTerms
		}
	case !p.plan(&p.whole, items):
		return nil, 0, noKernel
	case p.whole.Terms() >= limit:
		return nil, p.whole.Terms(), costsMore
	case rest > 0 && !p.plan(&p.rest, rest):
		return nil, 0, noKernel
	default:
		cost = p.whole.Terms()
	}
	if cost >= limit {
		return nil, cost, costsMore
	}
	j.rank = k + 1
	j.blockItems(size, items)
	return p, cost, ""
}

// gather lists where the elements of a block come from: items of the axes inside axis k.
func (p *permutation) gather(j *job, k int) {
	n := p.size / p.width
	for e := range n {
		at, rest := int64(0), e
		for i := j.rank - 1; i > k; i-- {
			x := &j.axes[i]
			at += rest % x.N * x.S
			rest /= x.N
		}
		for item := range p.items {
			p.from[item*n+e] = at + item*j.axes[k].S
		}
	}
}

// plan prepares a block of so many items.
func (p *permutation) plan(to *simd.Permutation, items int64) bool {
	from := p.bytes[:items*p.size] // a kernel call makes its arguments escape
	for b := range items * p.size {
		from[b] = p.from[b/p.width] + b%p.width
	}
	return kernels.PlanPermute(to, from)
}

// nearItems returns the axis that forms blocks with the innermost one, or -1, and whether items
// are nearer along it in the source.
func nearItems(axes []axis) (near int, nearer bool) {
	last := len(axes) - 1
	near = last - 1
	for i := near - 1; i >= 0; i-- {
		if nest.Magnitude(axes[i].S) < nest.Magnitude(axes[near].S) {
			near = i
		}
	}
	if near >= 0 && nest.Magnitude(axes[near].S) < nest.Magnitude(axes[last].S) {
		return near, true
	}
	return last - 1, false
}

// blockItems divides the axes, along which there are items of some size, into blocks that are near
// on both sides.
func (j *job) blockItems(size, items int64) {
	last := j.rank - 1
	near, nearer := nearItems(j.axes[:j.rank])
	perRow := max(1, blockBytes/size)
	if nearer {
		// Square blocks use all of each cache line on both sides.
		side := max(1, 4*cacheLine/size)
		j.block(near, max(side, perRow/2/min(j.axes[last].N, side)), max(side, perRow/2/min(j.axes[near].N, side)))
	} else {
		j.block(near, max(1, perRow/min(j.axes[last].N, perRow)), perRow)
	}
	if by := 64 * items; j.blkB < j.b.N { // of whole blocks, and of whole lines
		if j.blkB < by {
			by = items
		}
		j.divide(j.blkA, max(by, j.blkB/by*by))
	}
}

// move moves na rows of nb items. Rows to be streamed are assembled in a buffer.
func (p *permutation) move(j *job, d, s, na, nb int64, sc *scratch) {
	row := nb * p.size
	path := j.pathOf(d, na, row)
	if j.b.D != p.size {
		path = cached
	}
	if piece := 64 * p.items; path != cached && kernels.Direct && na == 1 && nb > piece {
		// Whole lines at a time: see stagePiece.
		for ; nb > 0; nb -= piece {
			p.move(j, d, s, 1, min(nb, piece), sc)
			d, s = d+piece*j.b.D, s+piece*j.b.S
		}
		return
	}
	to, at, step := j.dst, d, j.a.D
	if path != cached {
		to, at, step = room(&sc.tile, na*row), 0, row
	}
	p.rows(j, to, at, step, s, na, nb)
	if path != cached {
		j.streamStaged(d, to, na, row)
	}
}

// rows writes na rows, step apart. If rows have few blocks, or the source is nearer from row to
// row, it moves each block column of all rows in turn.
func (p *permutation) rows(j *job, dst unsafe.Pointer, d, step, s, na, nb int64) {
	blocks := nb / p.items
	down := na > blocks || na > 1 && nest.Magnitude(j.a.S) < nest.Magnitude(p.items*j.b.S)
	if kernels.Permute == nil || !down || p.size*p.items != kernels.PermuteWidth || nb%p.items > 0 {
		for i := range na {
			p.row(j, dst, d+i*step, s+i*j.a.S, nb)
		}
		return
	}
	for range blocks {
		kernels.Permute(ptr(dst, d), ptr(j.src, s), step, j.a.S, na, &p.whole)
		d += p.items * j.b.D
		s += p.items * j.b.S
	}
}

// row moves n items.
func (p *permutation) row(j *job, dst unsafe.Pointer, d, s, n int64) {
	if kernels.Permute == nil {
		for ; n > 0; n -= p.items {
			p.loop(dst, d, j.src, s, p.from[:min(n, p.items)*p.size/p.width])
			d += p.items * j.b.D
			s += p.items * j.b.S
		}
		return
	}
	blocks := n / p.items
	if blocks > 0 {
		kernels.Permute(ptr(dst, d), ptr(j.src, s), p.items*j.b.D, p.items*j.b.S, blocks, &p.whole)
	}
	if rest := n - blocks*p.items; rest > 0 {
		done := blocks * p.items
		kernels.Permute(ptr(dst, d+done*j.b.D), ptr(j.src, s+done*j.b.S), 0, 0, 1, &p.rest)
	}
}

// gatherElements writes neighbours from elements anywhere.
func gatherElements[W word](dst unsafe.Pointer, d int64, src unsafe.Pointer, s int64, from []int64) {
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
