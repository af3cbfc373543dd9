package tensor

import (
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// PadMode says what Pad puts around the elements.
type PadMode string

// The modes of Pad. Where the padding is longer than the axis, PadReflect and PadWrap go
// on repeating.
const (
	PadConstant PadMode = "constant" // one value
	PadEdge     PadMode = "edge"     // the first and the last element of the axis
	PadReflect  PadMode = "reflect"  // the axis mirrored at its first and last element
	PadWrap     PadMode = "wrap"     // the axis again
)

// Padding is how many elements Pad adds along an axis: Before its first and After its
// last one, and Between each two, which comes first. Negative ones of Before and After
// remove elements; Between is not negative, and 0 but with PadConstant.
type Padding struct{ Before, After, Between int64 }

// Pad adds elements along each axis (ONNX Pad; with Between as XLA's Pad). fill is one
// element, as Part.Fill has it, that PadConstant adds; nil is zero. The result is a view
// if nothing is added, else a copy.
func (t *Tensor) Pad(mode PadMode, fill []byte, pads ...Padding) (*Tensor, error) {
	const op = "Pad"
	p, err := t.PlanPad(op, mode, fill, pads)
	if err != nil {
		return nil, err
	}
	if p.Parts == nil {
		return t.view(t.stream, op, &p.Crop, nil)
	}
	out, err := Assemble(t.stream, op, t.dtype, p.Dims, p.Parts...)
	if err != nil && t.released.Load() {
		err = t.fail(op, ErrReleased)
	}
	return out, err
}

// Padded says how a padded tensor is made: without Parts it is the view Crop, else it has
// Dims and is put together by Assemble.
type Padded struct {
	Crop  layout.Layout
	Dims  layout.Shape
	Parts []Part
}

// PlanPad is Pad under the name of the operation that asks for it, without making
// anything. Each element is set once, but for those that come between others.
func (t *Tensor) PlanPad(op string, mode PadMode, fill []byte, pads []Padding) (p Padded, err error) {
	if t == nil {
		return p, nilTensor(op)
	}
	if err := t.checkPad(op, mode, fill, pads); err != nil {
		return p, t.fail(op, err)
	}
	p.Dims = t.layout.Shape()
	var crop window
	var margins []margin // outermost first
	gaps := false
	for i, by := range pads {
		if by == (Padding{}) {
			continue
		}
		m, first, err := newMargin(op, mode, i, p.Dims[i], by)
		if err != nil {
			return p, t.fail(op, err)
		}
		crop.axes, crop.from, crop.to = append(crop.axes, i), append(crop.from, first), append(crop.to, first+m.n)
		if p.Dims[i] = m.dim; m.dim > m.n {
			margins = append(margins, m)
			gaps = gaps || m.step > 1 && m.n > 1
		}
	}
	if p.Crop, err = crop.region(t.layout); err != nil {
		return p, t.fail(op, err)
	}
	if len(margins) == 0 {
		return p, nil
	}
	n, err := p.Dims.Count() // also: the extents are no more than 64 bits hold
	put := Part{Into: data(margins).region, Src: t, From: crop.region}
	switch {
	case err != nil:
		return p, t.fail(op, err)
	case n == 0:
		p.Parts = []Part{}
	case p.Crop.Count() == 0: // mode is constant: other modes have refused
		p.Parts = []Part{{Fill: fill}}
	case gaps:
		p.Parts = []Part{{Fill: fill}, put}
	case mode == PadConstant:
		p.Parts = append(around(margins, fill), put)
	default:
		p.Parts = append([]Part{put}, repeated(mode, margins)...)
	}
	return p, nil
}

// checkPad checks what can be without the extents.
func (t *Tensor) checkPad(op string, mode PadMode, fill []byte, pads []Padding) error {
	refuse := func(format string, args ...any) error { return layout.Errorf(device.ErrInvalid, op, format, args...) }
	switch mode {
	case PadConstant, PadEdge, PadReflect, PadWrap:
	default:
		return refuse("mode %s: it must be constant, edge, reflect or wrap", quote.Name(string(mode)))
	}
	if len(pads) != t.Rank() {
		return refuse("%d paddings for %d axes", len(pads), t.Rank())
	}
	if want := (t.dtype.Bits() + 7) / 8; fill != nil && t.dtype != layout.String && len(fill) != want {
		return refuse("an element of %d bytes to fill with; %v has %d", len(fill), t.dtype, want)
	}
	for i, by := range pads {
		if by.Between < 0 || by.Between > 0 && mode != PadConstant {
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
func newMargin(op string, mode PadMode, axis int, dim int64, by Padding) (m margin, first int64, err error) {
	refuse := func(format string, args ...any) (margin, int64, error) {
		return m, 0, layout.Errorf(device.ErrInvalid, op, "axis %d: pads %d and %d "+format, append([]any{axis, by.Before, by.After}, args...)...)
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
	if m.n == 0 && m.dim > 0 && mode != PadConstant {
		return m, 0, layout.Errorf(device.ErrInvalid, op, "axis %d has no elements that mode %s could repeat", axis, mode)
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
func around(margins []margin, fill []byte) []Part {
	var parts []Part
	for i, m := range margins {
		outer := data(margins[:i])
		if m.at > 0 {
			parts = append(parts, Part{Into: outer.with(m, 0, m.at, 1).region, Fill: fill})
		}
		if end := m.end(); end < m.dim {
			parts = append(parts, Part{Into: outer.with(m, end, m.dim, 1).region, Fill: fill})
		}
	}
	return parts
}
