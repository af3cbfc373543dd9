package tensor

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/padding"
	"github.com/restride/restride/layout"
)

// PadMode says what Pad adds around the elements.
type PadMode string

// The modes of Pad. If the padding is longer than the axis, PadReflect and PadWrap keep
// repeating.
const (
	PadConstant PadMode = padding.Constant // one value
	PadEdge     PadMode = padding.Edge     // the first and the last element of the axis
	PadReflect  PadMode = padding.Reflect  // the axis mirrored at its first and last element
	PadWrap     PadMode = padding.Wrap     // the axis repeated
)

// Padding is the number of elements that Pad adds along an axis: Before the first, After the
// last, and Between each two, which are added first. Negative Before and After remove elements;
// Between must not be negative, and must be 0 unless the mode is PadConstant.
type Padding struct{ Before, After, Between int64 }

// Pad adds elements along each axis (ONNX Pad; with Between as XLA's Pad). fill is the element
// that PadConstant adds, as little-endian bytes; nil is zero. The result is a view if nothing is
// added, else a copy.
func (t *Tensor) Pad(mode PadMode, fill []byte, pads ...Padding) (*Tensor, error) {
	const op = "Pad"
	if t == nil {
		return nil, nilTensor(op)
	}
	by := make([]padding.Axis, len(pads))
	for i, p := range pads {
		by[i] = padding.Axis(p)
	}
	p, err := padding.New(op, string(mode), &t.layout, by)
	if want := (t.dtype.Bits() + 7) / 8; err == nil && fill != nil && t.dtype != layout.String && len(fill) != want {
		err = layout.Errorf(device.ErrInvalid, op, "an element of %d bytes to fill with; %v has %d", len(fill), t.dtype, want)
	}
	if err != nil {
		return nil, t.fail(op, err)
	}
	if p.Parts == nil {
		return t.view(t.stream, op, &p.Crop, nil)
	}
	parts := make([]Part, len(p.Parts))
	for i, part := range p.Parts {
		parts[i] = Part{Into: part.Into, From: part.From, Fill: fill}
		if part.Source {
			parts[i].Src = t
		}
	}
	out, err := Assemble(t.stream, op, t.dtype, p.Dims, parts...)
	if err != nil && t.released.Load() {
		err = t.fail(op, ErrReleased)
	}
	return out, err
}
