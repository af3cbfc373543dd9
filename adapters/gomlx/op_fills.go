package gomlx

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/padding"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// fillFunc sets all elements of dst, which is contiguous and not empty.
type fillFunc func(dst *tensor.Tensor, in []*tensor.Tensor) error

func (f *function) ConvertDType(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	n := &node{kind: lone, op: "ConvertDType",
		build: one(func(g compute.Function, x compute.Value) (compute.Value, error) { return g.ConvertDType(x, dtype) }),
		fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
			return dst.Stream().Queue().Convert(dst.Operand(), in[0].Operand(), device.Rounding{})
		}}
	of, err := f.Shape(x)
	if err != nil {
		return nil, err
	}
	_, isFrom := types[of.DType]
	_, isTo := types[dtype]
	switch {
	case !isFrom || !isTo:
		n.kind, n.fill = fallback, nil
	case holds(dtype, of.DType):
		n.kind = onDevice
	}
	return f.single(n, x)
}

// holds reports whether a type has all numbers of another. On the Go backend, others convert as
// the processor does.
func holds(t, of dtypes.DType) bool {
	digits := func(t dtypes.DType) int {
		switch {
		case t == dtypes.Bool:
			return 1
		case t == dtypes.BFloat16:
			return 8
		case t == dtypes.Float16:
			return 11
		case t == dtypes.Float32:
			return 24
		case t == dtypes.Float64:
			return 53
		case t.IsInt() && !t.IsUnsigned():
			return t.Bits() - 1
		}
		return t.Bits()
	}
	switch {
	case t == of:
		return true
	case t == dtypes.Bool:
		return false
	case of.IsFloat():
		return t.IsFloat() && t.Bits() > of.Bits()
	case t.IsUnsigned() && !of.IsUnsigned() && of != dtypes.Bool:
		return false
	}
	return digits(t) >= digits(of)
}

func (f *function) Concatenate(axis int, xs ...compute.Value) (compute.Value, error) {
	return f.single(&node{kind: onDevice, op: "Concatenate",
		build: func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
			v, err := g.Concatenate(axis, in...)
			return []compute.Value{v}, err
		},
		fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
			parts := make([]tensor.Part, len(in))
			at := int64(0)
			for i, x := range in {
				from, to := at, at+x.Dim(axis)
				at = to
				parts[i] = tensor.Part{Src: x, Into: func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, from, to, 1) }}
			}
			return overwrite(dst, "Concatenate", parts...)
		}}, xs...)
}

func (f *function) Pad(x, value compute.Value, axes ...compute.PadAxis) (compute.Value, error) {
	axes = slices.Clone(axes)
	n := &node{kind: onDevice, op: "Pad",
		build: func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
			v, err := g.Pad(in[0], in[1], axes...)
			return []compute.Value{v}, err
		},
		fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error { return pad(dst, in[0], in[1], axes) }}
	if !slices.ContainsFunc(axes, func(a compute.PadAxis) bool { return a.Start < 0 || a.End < 0 }) {
		return f.single(n, x, value)
	}
	n.kind = lone // the Go backend panics in its own goroutine
	y, err := f.single(n, x, value)
	if err == nil {
		f.bu.alone = "Pad that takes elements away"
	}
	return y, err
}

// pad sets dst to x with elements around and between its own, set to value.
func pad(dst, x, value *tensor.Tensor, axes []compute.PadAxis) error {
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

func (f *function) Where(condition, onTrue, onFalse compute.Value) (compute.Value, error) {
	return f.single(&node{kind: onDevice, op: "Where",
		build: func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
			v, err := g.Where(in[0], in[1], in[2])
			return []compute.Value{v}, err
		},
		fill: func(dst *tensor.Tensor, in []*tensor.Tensor) error {
			var operands [3]device.Operand
			for i, x := range in { // which may be scalars
				operands[i] = x.Operand()
				var err error
				if operands[i].Layout, err = x.Layout().Expand(dst.Shape()...); err != nil {
					return err
				}
			}
			return dst.Stream().Queue().Where(dst.Operand(), operands[0], operands[1], operands[2])
		}}, condition, onTrue, onFalse)
}
