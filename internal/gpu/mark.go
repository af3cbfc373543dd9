package gpu

import (
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// mark says that bytes [lo, hi) of a buffer depend on an outcome.
type mark struct {
	*outcome
	lo, hi int64
}

// suspects appends the outcomes that bytes [lo, hi) depend on and that may have failed. It
// removes marks that are no longer needed.
func (b *Buffer) suspects(lo, hi int64, to []*outcome) []*outcome {
	if !b.suspicious() {
		return to
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.setMarks(slices.DeleteFunc(b.marks, func(m mark) bool { return m.known() && m.state.Load() == good }))
	for _, m := range b.marks {
		if m.lo < hi && lo < m.hi && !slices.Contains(to, m.outcome) {
			to = append(to, m.outcome)
		}
	}
	if o := b.wrote.fault(); o != nil && !slices.Contains(to, o) {
		to = append(to, o)
	}
	return to
}

// suspicious is a quick check: false means that there are no suspects.
func (b *Buffer) suspicious() bool { return b.marked.Load() || b.dev.faulted.Load() }

// depend makes bytes [lo, hi) depend on the outcomes: on these alone if all bytes are
// overwritten, otherwise in addition.
func (b *Buffer) depend(lo, hi int64, overwritten bool, on []*outcome) {
	if len(on) == 0 && !b.marked.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if overwritten {
		b.clear(lo, hi)
	}
	for _, o := range on {
		b.mark(o, lo, hi)
	}
}

// mark adds a mark, or extends one. The buffer is locked.
func (b *Buffer) mark(o *outcome, lo, hi int64) {
	for i := range b.marks {
		if m := &b.marks[i]; m.outcome == o && m.lo <= hi && lo <= m.hi {
			m.lo, m.hi = min(m.lo, lo), max(m.hi, hi)
			return
		}
	}
	if b.marks == nil {
		b.marks = b.firstMark[:0]
	}
	b.setMarks(append(b.marks, mark{o, lo, hi}))
}

// clear ends the marks of bytes [lo, hi). The buffer is locked.
func (b *Buffer) clear(lo, hi int64) {
	var beyond []mark
	kept := b.marks[:0]
	for _, m := range b.marks {
		if m.hi <= lo || hi <= m.lo {
			kept = append(kept, m)
			continue
		}
		if hi < m.hi {
			beyond = append(beyond, mark{m.outcome, hi, m.hi})
		}
		if m.lo < lo {
			kept = append(kept, mark{m.outcome, m.lo, lo})
		}
	}
	clear(b.marks[len(kept):])
	b.setMarks(append(kept, beyond...))
}

func (b *Buffer) setMarks(m []mark) {
	b.marks = m
	b.marked.Store(len(m) > 0)
}

// part is a range of a buffer's bytes that work reads or writes.
type part struct {
	b      *Buffer
	lo, hi int64
	dense  bool // every byte of it belongs to an element
}

// partOf returns what an operand reaches, with indices if it has some.
func partOf(o *device.Operand, by []layout.Index) part {
	ends := backend.BytesOf(o, by)
	p := part{b: o.Buffer.(*Buffer), lo: ends[0], hi: ends[1] + 1}
	p.dense = len(by) == 0 && o.Layout.Count()*int64(o.Type.Bits()) == 8*(p.hi-p.lo)
	return p
}
