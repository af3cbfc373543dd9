package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	flatten := definition{inputs: arity{1, 1}, attrs: []string{"axis"}, prepare: prepareFlatten}
	register("Flatten",
		flatten.versions(change{1, types1}, change{9, types5}, change{11, types5}, change{13, types13}), flatten.growing(21, MaxOpset))
}

// Flatten turns x into a matrix (ONNX Flatten-1 to -25): the axes before axis are the rows,
// the others the columns. axis is in [0, rank], and from opset 11 in [-rank, rank].
func Flatten(x *tensor.Tensor, v Opset, axis int64) (*tensor.Tensor, error) {
	return one("Flatten", v, x, func(d *definition) (*tensor.Tensor, error) { return flatten(d, x, axis) })
}

func flatten(d *definition, x *tensor.Tensor, axis int64) (*tensor.Tensor, error) {
	rows, cols, err := matrix(d, x, axis)
	if err != nil {
		return nil, err
	}
	return x.Reshape(rows, cols)
}

// matrix returns the extents of x after a Flatten.
func matrix(d *definition, x *tensor.Tensor, axis int64) (rows, cols int64, err error) {
	var dims [8]int64
	shape := layout.Shape(x.AppendDims(dims[:0]))
	at, err := d.axis(axis, len(shape), len(shape))
	if err != nil {
		return 0, 0, err
	}
	return layout.FlattenShape(d.name, shape, at)
}

func prepareFlatten(d *definition, attrs Attrs) (kernel, error) {
	axis, err := attrs.IntOr("axis", 1)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		rows, cols, err := matrix(d, c.x, axis)
		if err != nil {
			return err
		}
		return c.reshaped(c.x, rows, cols)
	}, nil
}
