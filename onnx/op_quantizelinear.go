package onnx

import (
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	codes10 := typeSet(0).with(layout.Int8, layout.Uint8)
	codes19 := codes10.with(layout.Float8E4M3FN, layout.Float8E4M3FNUZ, layout.Float8E5M2, layout.Float8E5M2FNUZ)
	codes21 := codes19.with(layout.Int16, layout.Uint16, layout.Int4, layout.Uint4)
	codes23 := codes21.with(layout.Float4E2M1)
	codes25 := codes23.with(layout.Int2, layout.Uint2)
	changes := []change{{10, codes10}, {13, codes10}, {19, codes19}, {21, codes21}, {23, codes23}, {24, codes23}, {25, codes25}}
	for _, c := range changes {
		quantizedTypes[c.since] = c.types
	}

	d := definition{inputs: arity{2, 3}, prepare: prepareDequantizeLinear}
	q := definition{inputs: arity{2, 3}, prepare: prepareQuantizeLinear}
	var from, to []definition
	floats := typeSet(0).with(layout.Float32, layout.Int32)
	for _, c := range changes {
		switch c.since {
		case 13:
			d.attrs = []string{"axis"}
			q.attrs = d.attrs
		case 19:
			q.attrs = []string{"axis", "saturate"}
			floats = floats.with(layout.Float16, layout.BFloat16)
		case 21:
			d.attrs = []string{"axis", "block_size"}
			q.attrs = []string{"axis", "saturate", "block_size", "output_dtype"}
		case 23:
			d.attrs = []string{"axis", "block_size", "output_dtype"}
			q.attrs = []string{"axis", "saturate", "block_size", "output_dtype", "precision"}
		}
		from = append(from, d.versions(change{c.since, c.types.with(layout.Int32)})...)
		to = append(to, q.versions(change{c.since, floats})...)
	}
	register("DequantizeLinear", from)
	register("QuantizeLinear", to)
}

// quantizedTypes are the output types of each version of QuantizeLinear.
var quantizedTypes = map[Opset]typeSet{}

// linear holds the attributes of either operator. A scale of one element applies to the
// whole input; otherwise there is one for each index of the axis, or for each block of
// elements along it.
type linear struct {
	d           *definition
	axis        int64
	block       int64
	output      layout.DType // Invalid: not given
	precision   layout.DType // Invalid: not given
	unsaturated bool
}

// linear checks and reads the attributes.
func (d *definition) linear(attrs Attrs) (l linear, err error) {
	l.d = d
	if l.axis, err = attrs.IntOr("axis", 1); err != nil {
		return l, err
	}
	if l.block, err = attrs.IntOr("block_size", 0); err != nil {
		return l, err
	}
	if l.block < 0 {
		return l, d.invalid("attribute block_size is %d; it must not be negative", l.block)
	}
	saturate, err := d.boolAttr(attrs, "saturate", true)
	if err != nil {
		return l, err
	}
	l.unsaturated = !saturate
	floats := typeSet(0).with(layout.Float32, layout.Float16, layout.BFloat16)
	outputs := floats
	if d.op == "QuantizeLinear" {
		outputs = quantizedTypes[d.since]
	}
	if l.output, err = d.typeAttr(attrs, "output_dtype", outputs); err != nil {
		return l, err
	}
	l.precision, err = d.typeAttr(attrs, "precision", floats)
	return l, err
}

// typeAttr reads an attribute that is the number of an allowed type. It returns Invalid if
// the attribute is omitted or 0.
func (d *definition) typeAttr(attrs Attrs, name string, allowed typeSet) (layout.DType, error) {
	number, err := attrs.IntOr(name, 0)
	if err != nil || number == 0 {
		return layout.Invalid, err
	}
	if number < 0 || number > 255 || !allowed.has(layout.DType(number)) {
		return layout.Invalid, d.invalid("attribute %s is %d, which is the number of no type that it may be", name, number)
	}
	return layout.DType(number), nil
}

// terms checks the scale and the zero point, and returns them in shapes that expand to x's
// shape or to the shape of its blocks.
func (l *linear) terms(x, scale, zero *tensor.Tensor) (terms [2]*tensor.Tensor, blocks tensor.Blocks, err error) {
	d := l.d
	if scale == nil {
		return terms, blocks, d.invalid("the scale is missing")
	}
	allowed := typeSet(0).with(layout.Float32)
	if d.since >= 19 {
		allowed = allowed.with(layout.Float16, layout.BFloat16)
	}
	if d.since >= 24 {
		allowed = allowed.with(layout.Float8E8M0)
	}
	if d.op == "QuantizeLinear" && d.since >= 19 {
		allowed = allowed.with(layout.Int32)
	}
	if !allowed.has(scale.DType()) {
		return terms, blocks, d.invalid("the scale is %v%v, which is no type for it", scale.DType(), scale.Shape())
	}
	shape := scale.Shape()
	if zero != nil && !slices.Equal(zero.Shape(), shape) && (zero.Count() != 1 || scale.Count() != 1) {
		return terms, blocks, d.invalid("the zero point has the shape %v; it must be that of the scale, %v", zero.Shape(), shape)
	}
	dims, blocks, err := l.termDims(x.Shape(), shape, scale.Count())
	if err != nil {
		return terms, blocks, err
	}
	for i, t := range []*tensor.Tensor{scale, zero} {
		if t == nil {
			continue
		}
		of := t.Layout()
		out, err := of.Reshape(dims...)
		if err == nil {
			terms[i], err = t.WithLayout(d.name, out)
		}
		if err != nil {
			_, err = released(nil, err, terms[:]...)
			return terms, blocks, err
		}
	}
	return terms, blocks, nil
}

// released releases temps and then returns y and err.
func released(y *tensor.Tensor, err error, temps ...*tensor.Tensor) (*tensor.Tensor, error) {
	for _, t := range temps {
		err = cleanedUp(err, t.Release())
	}
	if err != nil {
		return nil, cleanedUp(err, y.Release())
	}
	return y, nil
}

// termDims returns the extents that make a scale expand to the shape of x or of its blocks.
func (l *linear) termDims(x, scale layout.Shape, count int64) (dims []int64, blocks tensor.Blocks, err error) {
	d := l.d
	switch {
	case count == 1 && len(scale) <= 1:
		return nil, blocks, nil
	case d.since < 13:
		return nil, blocks, d.invalid("the scale has the shape %v; it must be one number", scale)
	}
	axis, err := d.axisFrom(l.axis, -int64(len(x)), len(x), len(x)-1)
	if err != nil {
		return nil, blocks, err
	}
	want := x.Clone()
	if l.block == 0 {
		dims = make([]int64, len(x))
		for i := range dims {
			dims[i] = 1
		}
		if dims[axis] = x[axis]; len(scale) != 1 || scale[0] != x[axis] {
			return nil, blocks, d.invalid("the scale has the shape %v; along axis %d, it must have %d elements", scale, axis, x[axis])
		}
		return dims, blocks, nil
	}
	if want[axis] = x[axis] / l.block; x[axis]%l.block > 0 {
		want[axis]++
	}
	if !slices.Equal(scale, want) {
		return nil, blocks, d.invalid("the scale has the shape %v; in blocks of %d along axis %d, it must have %v", scale, l.block, axis, want)
	}
	return want, tensor.Blocks{Axis: axis, Size: l.block}, nil
}

// dequantize returns (x - zero) * scale, with the arithmetic of device.Scaling.
func (l *linear) dequantize(x, scale, zero *tensor.Tensor) (*tensor.Tensor, error) {
	d := l.d
	if zero != nil && zero.DType() != x.DType() {
		return nil, d.invalid("the zero point is %v; it must be of the input's type", zero.DType())
	}
	terms, blocks, err := l.terms(x, scale, zero)
	if err != nil {
		return nil, err
	}
	to := l.output
	if to == layout.Invalid {
		to = scale.DType()
	}
	var y *tensor.Tensor
	if to == layout.Float8E8M0 {
		err = d.invalid("the scale is %v: output_dtype must be given", to)
	} else {
		y, err = x.Dequantize(to, tensor.Scaling{Scale: terms[0], Zero: terms[1], Blocks: blocks})
	}
	return released(y, err, terms[:]...)
}

// quantize returns round(x / scale) + zero in the type of zero or, without zero, of the
// attribute output_dtype. Zero points in 8-bit floats only set the type: they are 0. The
// quotient is rounded to the type precision, by default the scale's from opset 19 on.
func (l *linear) quantize(x, scale, zero *tensor.Tensor) (*tensor.Tensor, error) {
	d := l.d
	to := l.output
	switch {
	case zero == nil:
	case !quantizedTypes[d.since].has(zero.DType()):
		return nil, d.invalid("the zero point is %v, which is no type for it", zero.DType())
	case to != layout.Invalid && to != zero.DType():
		return nil, d.invalid("the zero point is %v, but output_dtype is %v", zero.DType(), to)
	default:
		to = zero.DType()
	}
	if to == layout.Invalid {
		to = layout.Uint8
	}
	terms, blocks, err := l.terms(x, scale, zero)
	if err != nil {
		return nil, err
	}
	temps := terms[:]
	by := tensor.Quantization{Scale: terms[0], Zero: terms[1], Precision: l.precision, Unsaturated: l.unsaturated, Blocks: blocks}
	if numeric.KindOf(to) == numeric.FloatKind && to != layout.Float4E2M1 {
		by.Zero = nil
	}
	if by.Precision == layout.Invalid && d.since >= 19 {
		by.Precision = scale.DType()
	}
	if scale.DType() == layout.Int32 {
		by.Scale, err = terms[0].Cast(layout.Float32, device.Rounding{})
		temps = append(temps, by.Scale)
	}
	var y *tensor.Tensor
	if err == nil {
		y, err = x.Quantize(to, by)
	}
	return released(y, err, temps...)
}

func prepareDequantizeLinear(d *definition, attrs Attrs) (kernel, error) {
	return prepareLinear(d, attrs, (*linear).dequantize)
}

func prepareQuantizeLinear(d *definition, attrs Attrs) (kernel, error) {
	return prepareLinear(d, attrs, (*linear).quantize)
}

func prepareLinear(d *definition, attrs Attrs, apply func(l *linear, x, scale, zero *tensor.Tensor) (*tensor.Tensor, error)) (kernel, error) {
	l, err := d.linear(attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		all := []*tensor.Tensor{c.x}
		for i, what := range []string{"the scale", "the zero point"} {
			if !c.has(i + 1) {
				continue
			}
			t, err := c.tensor(i+1, what)
			if err != nil {
				return err
			}
			all = append(all, t)
		}
		if err := c.together(all); err != nil {
			return err
		}
		all = append(all, nil) // no zero point
		return c.set(apply(&l, all[0], all[1], all[2]))
	}, nil
}
