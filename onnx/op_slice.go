package onnx

import (
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	byAttr := definition{inputs: arity{1, 1}, attrs: []string{"starts", "ends", "axes"}, prepare: prepareSlice1}
	byInput := definition{inputs: arity{3, 5}, host: 1<<1 | 1<<2 | 1<<3 | 1<<4, prepare: prepareSlice}
	register("Slice", byAttr.versions(change{1, types5}), byInput.versions(change{10, types5}, change{11, types5}, change{13, types13}))

	// DynamicSlice was an experimental step from Slice-1 to Slice-10. Experimental
	// operators had no versions: it runs at every opset.
	dynamic := definition{inputs: arity{3, 4}, host: byInput.host, prepare: prepareSlice}
	register("DynamicSlice", dynamic.versions(change{1, types5}))
}

// slice keeps every step-th element of each listed axis, with starts and ends clamped as in
// ONNX. nil axes are 0, 1, 2, ...; nil steps are all 1.
func slice(d *definition, x *tensor.Tensor, starts, ends, axes, steps []int64) (*tensor.Tensor, error) {
	rank, n := x.Rank(), len(starts)
	for _, list := range []struct {
		name   string
		values []int64
		given  bool
	}{{"ends", ends, true}, {"axes", axes, axes != nil}, {"steps", steps, steps != nil}} {
		if list.given && len(list.values) != n {
			return nil, d.invalid("%d starts but %d %s", n, len(list.values), list.name)
		}
	}
	if axes == nil && n > rank {
		return nil, d.invalid("%d starts for %d axes", n, rank)
	}
	var seen [layout.MaxRank]bool
	var fewAxes [8]int
	list := fewAxes[:0]
	for i := range starts {
		axis := i
		if axes != nil {
			var err error
			if axis, err = d.axis(axes[i], rank, rank-1); err != nil {
				return nil, err
			}
		}
		if seen[axis] {
			return nil, d.invalid("axis %d is listed twice", axis)
		}
		seen[axis] = true
		list = append(list, axis)
	}
	l, err := x.Layout().SliceAxes(list, starts, ends, steps)
	return d.view(x, l, err)
}

func prepareSlice1(d *definition, attrs Attrs) (kernel, error) {
	var lists [3][]int64
	for i, name := range []string{"starts", "ends", "axes"} {
		values, ok, err := attrs.Ints(name)
		if err != nil {
			return nil, err
		}
		if !ok && name != "axes" {
			return nil, d.invalid("attribute %s is missing", name)
		}
		if len(values) > 0 || name != "axes" { // empty axes mean omitted axes
			lists[i] = values
		}
	}
	return func(c *call) error { return c.set(slice(d, c.x, lists[0], lists[1], lists[2], nil)) }, nil
}

func prepareSlice(d *definition, _ Attrs) (kernel, error) {
	return func(c *call) error {
		var few [4][8]int64
		var lists [4][]int64
		of := layout.Invalid
		for i, name := range [...]string{"starts", "ends", "axes", "steps"} {
			if !c.has(i + 1) {
				continue
			}
			list, err := c.ints(few[i][:0], i+1, name, true)
			if err != nil {
				return err
			}
			lists[i] = list
			t := c.in[i+1].(*tensor.Tensor).DType()
			if of != layout.Invalid && t != of {
				return d.invalid("%s is %v and the inputs before it %v; they must be of one type", name, t, of)
			}
			of = t
		}
		return c.set(slice(d, c.x, lists[0], lists[1], lists[2], lists[3]))
	}, nil
}
