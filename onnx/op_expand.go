package onnx

import "github.com/restride/restride/tensor"

func init() {
	expand := definition{inputs: arity{2, 2}, host: 1 << 1, prepare: prepareExpand}
	register("Expand", expand.versions(change{8, types5}, change{13, types13}))
}

// expand broadcasts x and shape together, aligned at the last axis: where shape has a 1 or
// no axis, x's extent stays.
func expand(d *definition, x *tensor.Tensor, shape []int64) (*tensor.Tensor, error) {
	var few [2][8]int64
	in := x.AppendDims(few[0][:0])
	dims := few[1][:0]
	if more := len(in) - len(shape); more > 0 {
		dims = append(dims, in[:more]...)
	}
	for i, extent := range shape {
		if at := len(in) - len(shape) + i; at >= 0 && extent == 1 {
			extent = in[at]
		}
		dims = append(dims, extent)
	}
	l, err := x.Layout().Expand(dims...)
	return d.view(x, l, err)
}

func prepareExpand(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		var few [8]int64
		shape, err := c.ints(few[:0], 1, "shape", false)
		if err != nil {
			return err
		}
		return c.set(expand(d, c.x, shape))
	}, nil
}
