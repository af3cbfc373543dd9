package core

import (
	"slices"

	"github.com/pkg/errors"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/padding"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Convert converts numbers.
func Convert(from, to layout.DType) *Node {
	n := &Node{kind: lone, op: "ConvertDType", fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
		return dst.Stream().Queue().Convert(dst.Operand(), in[0].Operand(), device.Rounding{})
	}}
	switch {
	case from == 0 || to == 0:
		return Fallback(n.op)
	case holds(to, from), isInteger(from) && (to == layout.Float32 || to == layout.Float64): // both round to nearest
		n.kind = onDevice
	}
	return n
}

// holds reports whether a type has all numbers of another. On the Go backend, others convert as
// the processor does.
func holds(t, of layout.DType) bool {
	kind, from := numeric.KindOf(t), numeric.KindOf(of)
	switch {
	case t == of:
		return true
	case kind == numeric.BoolKind:
		return false
	case from == numeric.FloatKind:
		return kind == numeric.FloatKind && t.Bits() > of.Bits()
	case kind == numeric.UintKind && from == numeric.IntKind:
		return false
	}
	return digits(t) >= digits(of)
}

// Concatenate joins arrays along an axis.
func Concatenate(axis int) *Node {
	const op = "Concatenate"
	return &Node{kind: onDevice, op: op, fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
		parts := make([]tensor.Part, len(in))
		at := int64(0)
		for i, x := range in {
			from, to := at, at+x.Dim(axis)
			at = to
			parts[i] = tensor.Part{Src: x, Into: func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, from, to, 1) }}
		}
		return overwrite(dst, op, parts...)
	}}
}

// PadAxis is the padding of an axis: elements before it, after it, and between two of its elements.
type PadAxis struct{ Start, End, Interior int }

// Pad surrounds the elements of its first operand with the second, a scalar. Axes that are not
// named stay as they are.
func Pad(axes []PadAxis) *Node {
	n := &Node{kind: onDevice, op: "Pad",
		fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error { return pad(dst, in[0], in[1], axes) }}
	n.infer = func(in []Array) (Array, error) {
		if len(axes) > len(in[0].Dims) || in[1].DType != in[0].DType || len(in[1].Dims) > 0 {
			return Array{}, errors.Errorf("%d axes, and a value of shape %s", len(axes), in[1].Shape)
		}
		to := Array{DType: in[0].DType, Dims: slices.Clone(in[0].Dims)}
		for i, a := range axes {
			to.Dims[i] += int64(a.Start) + int64(a.End) + max(in[0].Dims[i]-1, 0)*int64(a.Interior)
			if a.Interior < 0 || to.Dims[i] < 0 {
				return to, errors.Errorf("axis %d by %+v", i, a)
			}
		}
		return to, nil
	}
	for _, a := range axes {
		if a.Start < 0 || a.End < 0 {
			n.kind, n.op = lone, "Pad that takes elements away" // the Go backend panics in its own goroutine
		}
	}
	return n
}

// pad sets dst to x with elements around and between its own, set to value.
func pad(dst, x, value *tensor.Tensor, axes []PadAxis) error {
	const op = "Pad"
	by := make([]padding.Axis, x.Rank())
	for i, a := range axes {
		by[i] = padding.Axis{Before: int64(a.Start), After: int64(a.End), Between: int64(a.Interior)}
	}
	l := x.Layout()
	p, err := padding.New(op, padding.Constant, &l, by)
	if err != nil {
		return err
	}
	if p.Parts == nil {
		v, err := x.WithLayout(op, p.Crop)
		if err != nil {
			return err
		}
		defer v.Release()
		return dst.CopyFrom(v)
	}
	parts := make([]tensor.Part, len(p.Parts))
	for i, part := range p.Parts {
		if part.Source {
			parts[i] = tensor.Part{Into: part.Into, Src: x, From: part.From}
			continue
		}
		// What is filled takes the value from its tensor, which need not come to the host.
		var dims layout.Shape
		parts[i] = tensor.Part{Src: value,
			Into: func(whole layout.Layout) (_ layout.Layout, err error) {
				if part.Into != nil {
					whole, err = part.Into(whole)
				}
				dims = whole.Shape()
				return whole, err
			},
			From: func(l layout.Layout) (layout.Layout, error) { return l.Expand(dims...) },
		}
	}
	return overwrite(dst, op, parts...)
}

// overwrite sets the elements of dst from parts.
func overwrite(dst *tensor.Tensor, op string, parts ...tensor.Part) error {
	written, err := dst.Overwrite(op, parts...)
	if err != nil {
		return err
	}
	return written.Release()
}

// Where chooses between two arrays.
func Where() *Node {
	return &Node{kind: onDevice, op: "Where", fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
		var operands [3]device.Operand
		for i, x := range in { // which may be scalars
			operands[i] = x.Operand()
			var err error
			if operands[i].Layout, err = x.Layout().Expand(dst.Shape()...); err != nil {
				return err
			}
		}
		return dst.Stream().Queue().Where(dst.Operand(), operands[0], operands[1], operands[2])
	}}
}
