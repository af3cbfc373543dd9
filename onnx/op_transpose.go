package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	transpose := definition{inputs: arity{1, 1}, attrs: []string{"perm"}, prepare: prepareTranspose}
	register("Transpose", transpose.versions(change{1, types5}, change{13, types13}), transpose.growing(21, MaxOpset))
}

func transpose(d *definition, x *tensor.Tensor, perm []int64) (*tensor.Tensor, error) {
	if len(perm) == 0 { // an empty attribute means it is omitted
		return x.WithLayout(d.name, x.Layout().Reverse())
	}
	var few [8]int
	axes := few[:0]
	for _, p := range perm {
		if p < 0 || p >= int64(x.Rank()) { // ONNX counts from the front only
			if x.Rank() == 0 {
				return nil, d.invalid("perm %v: the tensor has no axes", layout.Shape(perm).Clone())
			}
			return nil, d.invalid("perm %v: %d is outside [0,%d]", layout.Shape(perm).Clone(), p, x.Rank()-1)
		}
		axes = append(axes, int(p))
	}
	l, err := x.Layout().Permute(axes...)
	return d.view(x, l, err)
}

func prepareTranspose(d *definition, attrs Attrs) (kernel, error) {
	perm, _, err := attrs.Ints("perm")
	if err != nil {
		return nil, err
	}
	return func(c *call) error { return c.set(transpose(d, c.x, perm)) }, nil
}
