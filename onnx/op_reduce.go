package onnx

import (
	"slices"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	wide := types1.with(layout.Int32, layout.Int64, layout.Uint32, layout.Uint64)
	bytes := wide.with(layout.Int8, layout.Uint8)
	half := layout.BFloat16
	by := definition{inputs: arity{1, 1}, attrs: []string{"axes", "keepdims"}, arithmetic: true, prepare: prepareReduce}
	from := definition{inputs: arity{1, 2}, host: 1 << 1, attrs: []string{"keepdims", "noop_with_empty_axes"}, arithmetic: true, prepare: prepareReduce}
	register("ReduceSum", by.versions(change{1, wide}, change{11, wide}), from.versions(change{13, wide.with(half)}))
	register("ReduceProd", by.versions(change{1, wide}, change{11, wide}, change{13, wide.with(half)}), from.versions(change{18, wide.with(half)}))
	for _, op := range []string{"ReduceMax", "ReduceMin"} {
		register(op, by.versions(change{1, wide}, change{11, wide}, change{12, bytes}, change{13, bytes.with(half)}),
			from.versions(change{18, bytes.with(half)}, change{20, bytes.with(half, layout.Bool)}))
	}
}

// prepareReduce reads the axes from an attribute or, in versions that have them there, from
// input 1. No axes means all, unless noop_with_empty_axes is set.
func prepareReduce(d *definition, attrs Attrs) (kernel, error) {
	axes, _, err := attrs.Ints("axes")
	if err != nil {
		return nil, err
	}
	keep, err := d.boolAttr(attrs, "keepdims", true)
	if err != nil {
		return nil, err
	}
	none, err := d.boolAttr(attrs, "noop_with_empty_axes", false)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		axes := axes
		if c.has(1) {
			var err error // local to this run: others may run concurrently
			if axes, err = c.axesInput(nil, 1, false); err != nil {
				return err
			}
		}
		if len(axes) == 0 && none {
			return c.set(c.x.Alias())
		}
		return c.reduce(axes, keep)
	}, nil
}

func (c *call) reduce(axes []int64, keep bool) error {
	rank := c.x.Rank()
	var gone [layout.MaxRank]bool
	for _, axis := range axes {
		at, err := c.d.axis(axis, rank, rank-1)
		if err != nil {
			return err
		}
		if gone[at] {
			return c.d.invalid("axis %d is listed twice", at)
		}
		gone[at] = true
	}
	run, dims := int64(1), []int64{}
	var kept, last []int
	for i := range rank {
		n := c.x.Dim(i)
		switch {
		case len(axes) > 0 && !gone[i]:
			kept, dims = append(kept, i), append(dims, n)
			continue
		case keep:
			dims = append(dims, 1)
		}
		last = append(last, i)
		run *= n // fits in 64 bits, because x exists
	}
	x, err := c.operand(c.x)
	if err != nil {
		return err
	}
	if x, err = c.permuted(x, slices.Concat(kept, last)); err != nil {
		return err
	}
	y, err := evaluatorOf(c.x.DType()).reduce(c.d, x, run, dims)
	return c.setAs(0, c.x.DType(), y, err)
}

// reduce accumulates floats as float64. For no elements the sum is 0, the product 1, and
// the maximum the type's least value.
func (o of[T]) reduce(d *definition, x *tensor.Tensor, run int64, dims []int64) (*tensor.Tensor, error) {
	lowest, highest := o.limits()
	f := func(run []T) T {
		most := lowest
		for _, v := range run {
			most = max(most, v)
		}
		return most
	}
	switch {
	case d.op == "ReduceMin":
		f = func(run []T) T {
			least := highest
			for _, v := range run {
				least = min(least, v)
			}
			return least
		}
	case d.op == "ReduceSum" && o.isInteger():
		f = sum[T, T]
	case d.op == "ReduceSum":
		f = sum[T, float64]
	case d.op == "ReduceProd" && o.isInteger():
		f = product[T, T]
	case d.op == "ReduceProd":
		f = product[T, float64]
	}
	return runs(d.name, x, run, dims, f)
}

func sum[T, Wide number](run []T) T {
	var total Wide
	for _, v := range run {
		total += Wide(v)
	}
	return T(total)
}

func product[T, Wide number](run []T) T {
	total := Wide(1)
	for _, v := range run {
		total *= Wide(v)
	}
	return T(total)
}
