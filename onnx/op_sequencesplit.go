package onnx

import (
	"github.com/restride/restride/internal/shapes"
	"github.com/restride/restride/tensor"
)

func init() {
	split := definition{inputs: arity{1, 2}, host: 1 << 1, attrs: []string{"axis", "keepdims"}, prepare: prepareSplitToSequence}
	register("SplitToSequence", split.versions(change{11, types5}, change{24, types13}))
	concat := definition{inputs: arity{1, 1}, containers: sequences, held: types5, attrs: []string{"axis", "new_axis"}, prepare: prepareConcatFromSequence}
	register("ConcatFromSequence", concat.versions(change{11, 0}))
}

// prepareSplitToSequence prepares windows of the input. keepdims has a meaning without the
// input split only.
func prepareSplitToSequence(d *definition, attrs Attrs) (kernel, error) {
	axis, err := attrs.IntOr("axis", 0)
	if err != nil {
		return nil, err
	}
	keep, err := d.boolAttr(attrs, "keepdims", true)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		at, err := d.axis(axis, c.x.Rank(), c.x.Rank()-1)
		if err != nil {
			return err
		}
		sizes, err := c.windowSizes(at)
		if err != nil {
			return err
		}
		s := &Sequence{Elem: c.x.DType()}
		c.out[0] = s
		if err := countItems(d.name, s, len(sizes)); err != nil {
			return err
		}
		from := int64(0)
		for _, n := range sizes {
			l, err := c.x.Layout().Slice(at, from, from+n, 1)
			if err == nil && !keep && !c.has(1) {
				l, err = l.Squeeze(at)
			}
			y, err := d.view(c.x, l, err)
			if err != nil {
				return err
			}
			s.Items = append(s.Items, y)
			from += n
		}
		return nil
	}, nil
}

// windowSizes returns the extents of the parts: 1 each, or as the input split says, one
// number for all but the last, or a list.
func (c *call) windowSizes(axis int) ([]int64, error) {
	extent, each := c.x.Dim(axis), int64(1)
	if c.has(1) {
		x, err := c.tensor(1, "split")
		if err != nil {
			return nil, err
		}
		if x.Rank() > 0 {
			sizes, err := c.ints(nil, 1, "split", true)
			if err != nil {
				return nil, err
			}
			return sizes, shapes.CheckSplit(c.d.name, axis, extent, sizes)
		}
		if each, err = c.scalarInt(1, "split", true); err != nil {
			return nil, err
		}
		if each < 1 {
			return nil, c.d.invalid("split is %d; it must be positive", each)
		}
	}
	n := extent / each
	if extent%each > 0 {
		n++
	}
	const bytes = 8
	if err := c.take(n * bytes); err != nil {
		return nil, err
	}
	sizes := make([]int64, 0, n)
	for from := int64(0); from < extent; from += each {
		sizes = append(sizes, min(each, extent-from))
	}
	return sizes, nil
}

func prepareConcatFromSequence(d *definition, attrs Attrs) (kernel, error) {
	axis, given, err := attrs.Int("axis")
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, d.invalid("attribute axis is missing")
	}
	stacks, err := d.boolAttr(attrs, "new_axis", false)
	if err != nil {
		return nil, err
	}
	return func(c *call) error {
		items := c.sequence().Items
		if len(items) == 0 {
			return d.invalid("the sequence is empty: there is nothing to join")
		}
		if stacks {
			return c.set(c.stack(axis, items, "item"))
		}
		in := c.in
		c.in, c.x = items, items[0].(*tensor.Tensor) // checkContainer saw that they are tensors
		defer func() { c.in, c.x = in, nil }()
		return c.concat(axis)
	}, nil
}
