package onnx

import "github.com/restride/restride/tensor"

func init() {
	for _, op := range []struct {
		name  string
		apply withAxes
		least int // number of inputs once the axes are an input
	}{{"Squeeze", squeeze, 1}, {"Unsqueeze", unsqueeze, 2}} {
		byAttr := definition{inputs: arity{1, 1}, attrs: []string{"axes"}, prepare: prepareAxes(op.apply)}
		byInput := definition{inputs: arity{op.least, 2}, host: 1 << 1, prepare: prepareAxes(op.apply)}
		register(op.name,
			byAttr.versions(change{1, types5}, change{11, types5}), byInput.versions(change{13, types13}), byInput.growing(21, MaxOpset))
	}
}

// squeeze removes axes of extent 1: the listed ones or, for nil, all.
func squeeze(d *definition, x *tensor.Tensor, axes []int64) (*tensor.Tensor, error) {
	// An empty input names no axes, so none is removed. An empty attribute is treated as
	// omitted, as most readers do: some writers do not distinguish the two.
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

func unsqueeze(d *definition, x *tensor.Tensor, axes []int64) (*tensor.Tensor, error) {
	var few [8]int
	list, err := d.axes(few[:0], axes, x.Rank()+len(axes))
	if err != nil {
		return nil, err
	}
	l, err := x.Layout().Unsqueeze(list...)
	return d.view(x, l, err)
}

// withAxes is an operator on a tensor and a list of axes; nil means none given.
type withAxes func(d *definition, x *tensor.Tensor, axes []int64) (*tensor.Tensor, error)

// prepareAxes prepares an operator whose axes are an attribute or, in later versions, an
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
			axes, err := c.axesInput([]int64{}, 1, false)
			if err != nil {
				return err
			}
			return c.set(apply(d, c.x, axes))
		}, nil
	}
}
