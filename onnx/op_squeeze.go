package onnx

import "github.com/restride/restride/tensor"

func init() {
	for _, op := range []struct {
		name  string
		apply withAxes
		least int // inputs, once the axes are one of them
	}{{"Squeeze", squeeze, 1}, {"Unsqueeze", unsqueeze, 2}} {
		byAttr := definition{inputs: arity{1, 1}, attrs: []string{"axes"}, prepare: prepareAxes(op.apply)}
		byInput := definition{inputs: arity{op.least, 2}, host: 1 << 1, prepare: prepareAxes(op.apply)}
		register(op.name,
			byAttr.versions(change{1, types5}, change{11, types5}), byInput.versions(change{13, types13}), byInput.growing(21, MaxOpset))
	}
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
	return d.view(x, l, err)
}

// Unsqueeze inserts axes of extent 1 at the listed positions of the result (ONNX
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
	return d.view(x, l, err)
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
