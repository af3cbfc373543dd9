package cpu

import (
	"github.com/restride/restride/internal/nest"
	"github.com/restride/restride/internal/simd"
)

const (
	// linedRow is the length, in bytes, from which rows are picked by whole lines.
	linedRow = 512
	// shuffledBytes is the size from which preparing a shuffle pays off.
	shuffledBytes = 512
	// fetchedRow is the length, in bytes, from which rows are prefetched, wherever they lie.
	fetchedRow = 16 << 10
)

// shuffle moves elements, or short rows, that are neighbours on one side and a small step apart on
// the other. A kernel either selects them, such as every second element or a reversed row, or
// spreads them.
type shuffle struct {
	simd.Shuffle
	kernel func(dst, src *byte, dStep, sStep, n, rows int64, p *simd.Shuffle) // nil: no kernel
	picks  bool
}

// plan chooses a kernel for elements of the given width in bytes, along an axis.
func (k *shuffle) plan(j *job, x *axis, width int64) {
	k.kernel, k.picks = nil, false
	switch {
	case kernels.Pick == nil || j.strings || j.bytes < shuffledBytes || j.kind == broadcast:
	case x.D == width && kernels.PlanPick(&k.Shuffle, width, x.S):
		k.kernel, k.picks = kernels.Pick, true
		k.fetchAhead(j, x.N*nest.Magnitude(x.S), nest.Magnitude(j.a.S))
	case x.S == width && kernels.PlanSpread != nil && kernels.PlanSpread(&k.Shuffle, width, x.D):
		k.kernel = kernels.Spread
		k.fetchAhead(j, x.N*x.D, nest.Magnitude(j.a.D))
	}
}

// fetchAhead decides whether a shuffle prefetches, where its far side has rows of a span, a step
// apart: it does not prefetch what is never read.
func (k *shuffle) fetchAhead(j *job, span, step int64) {
	if kernels.Direct && (j.kind == rows || !k.picks) || span < fetchedRow && (j.kind == rows || step > span+span/4) {
		k.Ahead = 0
	}
}

// picksLines reports whether a block of rows of size bytes is picked in whole lines: past the
// caches, each line must begin with an element.
func (e *elements) picksLines(j *job, path path, d, size int64) bool {
	switch {
	case !e.shuffle.picks || !e.shuffle.Lines || kernels.PickLines == nil || size < linedRow || path == staged:
		return false
	case !kernels.Lined && !kernels.Direct: // a block is faster
		return false
	case path == streamed:
		return (int64(uintptr(j.dst))|d|j.a.D)%e.width == 0
	}
	return true
}

// pickRow picks n elements to neighbours at d: whole lines with the kernel, the elements before
// and after these separately. Lines are in ascending order of the source; near its end they
// prefetch the start of the next row.
func (e *elements) pickRow(j *job, d, s, n, next int64, past bool) {
	k, width, step := &e.shuffle.Shuffle, e.width, j.b.S
	by := nest.Magnitude(step)
	jump := next - (s + n*by) // from the end of this row to the start of the next one
	some := func(m int64) {
		if m >= k.Least {
			kernels.Pick(ptr(j.dst, d), ptr(j.src, s), 0, 0, m, 1, k)
		} else {
			e.loops.row(j.dst, j.src, d, s, axis{N: m, D: width, S: step})
		}
		d, s, n = d+m*width, s+m*step, n-m
	}
	if past {
		some(min(-(int64(uintptr(j.dst))+d)&(cacheLine-1)/width, n))
	}
	const line = cacheLine
	lines, ahead := n*width/line, nest.Magnitude(k.Ahead)
	last := min(lines, ahead*width/(line*by))
	pick := func(from, m, ahead int64) {
		if m == 0 {
			return // and no pointer
		}
		kernels.PickLines(ptr(j.dst, d+from*line), ptr(j.src, s+from*line/width*step), m, k, ahead, past)
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

// fetch prefetches size bytes of the source to the second-level cache, if kernels can: the
// hardware does not prefetch consecutive rows that are read backwards.
func (e *ends) fetch(s, size int64) {
	if kernels.FetchRows != nil && size > 0 {
		kernels.FetchRows(ptr(e.src, s), &here[0], 1, size)
	}
}

var here [1]int64
