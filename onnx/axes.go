package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	transpose := definition{inputs: arity{1, 1}, attrs: []string{"perm"}, prepare: prepareTranspose}
	register("Transpose", transpose.versions(change{1, types5}, change{13, types13}, change{21, types21},
		change{23, types23}, change{24, types24}, change{25, types25})...)

	for _, op := range []struct {
		name  string
		apply withAxes
		least int // inputs, once the axes are one of them
	}{{"Squeeze", squeeze, 1}, {"Unsqueeze", unsqueeze, 2}} {
		byAttr := definition{inputs: arity{1, 1}, attrs: []string{"axes"}, prepare: prepareAxes(op.apply)}
		byInput := definition{inputs: arity{op.least, 2}, host: 1 << 1, prepare: prepareAxes(op.apply)}
		register(op.name, byAttr.versions(change{1, types5}, change{11, types5})...)
		register(op.name, byInput.versions(change{13, types13}, change{21, types21},
			change{23, types23}, change{24, types24}, change{25, types25})...)
	}
}

// Transpose reorders x's axes (ONNX Transpose-1 to -25): axis i of the result
// is axis perm[i] of x; without perm they are reversed. The result is a view.
func Transpose(x *tensor.Tensor, v Opset, perm []int64) (*tensor.Tensor, error) {
	return one("Transpose", v, x, func(d *definition) (*tensor.Tensor, error) { return transpose(d, x, perm) })
}

func transpose(d *definition, x *tensor.Tensor, perm []int64) (*tensor.Tensor, error) {
	if len(perm) == 0 { // an empty attribute is one left out
		return x.WithLayout(d.name, x.Layout().Reverse())
	}
	var few [8]int
	axes := few[:0]
	for _, p := range perm {
		if p < 0 || p >= int64(x.Rank()) { // ONNX counts from the front only
			if x.Rank() == 0 {
				return nil, d.invalid("perm %v: the tensor has no axes", layout.Shape(perm).Clone())
			}
			return nil, d.invalid("perm %v: %d is outside [0,%d]", layout.Shape(perm).Clone(), p, x.Rank()-1)
		}
		axes = append(axes, int(p))
	}
	l, err := x.Layout().Permute(axes...)
	if err != nil {
		return nil, err
	}
	return x.WithLayout(d.name, l)
}

func prepareTranspose(d *definition, attrs Attrs) (kernel, error) {
	perm, _, err := attrs.Ints("perm")
	if err != nil {
		return nil, err
	}
	return func(c *call) error { return c.set(transpose(d, c.x, perm)) }, nil
}

// Squeeze removes the listed axes, which must have extent 1 (ONNX Squeeze-1 to
// -25); nil removes every axis of extent 1, and before opset 13, so does an empty
// list. From opset 11, axes may count from the end. The result is a view.
func Squeeze(x *tensor.Tensor, v Opset, axes []int64) (*tensor.Tensor, error) {
	return one("Squeeze", v, x, func(d *definition) (*tensor.Tensor, error) { return squeeze(d, x, axes) })
}

func squeeze(d *definition, x *tensor.Tensor, axes []int64) (*tensor.Tensor, error) {
	// An empty input names none: nothing goes. An empty attribute is one left
	// out, as most readers take it: not all writers tell the two apart.
	if axes != nil && len(axes) == 0 && d.inputs.max > 1 {
		return x.WithLayout(d.name, x.Layout())
	}
	var few [8]int
	list, err := d.axes(few[:0], axes, x.Rank())
	if err != nil {
		return nil, err
	}
	l, err := x.Layout().Squeeze(list...)
	if err != nil {
		return nil, err
	}
	return x.WithLayout(d.name, l)
}

// Unsqueeze inserts axes of extent 1 at the listed places of the result (ONNX
// Unsqueeze-1 to -25). From opset 11, they may count from its end. The result
// is a view.
func Unsqueeze(x *tensor.Tensor, v Opset, axes []int64) (*tensor.Tensor, error) {
	return one("Unsqueeze", v, x, func(d *definition) (*tensor.Tensor, error) { return unsqueeze(d, x, axes) })
}

func unsqueeze(d *definition, x *tensor.Tensor, axes []int64) (*tensor.Tensor, error) {
	var few [8]int
	list, err := d.axes(few[:0], axes, x.Rank()+len(axes))
	if err != nil {
		return nil, err
	}
	l, err := x.Layout().Unsqueeze(list...)
	if err != nil {
		return nil, err
	}
	return x.WithLayout(d.name, l)
}

// axes appends a list of axes of a tensor of some rank to dst, as they are given:
// so errors of the layout name them.
func (d *definition) axes(dst []int, axes []int64, rank int) ([]int, error) {
	for _, a := range axes {
		if _, err := d.axis(a, rank, rank-1); err != nil {
			return nil, err
		}
		dst = append(dst, int(a))
	}
	return dst, nil
}

// axis resolves an axis that may count from the end of rank axes. It refuses one
// beyond last, or before the first. With opset 11 ONNX allowed all operators to
// count from the end.
func (d *definition) axis(axis int64, rank, last int) (int, error) {
	low := -int64(rank)
	if d.since < 11 {
		if low = 0; axis < 0 {
			if versions := operators[d.op]; versions[len(versions)-1].since < 11 {
				return 0, d.invalid("axis %d is negative; %s does not allow that", axis, d.op)
			}
			return 0, d.invalid("axis %d is negative; %s allows that from opset 11", axis, d.op)
		}
	}
	return d.axisFrom(axis, low, rank, last)
}

// axisFrom is axis for operators that count from the end in other versions: it
// refuses an axis outside [low, last].
func (d *definition) axisFrom(axis, low int64, rank, last int) (int, error) {
	switch {
	case axis >= low && axis <= int64(last):
		if axis < 0 {
			axis += int64(rank)
		}
		return int(axis), nil
	case last < 0:
		return 0, d.invalid("axis %d: the tensor has no axes", axis)
	}
	return 0, d.invalid("axis %d is outside [%d,%d]", axis, low, last)
}

// withAxes is an operator on a tensor and a list of axes; nil is none given.
type withAxes func(d *definition, x *tensor.Tensor, axes []int64) (*tensor.Tensor, error)

// prepareAxes prepares an operator whose axes are an attribute or, later, an
// input.
func prepareAxes(apply withAxes) func(*definition, Attrs) (kernel, error) {
	return func(d *definition, attrs Attrs) (kernel, error) {
		fixed, ok, err := attrs.Ints("axes")
		if err != nil {
			return nil, err
		}
		if !ok && d.op == "Unsqueeze" && d.inputs.max == 1 {
			return nil, d.invalid("attribute axes is missing")
		}
		return func(c *call) error {
			if !c.has(1) {
				return c.set(apply(d, c.x, fixed))
			}
			axes, err := c.ints([]int64{}, 1, "axes", false)
			if err != nil {
				return err
			}
			return c.set(apply(d, c.x, axes))
		}, nil
	}
}
