package cpu

import (
	"unsafe"
)

const (
	// streamRow is the length, in bytes, from which rows that begin within a cache line
	// are streamed: their ends go through the caches.
	streamRow = 1 << 10
	// directRow is the length, in bytes, from which rows of whole cache lines are
	// streamed one by one as fast as in runs.
	directRow = 256
	// joinAhead is about how many bytes before they are read rows are fetched that are joined.
	joinAhead = 2 << 10
	// stagePiece is about how many bytes go by way of a block at a time where small ones are
	// faster.
	stagePiece = 3 << 10
	// fullSet is the size, in bytes, from which a set of rows is worth a call of a
	// kernel.
	fullSet = 4 << 10
	// linesRun is about how many bytes of the destination short rows make that follow one
	// another there, and linesSet about the size of a block of these (planLines).
	linesRun = 256
	linesSet = 8 << 10
	// longRow is the length, in bytes, from which the runtime's memmove is as fast as a
	// kernel.
	longRow = 2 << 10
	// shortRow is the length, in bytes, up to which rows are like elements: some of them
	// make a vector.
	shortRow = 16
)

// path is how a block of dense rows gets to the destination.
type path uint8

const (
	cached   path = iota // through the caches
	streamed             // past them, row by row
	staged               // past them, as one run: rows that follow one another
)

// pathOf chooses one for na rows of size bytes at d. Streaming pays for whole cache
// lines only.
func (j *job) pathOf(d, na, size int64) path {
	switch {
	case kernels.Stream == nil || j.strings || !j.streams():
		return cached
	case size >= streamRow || size >= leastLines() && (int64(uintptr(j.dst))|d|j.a.d|size)%cacheLine == 0:
		return streamed
	case j.a.d == size && na*size >= streamRow:
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

// moveRows moves na dense rows of nb elements.
func moveRows[W word](j *job, d, s, na, nb int64, sc *scratch) {
	if j.strings {
		for i := range na {
			to := unsafe.Slice((*string)(unsafe.Add(j.dst, d+i*j.a.d)), nb)
			copy(to, unsafe.Slice((*string)(unsafe.Add(j.src, s+i*j.a.s)), nb))
		}
		return
	}
	size := nb * int64(unsafe.Sizeof(*new(W)))
	if j.inner.n > 1 {
		j.moveSets(d, s, na, size, sc)
		return
	}
	switch path := j.pathOf(d, na, size); {
	case kernels.Move == nil || path == cached && size > longRow:
		moveSpans(j.dst, j.src, d, s, na, j.a.d, j.a.s, size)
	case path == cached:
		j.moveShort(ptr(j.dst, d), ptr(j.src, s), j.a.d, na, size)
	case path == streamed && na == 1:
		kernels.Stream(ptr(j.dst, d), ptr(j.src, s), 0, sc.next-s, size, 1)
	case path == streamed:
		kernels.Stream(ptr(j.dst, d), ptr(j.src, s), j.a.d, j.a.s, size, na)
	case kernels.Direct && size >= cacheLine:
		j.joinRows(d, s, na, size)
	default:
		if j.shuffled == picks && j.shuffle.Ahead == 0 && na == j.a.n {
			far := (na - 1) * j.a.s
			j.fetch(sc.next+min(0, far), size+magnitude(far))
		}
		j.stageRows(d, s, na, size, sc)
	}
}

// stageRows moves na rows that are neighbours in the destination by way of a buffer.
func (j *job) stageRows(d, s, na, size int64, sc *scratch) {
	buf, piece := (*byte)(room(&sc.tile, na*size)), na
	if kernels.Direct {
		// Whole lines of it at a time, as long as the rows make some.
		unit := cacheLine / (size & -size)
		piece = max(unit, stagePiece/size/unit*unit)
	}
	for ; na > 0; na -= piece {
		n := min(na, piece)
		j.moveShort(buf, ptr(j.src, s), size, n, size)
		kernels.Stream(ptr(j.dst, d), buf, 0, 0, n*size, 1)
		d, s = d+n*size, s+n*j.a.s
	}
}

// joinRows moves na rows that are neighbours in the destination to whole lines of it, and
// what is before and after these through the caches.
func (j *job) joinRows(d, s, na, size int64) {
	skip := min(-(int64(uintptr(j.dst))+d)&(cacheLine-1), na*size)
	lines := (na*size - skip) / cacheLine
	end := skip + lines*cacheLine
	copy(span(j.dst, d, skip), span(j.src, s, skip))
	kernels.Join(ptr(j.dst, d+skip), ptr(j.src, s), j.a.s, size, skip, lines, max(1, joinAhead/size)*j.a.s)
	last := s + (na-1)*j.a.s
	copy(span(j.dst, d+end, na*size-end), span(j.src, last+end-(na-1)*size, na*size-end))
}

// moveSets moves na sets of rows, those of the inner axis.
func (j *job) moveSets(d, s, na, size int64, sc *scratch) {
	in, run := &j.inner, na*size
	lines := j.pathOf(d, na, size) == streamed && in.d%cacheLine == 0
	switch {
	case kernels.Move == nil:
		for i := range na {
			moveSpans(j.dst, j.src, d+i*j.a.d, s+i*j.a.s, in.n, in.d, in.s, size)
		}
	case kernels.Stream != nil && j.streams() && j.a.d == size && size < directRow && !(lines && kernels.Direct) && (run >= streamRow || kernels.Direct && run%cacheLine == 0):
		// The rows of many sets that follow one another become runs.
		buf := room(&sc.tile, run*in.n)
		for i := range na {
			kernels.Move(ptr(buf, i*size), ptr(j.src, s+i*j.a.s), run, in.s, size, in.n)
		}
		kernels.Stream(ptr(j.dst, d), (*byte)(buf), in.d, run, run, in.n)
	default:
		move := kernels.Move
		if lines {
			move = kernels.Stream
		}
		for i := range na {
			move(ptr(j.dst, d+i*j.a.d), ptr(j.src, s+i*j.a.s), in.d, in.s, size, in.n)
		}
	}
}

// moveShort moves rows of up to longRow bytes.
func (j *job) moveShort(dst, src *byte, dStep, na, size int64) {
	switch {
	case j.shuffled == picks && na >= j.shuffle.Least:
		kernels.Pick(dst, src, 0, 0, na, 1, &j.shuffle)
	case j.shuffled == spreads && na >= j.shuffle.Least:
		kernels.Spread(dst, src, 0, 0, na, 1, &j.shuffle)
	default:
		kernels.Move(dst, src, dStep, j.a.s, size, na)
	}
}

// moveSpans moves n runs of size bytes. Short ones are two words that may overlap in
// the middle, which is cheaper than a call of memmove each.
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
