package gpu

import (
	"slices"

	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// flow records what queued work makes of the outcomes that its sources depend on. Its slices
// are kept to avoid allocations.
type flow struct {
	parts     []part
	suspected []*outcome
}

// of records that a queued call has written its outputs, which depend on what its sources
// depend on.
func (f *flow) of(q *timeline, c *call) {
	dst := c.operands[planner.Dst]
	busy := q.capture != nil || dst.Buffer.(*Buffer).marked.Load()
	for _, o := range c.operands[planner.Src:] {
		busy = busy || o != nil && o.Buffer.(*Buffer).suspicious()
	}
	if !busy {
		return
	}
	f.parts = f.parts[:0]
	if src := c.operands[planner.Src]; c.FindScale {
		f.parts = append(f.parts, partOf(src, nil))
		f.between(q, partOf(c.operands[planner.Scale], nil), nil, f.parts)
	} else if src != nil {
		f.parts = append(f.parts, partOf(src, nil))
	}
	for _, o := range c.operands[planner.Src+1:] {
		if o != nil {
			f.parts = append(f.parts, partOf(o, nil))
		}
	}
	f.between(q, partOf(dst, nil), nil, f.parts)
}

// indexed is of for a take or put, whose status is in a page.
func (f *flow) indexed(q *timeline, c *call, p *page) {
	var own *outcome
	if q.capture != nil {
		q.capture.takes = append(q.capture.takes, taken{dst: c.operands[planner.Dst].Buffer.(*Buffer), seq: q.seq})
	} else {
		own = p.next(q)
		own.dst, own.seq = c.operands[planner.Dst].Buffer.(*Buffer), q.seq
	}
	ofDst, ofSrc := c.By, []layout.Index(nil)
	if c.Op == planner.OpTake {
		ofDst, ofSrc = ofSrc, ofDst
	}
	to := partOf(c.operands[planner.Dst], ofDst)
	if slices.ContainsFunc(c.By, func(x layout.Index) bool { return x.OutOfRange == layout.OutOfRangeSkip }) {
		to.dense = false // elements may stay as they are
	}
	at := c.operands[planner.At]
	f.parts = append(f.parts[:0], partOf(c.operands[planner.Src], ofSrc))
	for i := range c.By {
		p, off := partOf(at, nil), c.By[i].Offset*int64(at.Type.Bits()/8)
		f.parts = append(f.parts, part{b: p.b, lo: p.lo + off, hi: p.hi + off})
	}
	f.between(q, to, own, f.parts)
}

// between records that a queued piece of work has written dst from sources: dst depends on
// what they depend on, and on the work's own outcome, if any.
func (f *flow) between(q *timeline, dst part, own *outcome, srcs []part) {
	if q.capture != nil {
		q.capture.note(dst, srcs)
		return
	}
	on := f.suspected[:0]
	for _, s := range srcs {
		on = s.b.suspects(s.lo, s.hi, on)
	}
	if own != nil {
		on = append(on, own)
	}
	if len(on) > mostSuspects {
		q.askFor(mostSuspects)
	}
	dst.b.depend(dst.lo, dst.hi, dst.dense, on)
	clear(on)
	f.suspected = on[:0]
}

// mostSuspects is the number of outcomes from which it pays to ask for them, in chains of work
// that nobody waits for.
const mostSuspects = 16
