package onnx

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/padding"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	v1 := definition{inputs: arity{1, 1}, attrs: []string{"paddings", "mode", "value"}, prepare: preparePad1}
	v2 := v1
	v2.attrs = []string{"pads", "mode", "value"}
	v11 := definition{inputs: arity{2, 3}, host: 1<<1 | 1<<2, attrs: []string{"mode"}, prepare: preparePad}
	v18 := v11
	v18.inputs, v18.host = arity{2, 4}, 1<<1|1<<2|1<<3
	register("Pad",
		v1.versions(change{1, types1}), v2.versions(change{2, types1}), v11.versions(change{11, typesPad11}, change{13, types13}),
		v18.versions(change{18, types13}, change{19, types13}), v18.growing(21, MaxOpset))
}

// typesPad11 has numeric types only.
var typesPad11 = types1.with(layout.Int8, layout.Int16, layout.Int32, layout.Int64, layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint64)

// padMode reads the attribute mode.
func padMode(d *definition, attrs Attrs) (tensor.PadMode, error) {
	s, err := attrs.StrOr("mode", string(tensor.PadConstant))
	if err != nil {
		return "", err
	}
	switch mode := tensor.PadMode(s); {
	case mode == tensor.PadConstant, mode == tensor.PadEdge, mode == tensor.PadReflect, mode == tensor.PadWrap && d.since >= 19:
		return mode, nil
	case mode == tensor.PadWrap:
		return "", d.invalid("mode wrap is not in this version; Pad has it from opset 19")
	}
	return "", d.invalid("mode %s: it must be constant, edge, reflect or, from opset 19, wrap", quote.Name(s))
}

// preparePad1 reads pads and value from attributes.
func preparePad1(d *definition, attrs Attrs) (kernel, error) {
	mode, err := padMode(d, attrs)
	if err != nil {
		return nil, err
	}
	name := d.attrs[0]
	pads, given, err := attrs.Ints(name)
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, d.invalid("attribute %s is missing", name)
	}
	value, _, err := attrs.Float("value")
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		fill, err := floatBytes(c.x.DType(), value)
		if err != nil {
			return err
		}
		return c.padLists(mode, pads, nil, fill)
	}, nil
}

func preparePad(d *definition, attrs Attrs) (kernel, error) {
	mode, err := padMode(d, attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		pads, err := c.ints(nil, 1, "pads", false)
		if err != nil {
			return err
		}
		var fill []byte
		if c.has(2) {
			value, err := c.tensor(2, "constant_value")
			if err != nil {
				return err
			}
			if fill, err = c.element(value, "constant_value", mode == tensor.PadConstant); err != nil {
				return err
			}
		}
		var axes []int64
		if c.has(3) {
			if axes, err = c.axesInput([]int64{}, 3, true); err != nil {
				return err
			}
		}
		return c.padLists(mode, pads, axes, fill)
	}, nil
}

// element reads the single element of a tensor of x's type, if it is needed.
func (c *call) element(value *tensor.Tensor, what string, needed bool) ([]byte, error) {
	if value.DType() != c.x.DType() {
		return nil, c.d.invalid("%s is %v; it must be of the type of the input", what, value.DType())
	}
	if value.Count() != 1 {
		return nil, c.d.invalid("%s has shape %v; it must have one element", what, value.Shape())
	}
	switch {
	case !needed:
		return nil, nil
	case value.DType() == layout.String:
		s, err := tensor.Values[string](value)
		if err != nil {
			return nil, err
		}
		return []byte(s[0]), nil
	}
	return value.Bytes()
}

// floatBytes returns the bytes of a number in a floating-point type.
func floatBytes(t layout.DType, v float32) ([]byte, error) {
	x, err := tensor.FromHost([]float32{v})
	if err != nil {
		return nil, err
	}
	defer x.Release()
	y, err := x.Cast(t, device.Rounding{})
	if err != nil {
		return nil, err
	}
	defer y.Release()
	return y.Bytes()
}

// padLists pads the call's first input.
func (c *call) padLists(mode tensor.PadMode, pads, axes []int64, fill []byte) error {
	list, err := c.d.padAxes(axes, c.x.Rank())
	if err != nil {
		return err
	}
	n := len(list)
	if len(pads)%2 != 0 || len(pads)/2 != n {
		return c.d.invalid("%d pads for %d axes: there must be two for each", len(pads), n)
	}
	to := make([]padding.Axis, c.x.Rank())
	for i, axis := range list {
		p := padding.Axis{Before: pads[i], After: pads[n+i]}
		if c.d.since < 2 && (p.Before < 0 || p.After < 0) {
			return c.d.invalid("axis %d: pads %d and %d: Pad allows negative ones from opset 2", axis, p.Before, p.After)
		}
		to[axis] = p
	}
	return c.pad(mode, to, fill)
}

// padAxes returns the listed axes, or all for nil. It refuses negative and repeated axes.
func (d *definition) padAxes(axes []int64, rank int) ([]int, error) {
	var list []int
	if axes == nil {
		for i := range rank {
			list = append(list, i)
		}
		return list, nil
	}
	seen := make([]bool, rank)
	for _, a := range axes {
		axis, err := d.axis(a, rank, rank-1)
		if err != nil {
			return nil, err
		}
		if seen[axis] {
			return nil, d.invalid("axis %d is listed twice", axis)
		}
		seen[axis] = true
		list = append(list, axis)
	}
	return list, nil
}
