package onnx

import (
	"cmp"
	"slices"

	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	numeric := types5.without(layout.Bool, layout.String, layout.Complex64, layout.Complex128)
	v1 := definition{inputs: arity{1, 1}, outputs: arity{2, 2}, attrs: []string{"axis", "k"}, arithmetic: true, prepare: prepareTopK}
	v10, v11 := v1, v1
	v10.inputs, v10.host, v10.attrs = arity{2, 2}, 1<<1, []string{"axis"}
	v11.inputs, v11.host, v11.attrs = arity{2, 2}, 1<<1, []string{"axis", "largest", "sorted"}
	register("TopK", v1.versions(change{1, types1}), v10.versions(change{10, types1}), v11.versions(change{11, numeric}, change{24, numeric.with(layout.BFloat16)}))
}

// topAttrs say which elements of each run TopK selects.
type topAttrs struct {
	k, run   int64
	smallest bool
	dims     []int64
}

func prepareTopK(d *definition, attrs Attrs) (kernel, error) {
	axis, err := attrs.IntOr("axis", -1)
	if err != nil {
		return nil, err
	}
	k, given, err := attrs.Int("k")
	if err != nil {
		return nil, err
	}
	if d.since < 10 && !given {
		return nil, d.invalid("attribute k is missing")
	}
	largest, err := d.boolAttr(attrs, "largest", true)
	if err != nil {
		return nil, err
	}
	if _, err := d.boolAttr(attrs, "sorted", true); err != nil { // unsorted allows any order
		return nil, err
	}
	return func(c *call) error {
		k := k
		if d.since >= 10 {
			var err error // local to this run: others may run concurrently
			if k, err = c.scalarInt(1, "k", false); err != nil {
				return err
			}
		}
		return c.topK(axis, k, !largest)
	}, nil
}

func (c *call) topK(axis, k int64, smallest bool) error {
	rank := c.x.Rank()
	at, err := c.d.axisFrom(axis, -int64(rank), rank, rank-1)
	if err != nil {
		return err
	}
	run := c.x.Dim(at)
	if k < 0 || k > run {
		return c.d.invalid("k is %d; axis %d has %d elements", k, at, run)
	}
	x, err := c.operand(c.x)
	if err != nil {
		return err
	}
	last := make([]int, 0, rank) // the axis is moved to the end, and back
	for i := range rank {
		if i != at {
			last = append(last, i)
		}
	}
	last = append(last, at)
	if x, err = c.permuted(x, last); err != nil {
		return err
	}
	dims := x.Shape()
	dims[rank-1] = k
	calculator := calculators[c.x.DType()]
	values, indices, err := calculator.top(x, topAttrs{k: k, run: run, smallest: smallest, dims: dims})
	if err != nil {
		return err
	}
	c.temps = append(c.temps, values, indices)
	back := make([]int, rank)
	for i, axis := range last {
		back[axis] = i
	}
	for i, y := range []*tensor.Tensor{values, indices} {
		l, err := y.Layout().Permute(back...)
		if err == nil {
			y, err = y.WithLayout(c.d.name, l)
		}
		if err := c.setAs(i, c.x.DType(), y, err); err != nil {
			return err
		}
	}
	return nil
}

// top selects the first of equal elements. A NaN is less than all numbers.
func (of[T]) top(x *tensor.Tensor, how topAttrs) (values, indices *tensor.Tensor, err error) {
	in, err := tensor.Values[T](x)
	if err != nil {
		return nil, nil, err
	}
	count, err := layout.Shape(how.dims).Count()
	if err != nil {
		return nil, nil, err
	}
	best, err := budget.Make[T](budget.Process(), "TopK", count)
	if err != nil {
		return nil, nil, err
	}
	at, err := budget.Make[int64](budget.Process(), "TopK", count)
	if err != nil {
		return nil, nil, err
	}
	order, err := budget.Make[int64](budget.Process(), "TopK", how.run)
	if err != nil {
		return nil, nil, err
	}
	for from, to := int64(0), int64(0); to < count; from, to = from+how.run, to+how.k {
		run := in[from:][:how.run]
		for i := range order {
			order[i] = int64(i)
		}
		slices.SortStableFunc(order, func(a, b int64) int {
			if how.smallest {
				return cmp.Compare(run[a], run[b])
			}
			return cmp.Compare(run[b], run[a])
		})
		for i, k := range order[:how.k] {
			best[to+int64(i)], at[to+int64(i)] = run[k], k
		}
	}
	if values, err = tensor.FromHost(best, how.dims...); err == nil {
		indices, err = tensor.FromHost(at, how.dims...)
	}
	return values, indices, err
}
