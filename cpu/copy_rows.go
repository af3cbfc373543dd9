package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/nest"
)

const (
	// streamRow is the length, in bytes, from which rows that begin within a cache line are
	// streamed: their ends go through the caches.
	streamRow = 1 << 10
	// directRow is the length, in bytes, from which rows of whole cache lines are streamed one
	// by one as fast as in runs.
	directRow = 256
	// joinAhead is roughly how many bytes in advance joined rows are prefetched.
	joinAhead = 2 << 10
	// stagePiece is the approximate number of bytes that go through a block at a time where
	// small blocks are faster.
	stagePiece = 3 << 10
	// fullSet is the size, in bytes, from which a set of rows is worth a kernel call.
	fullSet = 4 << 10
	// linesRun is the approximate size, in bytes, of a run of short consecutive rows of the
	// destination, and linesSet of a block of such runs (see blockLines).
	linesRun = 256
	linesSet = 8 << 10
	// longRow is the length, in bytes, from which the runtime's memmove is as fast as a
	// kernel.
	longRow = 2 << 10
	// shortRow is the length, in bytes, up to which rows are like elements: several of them
	// fill a vector.
	shortRow = 16
)

// path is how a block of dense rows reaches the destination.
type path uint8

const (
	cached   path = iota // through the caches
	streamed             // past them, row by row
	staged               // past them, as one run of consecutive rows
)

// pathOf chooses the path of na rows of size bytes at d. Streaming pays off only for whole cache
// lines.
func (j *job) pathOf(d, na, size int64) path {
	switch {
	case kernels.Stream == nil || j.strings || !j.past:
		return cached
	case size >= streamRow || size >= leastLines() && (int64(uintptr(j.dst))|d|j.a.D|size)%cacheLine == 0:
		return streamed
	case j.a.D == size && na*size >= streamRow:
		return staged
	}
	return cached
}

// leastLines is the size from which rows of whole lines are streamed.
func leastLines() int64 {
	if kernels.Direct {
		return cacheLine
	}
	return 2 * cacheLine
}

// streamStaged writes na rows of size bytes from a buffer past the caches.
func (j *job) streamStaged(d int64, buf unsafe.Pointer, na, size int64) {
	if j.a.D == size {
		kernels.Stream(ptr(j.dst, d), (*byte)(buf), 0, 0, na*size, 1)
		return
	}
	kernels.Stream(ptr(j.dst, d), (*byte)(buf), j.a.D, size, size, na)
}

// denseRows moves rows that are dense on both sides.
type denseRows struct {
	width   int64   // bytes per element
	shuffle shuffle // of short rows
	inner   axis    // for rowSets: a block has all of this axis, too
}

func (r *denseRows) name() string {
	switch {
	case r.shuffle.picks:
		return "picked rows"
	case r.shuffle.kernel != nil:
		return "spread rows"
	}
	return "rows"
}

// stringRows moves denseRows of strings as strings: the garbage collector must see the pointers.
type stringRows struct{ *denseRows }

func (stringRows) name() string { return "rows of strings" }

// rowSets moves denseRows in blocks of several sets.
type rowSets struct{ *denseRows }

func (rowSets) name() string { return "sets of rows" }

// planRows plans dense rows.
func planRows(j *job, _ int64) (mover, int64, refusal) {
	if j.kind != dense && j.kind != rows {
		return nil, 0, otherKind
	}
	r := &j.memory.rows
	r.width, r.inner = int64(j.dBits/8), axis{N: 1}
	j.follows = true
	r.block(j)
	r.shuffle.kernel, r.shuffle.picks = nil, false
	if row := r.width * j.b.N; j.kind == rows && row <= shortRow && j.blkB == j.b.N {
		r.shuffle.plan(j, &j.a, row)
	}
	switch {
	case j.strings:
		return stringRows{r}, dear, ""
	case r.inner.N > 1:
		return rowSets{r}, dear, ""
	}
	return r, dear, ""
}

// block cuts rows into blocks.
func (r *denseRows) block(j *job) {
	near, row := j.near.Outer, j.axes[j.rank-1].N*r.width
	if j.kind == dense || near < 0 || nest.Magnitude(j.axes[near].S) < row || j.strings || row <= shortRow || j.fewRuns(near) {
		j.blockRows()
		return
	}
	r.blockNear(j, near, j.perRow())
}

// fewRuns reports whether, without kernels, rows are better written in sequence: from a few runs
// of the source, where the next row of each run is the nearest.
func (p *pair) fewRuns(near int) bool {
	return kernels.Move == nil && near == p.rank-3 && p.axes[p.rank-2].N <= 16
}

// blockNear makes blocks of rows along the axis on which they are nearest in the source: reading
// in sequence matters more than writing in sequence. If there are too few rows for a block, it has
// several sets of them.
func (r *denseRows) blockNear(j *job, near int, perRow int64) {
	x, last := j.axes[near], j.rank-1
	row := j.axes[last].N
	next := -1
	for i := last - 1; i >= 0; i-- {
		// The best axis is one that extends what is read, then one that extends rows of
		// the destination.
		if i != near && j.axes[i].S == x.N*x.S {
			next = i
			break
		}
		if k := &j.axes[i]; i != near && (next < 0 || k.D == row*r.width || j.axes[next].D != row*r.width && nest.Magnitude(k.S) < nest.Magnitude(j.axes[next].S)) {
			next = i
		}
	}
	if next >= 0 && kernels.Direct && j.streams() && r.blockLines(j, near, next) {
		return
	}
	if next < 0 || x.N*row*r.width >= fullSet {
		j.block(near, max(1, perRow/min(row, perRow)), perRow)
		return
	}
	r.inner = x
	j.axes[near].N = 1
	j.block(next, max(1, perRow/(x.N*row)), row)
	j.axes[near].N = x.N
}

// blockLines makes blocks whose short rows form whole lines of the destination along the axis
// next, with all of the axis near, along which they are read, or with a part of it if it is long.
// False: the rows form no lines or are whole lines already, or a long axis has no such parts.
func (r *denseRows) blockLines(j *job, near, next int) bool {
	x, y, row := j.axes[near], j.axes[next], j.axes[j.rank-1].N
	size := row * r.width
	if y.D != size || size%cacheLine == 0 || size >= directRow || y.N*size%cacheLine != 0 {
		return false
	}
	unit := cacheLine / (size & -size) // rows that fill whole lines
	along := max(unit, linesRun/size/unit*unit)
	if fit := linesSet / (x.N * size) / unit * unit; fit > 0 {
		along = min(along, fit)
	}
	along = min(along, y.N)
	part := x.N
	if run := along * size; run*part > linesSet {
		for part = max(1, linesSet/2/run); x.N%part != 0; part-- {
		}
		if run*part < streamRow {
			return false
		}
	}
	r.inner = axis{N: part, D: x.D, S: x.S}
	j.axes[near] = axis{N: x.N / part, D: part * x.D, S: part * x.S}
	j.block(next, along, row)
	j.axes[near] = x
	return true
}

func (stringRows) move(j *job, d, s, na, nb int64, _ *scratch) {
	for i := range na {
		to := unsafe.Slice((*string)(unsafe.Add(j.dst, d+i*j.a.D)), nb)
		copy(to, unsafe.Slice((*string)(unsafe.Add(j.src, s+i*j.a.S)), nb))
	}
}

// move moves na rows of nb elements.
func (r *denseRows) move(j *job, d, s, na, nb int64, sc *scratch) {
	size := nb * r.width
	switch path := j.pathOf(d, na, size); {
	case kernels.Move == nil || path == cached && size > longRow:
		moveSpans(j.dst, j.src, d, s, na, j.a.D, j.a.S, size)
	case path == cached:
		r.moveShort(j, ptr(j.dst, d), ptr(j.src, s), j.a.D, na, size)
	case path == streamed && na == 1:
		kernels.Stream(ptr(j.dst, d), ptr(j.src, s), 0, sc.next-s, size, 1)
	case path == streamed:
		kernels.Stream(ptr(j.dst, d), ptr(j.src, s), j.a.D, j.a.S, size, na)
	case kernels.Direct && size >= cacheLine:
		r.join(j, d, s, na, size)
	default:
		if r.shuffle.picks && r.shuffle.Ahead == 0 && na == j.a.N {
			far := (na - 1) * j.a.S
			j.fetch(sc.next+min(0, far), size+nest.Magnitude(far))
		}
		r.stage(j, d, s, na, size, sc)
	}
}

// stage moves na rows that are neighbours in the destination through a buffer.
func (r *denseRows) stage(j *job, d, s, na, size int64, sc *scratch) {
	buf, piece := (*byte)(room(&sc.tile, na*size)), na
	if kernels.Direct {
		// Whole lines of it at a time, while the rows fill any.
		unit := cacheLine / (size & -size)
		piece = max(unit, stagePiece/size/unit*unit)
	}
	for ; na > 0; na -= piece {
		n := min(na, piece)
		r.moveShort(j, buf, ptr(j.src, s), size, n, size)
		kernels.Stream(ptr(j.dst, d), buf, 0, 0, n*size, 1)
		d, s = d+n*size, s+n*j.a.S
	}
}

// moveShort moves rows of up to longRow bytes.
func (r *denseRows) moveShort(j *job, dst, src *byte, dStep, na, size int64) {
	if k := &r.shuffle; k.kernel != nil && na >= k.Least {
		k.kernel(dst, src, 0, 0, na, 1, &k.Shuffle)
		return
	}
	kernels.Move(dst, src, dStep, j.a.S, size, na)
}

// join moves na rows that are neighbours in the destination: its whole lines past the caches, and
// the bytes before and after these through the caches.
func (r *denseRows) join(j *job, d, s, na, size int64) {
	skip := min(-(int64(uintptr(j.dst))+d)&(cacheLine-1), na*size)
	lines := (na*size - skip) / cacheLine
	end := skip + lines*cacheLine
	copy(span(j.dst, d, skip), span(j.src, s, skip))
	kernels.Join(ptr(j.dst, d+skip), ptr(j.src, s), j.a.S, size, skip, lines, max(1, joinAhead/size)*j.a.S)
	last := s + (na-1)*j.a.S
	copy(span(j.dst, d+end, na*size-end), span(j.src, last+end-(na-1)*size, na*size-end))
}

// move moves na sets of rows, the rows of the inner axis.
func (r rowSets) move(j *job, d, s, na, nb int64, sc *scratch) {
	in, size := &r.inner, nb*r.width
	run := na * size
	lines := j.pathOf(d, na, size) == streamed && in.D%cacheLine == 0
	switch {
	case kernels.Move == nil:
		for i := range na {
			moveSpans(j.dst, j.src, d+i*j.a.D, s+i*j.a.S, in.N, in.D, in.S, size)
		}
	case kernels.Stream != nil && j.past && j.a.D == size && size < directRow && !(lines && kernels.Direct) && (run >= streamRow || kernels.Direct && run%cacheLine == 0):
		// Consecutive rows of many sets become runs.
		buf := room(&sc.tile, run*in.N)
		for i := range na {
			kernels.Move(ptr(buf, i*size), ptr(j.src, s+i*j.a.S), run, in.S, size, in.N)
		}
		kernels.Stream(ptr(j.dst, d), (*byte)(buf), in.D, run, run, in.N)
	default:
		move := kernels.Move
		if lines {
			move = kernels.Stream
		}
		for i := range na {
			move(ptr(j.dst, d+i*j.a.D), ptr(j.src, s+i*j.a.S), in.D, in.S, size, in.N)
		}
	}
}

// moveSpans moves n runs of size bytes. It moves a short run as two words that may overlap in the
// middle, which is cheaper than a call of memmove.
func moveSpans(dst, src unsafe.Pointer, d, s, n, dStep, sStep, size int64) {
	switch {
	case size > 256 || size < 2:
		for range n {
			copy(span(dst, d, size), span(src, s, size))
			d += dStep
			s += sStep
		}
	case size >= 16:
		last := size - 16
		for range n {
			for at := int64(0); at < last; at += 16 {
				*(*[16]byte)(unsafe.Add(dst, d+at)) = *(*[16]byte)(unsafe.Add(src, s+at))
			}
			*(*[16]byte)(unsafe.Add(dst, d+last)) = *(*[16]byte)(unsafe.Add(src, s+last))
			d += dStep
			s += sStep
		}
	case size >= 8:
		last := size - 8
		for range n {
			x, y := load64(src, s), load64(src, s+last)
			store64(dst, d, x)
			store64(dst, d+last, y)
			d += dStep
			s += sStep
		}
	case size >= 4:
		last := size - 4
		for range n {
			x, y := load32(src, s), load32(src, s+last)
			store32(dst, d, x)
			store32(dst, d+last, y)
			d += dStep
			s += sStep
		}
	default: // 2 or 3
		last := size - 1
		for range n {
			x, y, z := load8(src, s), load8(src, s+1), load8(src, s+last)
			store8(dst, d, x)
			store8(dst, d+1, y)
			store8(dst, d+last, z)
			d += dStep
			s += sStep
		}
	}
}
