package cpu

import "unsafe"

const (
	// linedRow is the length, in bytes, from which rows are picked by whole lines.
	linedRow = 512
	// shuffledBytes is the size from which preparing a shuffle pays.
	shuffledBytes = 512
	// fetchedRow is the length, in bytes, from which rows are fetched ahead, however they
	// lie.
	fetchedRow = 16 << 10
)

// shuffled says which kernel of simd.Shuffle moves a job's blocks.
type shuffled uint8

const (
	none    shuffled = iota
	picks            // from a step apart to neighbours: every second, reversed
	spreads          // from neighbours to a step apart
)

// planShuffle chooses a kernel for elements, or short rows, that are neighbours on
// one side and a small step apart on the other.
func (j *job) planShuffle() {
	j.shuffled = none
	width := int64(j.dBits / 8)
	x := &j.b
	switch {
	case kernels.Pick == nil || j.strings || j.packed || j.bytes < shuffledBytes:
		return
	case j.class == rows:
		x = &j.a
		if width *= j.b.n; width > shortRow || j.blkB < j.b.n {
			return
		}
	case j.class != strided && j.class != general && j.class != reversed:
		return
	}
	switch {
	case x.d == width && kernels.PlanPick(&j.shuffle, width, x.s):
		j.shuffled = picks
		j.fetchAhead(x.n*magnitude(x.s), magnitude(j.a.s))
	case x.s == width && kernels.PlanSpread != nil && kernels.PlanSpread(&j.shuffle, width, x.d):
		j.shuffled = spreads
		j.fetchAhead(x.n*x.d, magnitude(j.a.d))
	}
}

// picksLines reports whether a block of rows of size bytes is picked by whole lines: past
// the caches these must have elements that begin with one.
func (j *job) picksLines(path path, d, size, width int64) bool {
	switch {
	case j.shuffled != picks || !j.shuffle.Lines || kernels.PickLines == nil || size < linedRow || path == staged:
		return false
	case !kernels.Lined && !kernels.Direct: // a block is faster
		return false
	case path == streamed:
		return (int64(uintptr(j.dst))|d|j.a.d)%width == 0
	}
	return true
}

// pickRow picks n elements to neighbours at d by whole lines, and what is before and after
// these by itself. Lines come in ascending order of the source; near its end they fetch
// where the next row begins.
func pickRow[W word](j *job, d, s, n, next int64, past bool) {
	width, step := int64(unsafe.Sizeof(*new(W))), j.b.s
	by := magnitude(step)
	jump := next - (s + n*by) // from the end of this row to the beginning of the next one
	some := func(m int64) {
		if m >= j.shuffle.Least {
			kernels.Pick(ptr(j.dst, d), ptr(j.src, s), 0, 0, m, 1, &j.shuffle)
		} else {
			moveElementRow[W](j.dst, j.src, d, s, axis{m, width, step})
		}
		d, s, n = d+m*width, s+m*step, n-m
	}
	if past {
		some(min(-(int64(uintptr(j.dst))+d)&(cacheLine-1)/width, n))
	}
	const line = cacheLine
	lines, ahead := n*width/line, magnitude(j.shuffle.Ahead)
	last := min(lines, ahead*width/(line*by))
	pick := func(from, m, ahead int64) {
		if m == 0 {
			return // and no pointer
		}
		kernels.PickLines(ptr(j.dst, d+from*line), ptr(j.src, s+from*line/width*step), m, &j.shuffle, ahead, past)
	}
	if step > 0 {
		pick(0, lines-last, ahead)
		pick(lines-last, last, ahead+jump)
	} else {
		pick(last, lines-last, ahead)
		pick(0, last, ahead+jump)
	}
	d, s, n = d+lines*line, s+lines*line/width*step, n-lines*line/width
	some(n)
}

// fetchAhead decides whether a shuffle fetches ahead, where its far side has rows of a
// span, a step apart: not what is never read.
func (j *job) fetchAhead(span, step int64) {
	if kernels.Direct && (j.class == rows || j.shuffled == spreads) || span < fetchedRow && (j.class == rows || step > span+span/4) {
		j.shuffle.Ahead = 0
	}
}

// fetch fetches size bytes of the source to the second cache, where kernels can: rows that
// are read backwards, one after another, are not fetched by the processor itself.
func (j *job) fetch(s, size int64) {
	if kernels.FetchRows != nil && size > 0 {
		kernels.FetchRows(ptr(j.src, s), &here[0], 1, size)
	}
}

var here [1]int64
