package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx/model"
	"github.com/restride/restride/tensor"
)

func init() {
	// Numbers and bool only.
	without := []layout.DType{layout.String, layout.Complex64, layout.Complex128}
	base := definition{inputs: arity{1, 1}, host: 1 << 0, attrs: []string{"value"}, prepare: prepareConstantOfShape}
	register("ConstantOfShape",
		base.versions(change{9, types5.without(without...)}, change{20, types19.without(without...)}), base.growing(21, MaxOpset, without...))
}

// element is the fill value of a tensor.
type element struct {
	dtype layout.DType
	bytes []byte // nil: zero
}

// element reads a tensor of one element; nil means float 0.
func (d *definition) element(value *model.Tensor) (element, error) {
	of := element{dtype: layout.Float32}
	if value == nil {
		return of, nil
	}
	of.dtype = value.Type
	if err := d.checkType(of.dtype); err != nil {
		return of, err
	}
	if n, err := value.Dims.Count(); err != nil || n != 1 {
		return of, d.invalid("value has shape %v; it must have one element", value.Dims.Clone())
	}
	raw, err := value.Bytes()
	of.bytes = raw
	return of, layout.Named(d.name, err)
}

func prepareConstantOfShape(d *definition, attrs Attrs) (kernel, error) {
	value, _, err := attrs.Tensor("value")
	if err != nil {
		return nil, err
	}
	of, err := d.element(value)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		var few [8]int64
		shape, err := c.ints(few[:0], 0, "the shape", false)
		if err != nil {
			return err
		}
		return c.constantOfShape(shape, of)
	}, nil
}

func (c *call) constantOfShape(shape []int64, of element) error {
	// The output may be made later, but an impossible size is refused here.
	if _, err := layout.Shape(shape).Bytes(of.dtype); err != nil {
		return layout.Named(c.d.name, err)
	}
	return c.assemble(c.home, of.dtype, shape, tensor.Part{Fill: of.bytes})
}
