package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	d := definition{inputs: arity{1, 1}, attrs: []string{"to"}, prepare: prepareBitCast}
	register("BitCast", d.versions(change{26, types25.without(layout.String)}))
}

func bitCast(d *definition, x *tensor.Tensor, to layout.DType) (*tensor.Tensor, error) {
	if err := d.checkTarget(to); err != nil {
		return nil, err
	}
	if to.Bits() != x.DType().Bits() {
		return nil, d.invalid("to %v: elements of %d and of %d bits", to, x.DType().Bits(), to.Bits())
	}
	return x.Bitcast(to)
}

func prepareBitCast(d *definition, attrs Attrs) (kernel, error) {
	to, err := d.target(attrs)
	if err != nil {
		return nil, err
	}
	return func(c *call) error { return c.set(bitCast(d, c.x, to)) }, nil
}
