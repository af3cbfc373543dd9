package padding

import (
	"math"

	"github.com/restride/restride/layout"
)

// repeated returns the parts that fill the margins from elements that are
// already set: those of the last axis from the data, those of an axis before it
// with its margins too, which makes the corners right.
func repeated(mode string, margins []margin) []Part {
	var parts []Part
	for i := len(margins) - 1; i >= 0; i-- {
		m := margins[i]
		r := repeater{parts: parts, outer: data(margins[:i]), m: m, lo: m.at, hi: m.at + m.n}
		switch {
		case mode == Edge || mode == Reflect && m.n == 1:
			r.edge()
		case mode == Reflect:
			r.mirror()
			r.repeat(2 * (m.n - 1))
		default:
			r.repeat(m.n)
		}
		parts = r.parts
	}
	return parts
}

// repeater fills the margins of one axis, of which [lo, hi) is set.
type repeater struct {
	parts  []Part
	outer  window // along the axes before it
	m      margin
	lo, hi int64
}

// add sets [to, to+n) from n elements from start.
func (r *repeater) add(to, n, start, stride int64) {
	end := start + n*stride
	if end < 0 { // beyond the front; -1 would be the last element
		end = math.MinInt64
	}
	r.parts = append(r.parts, Part{
		Into: r.outer.with(r.m, to, to+n, 1).region,
		From: r.outer.with(r.m, start, end, stride).region,
	})
	r.lo, r.hi = min(r.lo, to), max(r.hi, to+n)
}

// edge repeats the first and the last element.
func (r *repeater) edge() {
	add := func(to, end, one int64) {
		if to == end {
			return
		}
		into, from := r.outer.with(r.m, to, end, 1), r.outer.with(r.m, one, one+1, 1)
		r.parts = append(r.parts, Part{Into: into.region, From: func(whole layout.Layout) (layout.Layout, error) {
			l, err := into.region(whole)
			if err != nil {
				return l, err
			}
			e, err := from.region(whole)
			if err != nil {
				return e, err
			}
			return e.Expand(l.Shape()...)
		}})
	}
	add(0, r.lo, r.lo)
	add(r.hi, r.m.dim, r.hi-1)
}

// mirror reflects the data at its two ends, once.
func (r *repeater) mirror() {
	first, last := r.lo, r.hi-1
	if n := min(first, r.m.n-1); n > 0 {
		r.add(first-n, n, first+n, -1)
	}
	if n := min(r.m.dim-1-last, r.m.n-1); n > 0 {
		r.add(last+1, n, last-1, -1)
	}
}

// repeat fills what is left from elements a multiple of the period away: what is
// set grows by itself each time. It is at least a period, or nothing is left.
func (r *repeater) repeat(period int64) {
	for r.lo > 0 {
		by := (r.hi - r.lo) / period * period
		n := min(r.lo, by)
		r.add(r.lo-n, n, r.lo-n+by, 1)
	}
	for r.hi < r.m.dim {
		by := (r.hi - r.lo) / period * period
		n := min(r.m.dim-r.hi, by)
		r.add(r.hi, n, r.hi-by, 1)
	}
}
