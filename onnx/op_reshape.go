package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	v1 := definition{inputs: arity{1, 1}, attrs: []string{"shape", "consumed_inputs"}, prepare: prepareReshape1}
	v5 := definition{inputs: arity{2, 2}, host: 1 << 1, prepare: prepareReshape}
	v14 := v5
	v14.attrs = []string{"allowzero"}
	register("Reshape", v1.versions(change{1, types1}), v5.versions(change{5, types5}, change{13, types13}),
		v14.versions(change{14, types13}), v14.growing(19, MaxOpset))
}

// Reshape gives x the extents in shape (ONNX Reshape-1 to -25). At most one extent may be
// -1, which is computed. A 0 copies x's extent at that position; with Int("allowzero", 1),
// from opset 14, it is an extent of 0. The result is a view where strides can express it,
// otherwise a contiguous copy.
func Reshape(x *tensor.Tensor, v Opset, shape []int64, attrs ...Attr) (*tensor.Tensor, error) {
	return one("Reshape", v, x, func(d *definition) (*tensor.Tensor, error) {
		if err := d.checkAttrs(attrs); err != nil {
			return nil, err
		}
		if _, twice := Attrs(attrs).Get("shape"); twice {
			return nil, d.invalid("the shape is given both as such and as an attribute")
		}
		allowZero, err := d.boolAttr(attrs, "allowzero", false)
		if err != nil {
			return nil, layout.Named(d.name, err)
		}
		return reshape(d, x, shape, allowZero)
	})
}

func reshape(d *definition, x *tensor.Tensor, shape []int64, allowZero bool) (*tensor.Tensor, error) {
	var few [8]int64 // enough for most shapes: the call then allocates only the result
	dims, err := extents(few[:0], d, x, shape, allowZero)
	if err != nil {
		return nil, err
	}
	return x.Reshape(dims...)
}

// extents appends x's extents after a Reshape to dst.
func extents(dst []int64, d *definition, x *tensor.Tensor, shape []int64, allowZero bool) ([]int64, error) {
	var few [8]int64
	return layout.InferReshape(dst, d.name, x.AppendDims(few[:0]), shape, !allowZero)
}

// prepareReshape1 reads the shape from an attribute. The other attribute, consumed_inputs,
// was a hint to early executors and is ignored.
func prepareReshape1(d *definition, attrs Attrs) (kernel, error) {
	shape, ok, err := attrs.Ints("shape")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, d.invalid("attribute shape is missing")
	}
	return func(c *call) error { return c.reshape(shape, false) }, nil
}

func prepareReshape(d *definition, attrs Attrs) (kernel, error) {
	allowZero, err := d.boolAttr(attrs, "allowzero", false)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		var few [8]int64
		shape, err := c.ints(few[:0], 1, "shape", false)
		if err != nil {
			return err
		}
		return c.reshape(shape, allowZero)
	}, nil
}

// reshape reshapes the call's first input.
func (c *call) reshape(shape []int64, allowZero bool) error {
	var few [8]int64
	dims, err := extents(few[:0], c.d, c.x, shape, allowZero)
	if err != nil {
		return err
	}
	return c.reshaped(c.x, dims...)
}
