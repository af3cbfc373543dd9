package onnx

import "github.com/restride/restride/tensor"

func init() {
	v1 := definition{inputs: arity{1, 1}, shapeOnly: true, prepare: prepareShape}
	v15 := v1
	v15.attrs = []string{"start", "end"}
	register("Shape", v1.versions(change{1, types5}, change{13, types13}), v15.versions(change{15, types13}), v15.growing(19, MaxOpset))

	size := definition{inputs: arity{1, 1}, shapeOnly: true, prepare: prepareSize}
	register("Size", size.versions(change{1, types5}, change{13, types13}), size.growing(19, MaxOpset))
}

// Shape returns x's extents as an int64 tensor of one axis on tensor.Host (ONNX Shape-1 to
// -25), without touching x's elements or its stream. From opset 15, Int("start", i) and
// Int("end", j) select the axes [i, j). Negative values count from the end, and both are
// clamped; start beyond end selects no axes.
func Shape(x *tensor.Tensor, v Opset, attrs ...Attr) (*tensor.Tensor, error) {
	out, err := Run("Shape", v, attrs, x)
	if err != nil {
		return nil, err
	}
	return out[0].(*tensor.Tensor), nil
}

func prepareShape(d *definition, attrs Attrs) (kernel, error) {
	start, err := attrs.IntOr("start", 0)
	if err != nil {
		return nil, err
	}
	end, toEnd, err := attrs.Int("end")
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		rank := int64(c.x.Rank())
		from, to := clampAxis(start, rank), rank
		if toEnd {
			to = clampAxis(end, rank)
		}
		return c.set(c.x.Extents(int(min(from, to)), int(to)))
	}, nil
}

// clampAxis resolves an axis that may count from the end, and clamps it.
func clampAxis(axis, rank int64) int64 {
	if axis < 0 {
		axis += rank
	}
	return min(max(axis, 0), rank)
}

func prepareSize(*definition, Attrs) (kernel, error) {
	return func(c *call) error {
		none, err := c.x.Extents(0, 0) // fails if the tensor was released
		if err != nil {
			return err
		}
		if err := none.Release(); err != nil {
			return err
		}
		return c.set(tensor.FromHost([]int64{c.x.Count()}, []int64{}...))
	}, nil
}
