// Package padding plans padding: which regions of a padded tensor are set from what. It is
// arithmetic on layouts; package tensor and engines carry it out.
package padding

import (
	"math"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// The modes. Where the padding is longer than the axis, Reflect and Wrap go on repeating.
const (
	Constant = "constant" // one value
	Edge     = "edge"     // the first and the last element of the axis
	Reflect  = "reflect"  // the axis mirrored at its first and last element
	Wrap     = "wrap"     // the axis again
)

// Axis is how many elements are added along an axis: Before its first and After its last
// one, and Between each two, which comes first. Negative ones of Before and After remove
// elements; Between is not negative, and 0 but with Constant.
type Axis struct{ Before, After, Between int64 }

// Region maps the layout of a whole to that of a part of it.
type Region = func(whole layout.Layout) (layout.Layout, error)

// A Part sets the region Into of the padded tensor, nil for all of it, in one of three ways:
// from a region of the source, from a region of the padded tensor itself that earlier parts
// have set, or without From to the value of the padding.
type Part struct {
	Into, From Region
	Source     bool // From is a region of the source
}

// Plan is how a padded tensor is made: without Parts it is the view Crop of the source, else
// it has the extents Dims and is put together from Parts. Each element is set once, but for
// those that come between others.
type Plan struct {
	Crop  layout.Layout
	Dims  layout.Shape
	Parts []Part
}

// New plans the padding of a source by the padding of each axis. op names the operation in
// errors.
func New(op, mode string, source *layout.Layout, axes []Axis) (p Plan, err error) {
	if err := check(op, mode, source, axes); err != nil {
		return p, err
	}
	p.Dims = source.Shape()
	var crop window
	var margins []margin // outermost first
	gaps := false
	for i, by := range axes {
		if by == (Axis{}) {
			continue
		}
		m, first, err := newMargin(op, mode, i, p.Dims[i], by)
		if err != nil {
			return p, err
		}
		crop.axes, crop.from, crop.to = append(crop.axes, i), append(crop.from, first), append(crop.to, first+m.n)
		if p.Dims[i] = m.dim; m.dim > m.n {
			margins = append(margins, m)
			gaps = gaps || m.step > 1 && m.n > 1
		}
	}
	if p.Crop, err = crop.region(*source); err != nil {
		return p, err
	}
	if len(margins) == 0 {
		return p, nil
	}
	n, err := p.Dims.Count() // also: the extents are no more than 64 bits hold
	put := Part{Into: data(margins).region, From: crop.region, Source: true}
	switch {
	case err != nil:
		return p, err
	case n == 0:
		p.Parts = []Part{}
	case p.Crop.Count() == 0: // mode is constant: other modes have refused
		p.Parts = []Part{{}}
	case gaps:
		p.Parts = []Part{{}, put}
	case mode == Constant:
		p.Parts = append(around(margins), put)
	default:
		p.Parts = append([]Part{put}, repeated(mode, margins)...)
	}
	return p, nil
}

// check checks what can be without the extents.
func check(op, mode string, source *layout.Layout, axes []Axis) error {
	refuse := func(format string, args ...any) error { return layout.Errorf(layout.ErrInvalid, op, format, args...) }
	switch mode {
	case Constant, Edge, Reflect, Wrap:
	default:
		return refuse("mode %s: it must be constant, edge, reflect or wrap", quote.Name(mode))
	}
	if len(axes) != source.Rank() {
		return refuse("%d paddings for %d axes", len(axes), source.Rank())
	}
	for i, by := range axes {
		if by.Between < 0 || by.Between > 0 && mode != Constant {
			return refuse("axis %d: %d elements between each two: that is for mode constant, and not negative", i, by.Between)
		}
	}
	return nil
}

// margin is an axis of a padded tensor of dim elements: n data are in it, from at on,
// each step elements from the last.
type margin struct {
	axis             int
	at, n, step, dim int64
}

// end is behind the last of the data.
func (m margin) end() int64 {
	if m.n == 0 {
		return m.at
	}
	return m.at + (m.n-1)*m.step + 1
}

// newMargin checks the padding of an axis of dim elements. first is the first of them
// that stays.
func newMargin(op string, mode string, axis int, dim int64, by Axis) (m margin, first int64, err error) {
	refuse := func(format string, args ...any) (margin, int64, error) {
		return m, 0, layout.Errorf(layout.ErrInvalid, op, "axis %d: pads %d and %d "+format, append([]any{axis, by.Before, by.After}, args...)...)
	}
	const beyond = "add more than 64 bits hold"
	m = margin{axis: axis, step: 1, dim: dim}
	if by.Between > 0 && dim > 1 { // the elements apart, before the edges
		if by.Between > (math.MaxInt64-dim)/(dim-1) {
			return refuse(beyond)
		}
		m.step = by.Between + 1
		m.dim = (dim-1)*m.step + 1
	}
	apart := m.dim
	for _, edge := range [2]int64{by.Before, by.After} {
		if edge < 0 {
			if m.dim += edge; m.dim < 0 { // edge is no less than -1<<63, and dim no less than 0
				return refuse("remove more than its %d elements", apart)
			}
		}
	}
	lo := max(-by.Before, 0) // what goes at the front
	if lo > 0 {
		first = (lo-1)/m.step + 1
	}
	if last := lo + m.dim - 1; last >= first*m.step {
		m.n = last/m.step - first + 1
		m.at = first*m.step - lo
	}
	for _, edge := range [2]int64{by.Before, by.After} {
		if edge > 0 {
			if m.dim > math.MaxInt64-edge {
				return refuse(beyond)
			}
			m.dim += edge
		}
	}
	m.at += max(by.Before, 0)
	if m.n == 0 && m.dim > 0 && mode != Constant {
		return m, 0, layout.Errorf(layout.ErrInvalid, op, "axis %d has no elements that mode %s could repeat", axis, mode)
	}
	return m, first, nil
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
		w.axes, w.from, w.to = append(w.axes, m.axis), append(w.from, m.at), append(w.to, m.end())
		w.stride = append(w.stride, m.step)
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
func around(margins []margin) []Part {
	var parts []Part
	for i, m := range margins {
		outer := data(margins[:i])
		if m.at > 0 {
			parts = append(parts, Part{Into: outer.with(m, 0, m.at, 1).region})
		}
		if end := m.end(); end < m.dim {
			parts = append(parts, Part{Into: outer.with(m, end, m.dim, 1).region})
		}
	}
	return parts
}
