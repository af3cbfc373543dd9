package onnx

import (
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/shapes"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	base := definition{inputs: arity{1, 2}, outputs: arity{1, many}, host: 1 << 1, attrs: []string{"axis"}, prepare: prepareSplit}
	byAttr, byNumber := base, base
	byAttr.inputs = arity{1, 1}
	byAttr.attrs = []string{"axis", "split"}
	v1 := byAttr
	v1.inputs = base.inputs
	byNumber.attrs = []string{"axis", "num_outputs"}
	register("Split", v1.versions(change{1, types1}), byAttr.versions(change{2, types5}, change{11, types5}),
		base.versions(change{13, types13}), byNumber.versions(change{18, types13}))
}

// prepareSplit prepares all versions: sizes come from an attribute, an input or either.
func prepareSplit(d *definition, attrs Attrs) (kernel, error) {
	axis, err := attrs.IntOr("axis", 0) // the text of version 1 has no default; use version 2's
	if err != nil {
		return nil, err
	}
	sizes, _, err := attrs.Ints("split")
	if err != nil {
		return nil, err
	}
	n, counted, err := attrs.Int("num_outputs")
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		sizes := sizes // local to this call: others may run concurrently
		if c.has(1) {
			switch {
			case counted:
				return d.invalid("input split and attribute num_outputs are given; only one of them may be")
			case len(sizes) > 0:
				return d.invalid("the sizes are given both as an input and as an attribute")
			}
			var err error
			if sizes, err = c.splitSizes(); err != nil {
				return err
			}
		}
		switch {
		case c.has(1) || len(sizes) > 0: // an empty attribute means it is omitted
			return c.split(axis, sizes)
		case !counted && d.since >= 18:
			return d.invalid("neither input split nor attribute num_outputs is given; one of them must be")
		}
		if counted {
			if err := c.outputs(n); err != nil {
				return err
			}
			if n != int64(len(c.out)) {
				return d.invalid("num_outputs is %d; %d outputs are wanted", n, len(c.out))
			}
		}
		return c.splitEvenly(axis)
	}, nil
}

// splitSizes reads the input split.
func (c *call) splitSizes() ([]int64, error) {
	var few [8]int64
	if c.d.since > 1 {
		return c.ints(few[:0], 1, "split", false)
	}
	n := len(c.out)
	if t, ok := c.in[1].(*tensor.Tensor); ok && c.open {
		n = int(t.Count())
	}
	return c.floatInts(few[:0], 1, "split", n)
}

// outputs makes room for n outputs, if the kernel may choose their number.
func (c *call) outputs(n int64) (err error) {
	if c.open && n > 0 {
		c.out, err = budget.Make[Value](budget.Process(), c.d.name, n)
	}
	return err
}

// splitAxis resolves the axis. ONNX's own shape inference lets it count from the end in
// Split-2, and models from that period do so.
func (c *call) splitAxis(axis int64) (int, error) {
	rank := c.x.Rank()
	if c.d.since == 2 && axis < 0 && axis >= -int64(rank) {
		axis += int64(rank)
	}
	return c.d.axis(axis, rank, rank-1)
}

// split cuts input 0 into parts of the given sizes.
func (c *call) split(axis int64, sizes []int64) error {
	at, err := c.splitAxis(axis)
	if err != nil {
		return err
	}
	if err := c.outputs(int64(len(sizes))); err != nil {
		return err
	}
	if len(sizes) != len(c.out) {
		return c.d.invalid("split %v has %d sizes; %d outputs are wanted", layout.Shape(sizes).Clone(), len(sizes), len(c.out))
	}
	if err := shapes.CheckSplit(c.d.name, at, c.x.Dim(at), sizes); err != nil {
		return err
	}
	from := int64(0)
	for i, n := range sizes {
		if err := c.cut(i, at, from, from+n); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// splitEvenly cuts input 0 into parts of equal size, except the last.
func (c *call) splitEvenly(axis int64) error {
	at, err := c.splitAxis(axis)
	if err != nil {
		return err
	}
	extent, n := c.x.Dim(at), int64(len(c.out))
	size := extent / n
	if extent%n != 0 {
		if c.d.since < 18 {
			return c.d.invalid("extent %d of axis %d is no multiple of %d, the number of outputs; Split allows that from opset 18", extent, at, n)
		}
		if size++; size > extent/(n-1) {
			return c.d.invalid("extent %d of axis %d cannot be cut into %d parts of which only the last is smaller: %d of %d are more", extent, at, n, n-1, size)
		}
	}
	for i := range n {
		from := i * size // at most the extent
		if err := c.cut(int(i), at, from, from+min(size, extent-from)); err != nil {
			return err
		}
	}
	return nil
}

// cut makes output i from a window of input 0.
func (c *call) cut(i, axis int, from, to int64) error {
	l, err := c.x.Layout().Slice(axis, from, to, 1)
	y, err := c.d.view(c.x, l, err)
	if err != nil {
		return err
	}
	c.out[i] = y
	if n := len(c.out); i == 0 && n > 64 { // the first output accounts for all
		return countItems(c.d.name, y, n)
	}
	return nil
}
