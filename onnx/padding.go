package onnx

import (
	"math"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// padding is how many elements are added at both ends of an axis; negative: how
// many are removed.
type padding struct{ before, after int64 }

// margin is an axis of a padded tensor: the data are [at, at+n) of its dim
// elements.
type margin struct {
	axis       int
	at, n, dim int64
}

// pad makes output 0 of the call: x with a padding for each of its axes. A
// view if nothing is added; else the data and the margins, each element set once.
func (c *call) pad(mode PadMode, list []padding, fill []byte) error {
	dims := c.x.Shape()
	var axes []int // that change
	var from, to []int64
	var margins []margin // outermost first
	for i, p := range list {
		if p.before == 0 && p.after == 0 {
			continue
		}
		m, gone, err := c.margin(mode, i, dims[i], p)
		if err != nil {
			return err
		}
		axes, from, to = append(axes, i), append(from, gone), append(to, gone+m.n)
		if dims[i] = m.dim; m.dim > m.n {
			margins = append(margins, m)
		}
	}
	crop := window{axes, from, to, nil}
	inner, err := crop.region(c.x.Layout())
	if err != nil {
		return err
	}
	if len(margins) == 0 {
		return c.set(c.x.WithLayout(c.d.name, inner))
	}
	whole, err := layout.Contiguous(dims...) // also: the extents are no more than 64 bits hold
	if err != nil {
		return err
	}
	var parts []tensor.Part
	put := tensor.Part{Into: data(margins).region, Src: c.x, From: crop.region}
	switch {
	case whole.Count() == 0:
	case inner.Count() == 0: // mode is constant: other modes have refused
		parts = []tensor.Part{{Fill: fill}}
	case mode == PadConstant:
		parts = append(around(margins, fill), put)
	default:
		parts = append([]tensor.Part{put}, repeated(mode, margins)...)
	}
	return c.assemble(c.x.Stream(), c.x.DType(), dims, parts...)
}

// margin checks the padding of an axis. gone is how many elements go at its
// front.
func (c *call) margin(mode PadMode, axis int, dim int64, p padding) (m margin, gone int64, err error) {
	m = margin{axis: axis, at: max(p.before, 0), n: dim}
	for _, by := range [2]int64{p.before, p.after} {
		if by < 0 {
			if m.n += by; m.n < 0 { // by is no less than -1<<63, and n no less than 0
				return m, 0, c.d.invalid("axis %d: pads %d and %d remove more than its %d elements", axis, p.before, p.after, dim)
			}
		}
	}
	added := m.at
	if p.after > 0 {
		if added > math.MaxInt64-p.after {
			return m, 0, c.d.invalid("axis %d: pads %d and %d add more than 64 bits hold", axis, p.before, p.after)
		}
		added += p.after
	}
	if m.n > math.MaxInt64-added {
		return m, 0, c.d.invalid("axis %d: pads %d and %d add more than 64 bits hold", axis, p.before, p.after)
	}
	if m.dim = m.n + added; m.n == 0 && added > 0 && mode != PadConstant {
		return m, 0, c.d.invalid("axis %d has no elements that mode %s could repeat", axis, mode)
	}
	return m, max(-p.before, 0), nil
}

// window is a part of a whole: a slice along each of some axes.
type window struct {
	axes             []int
	from, to, stride []int64
}

func (w window) region(whole layout.Layout) (layout.Layout, error) {
	return whole.SliceAxes(w.axes, w.from, w.to, w.stride)
}

// data is where the elements lie that the margins are around.
func data(margins []margin) window {
	var w window
	for _, m := range margins {
		w.axes, w.from, w.to = append(w.axes, m.axis), append(w.from, m.at), append(w.to, m.at+m.n)
		w.stride = append(w.stride, 1)
	}
	return w
}

// with is the window with one axis more. w must not be changed afterwards by
// another with: they share memory.
func (w window) with(m margin, from, to, stride int64) window {
	n := len(w.axes)
	return window{
		append(w.axes[:n:n], m.axis), append(w.from[:n:n], from),
		append(w.to[:n:n], to), append(w.stride[:n:n], stride),
	}
}

// around returns the parts that fill the margins: slabs before and after the
// data along each axis, as long as the whole along later axes.
func around(margins []margin, fill []byte) []tensor.Part {
	var parts []tensor.Part
	for i, m := range margins {
		outer := data(margins[:i])
		if m.at > 0 {
			parts = append(parts, tensor.Part{Into: outer.with(m, 0, m.at, 1).region, Fill: fill})
		}
		if end := m.at + m.n; end < m.dim {
			parts = append(parts, tensor.Part{Into: outer.with(m, end, m.dim, 1).region, Fill: fill})
		}
	}
	return parts
}

// repeated returns the parts that fill the margins from elements that are
// already set: those of the last axis from the data, those of an axis before it
// with its margins too, which makes the corners right.
func repeated(mode PadMode, margins []margin) []tensor.Part {
	var parts []tensor.Part
	for i := len(margins) - 1; i >= 0; i-- {
		m := margins[i]
		r := repeater{parts: parts, outer: data(margins[:i]), m: m, lo: m.at, hi: m.at + m.n}
		switch {
		case mode == PadEdge || mode == PadReflect && m.n == 1:
			r.edge()
		case mode == PadReflect:
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
	parts  []tensor.Part
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
	r.parts = append(r.parts, tensor.Part{
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
		r.parts = append(r.parts, tensor.Part{Into: into.region, From: func(whole layout.Layout) (layout.Layout, error) {
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
