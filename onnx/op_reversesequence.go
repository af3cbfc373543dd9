package onnx

import (
	"math"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func init() {
	base := definition{inputs: arity{2, 2}, host: 1 << 1, attrs: []string{"batch_axis", "time_axis"}, prepare: prepareReverseSequence}
	register("ReverseSequence", base.versions(change{10, types5}, change{28, types13}))
}

func prepareReverseSequence(d *definition, attrs Attrs) (kernel, error) {
	batch, err := attrs.IntOr("batch_axis", 1)
	if err != nil {
		return nil, err
	}
	time, err := attrs.IntOr("time_axis", 0)
	if err != nil {
		return nil, err
	}
	if batch < 0 || batch > 1 || time < 0 || time > 1 || batch == time {
		return nil, d.invalid("batch_axis is %d and time_axis %d: one must be 0 and the other 1", batch, time)
	}
	return func(c *call) error {
		var few [8]int64
		lengths, err := c.ints(few[:0], 1, "sequence_lens", false)
		if err != nil {
			return err
		}
		return c.reverseSequence(int(batch), int(time), lengths)
	}, nil
}

// reverseSequence reverses the first lengths[i] elements of each batch i. The result is a
// view if no length is above 1, or if all equal the axis's extent.
func (c *call) reverseSequence(batch, time int, lengths []int64) error {
	if c.x.Rank() < 2 {
		return c.d.invalid("the input must have two axes or more: batches and time")
	}
	whole := c.x.Layout()
	if n := whole.Dim(batch); int64(len(lengths)) != n {
		return c.d.invalid("%d sequence lengths for %d batches, axis %d", len(lengths), n, batch)
	}
	long := whole.Dim(time)
	least, most := long, int64(0)
	for i, n := range lengths {
		if n < 0 || n > long {
			return c.d.invalid("sequence length %d of batch %d is outside [0,%d], the extent of axis %d", n, i, long, time)
		}
		least, most = min(least, n), max(most, n)
	}
	switch {
	case whole.Count() == 0 || most <= 1:
		return c.set(c.x.WithLayout(c.d.name, whole))
	case least == long:
		l, err := whole.Slice(time, -1, math.MinInt64, -1)
		return c.set(c.d.view(c.x, l, err))
	}
	runs := int64(1)
	for i := 1; i < len(lengths); i++ {
		if ordered(lengths[i]) != ordered(lengths[i-1]) {
			runs++
		}
	}
	if err := c.take(2 * runs * partBytes); err != nil {
		return err
	}
	parts := make([]tensor.Part, 0, 2*runs)
	for from := 0; from < len(lengths); {
		n := ordered(lengths[from])
		to := from + 1
		for to < len(lengths) && ordered(lengths[to]) == n {
			to++
		}
		axes := []int{batch, time}
		first := window(axes, []int64{int64(from), 0}, []int64{int64(to), n})
		rest := window(axes, []int64{int64(from), n}, []int64{int64(to), long})
		if n > 0 {
			parts = append(parts, tensor.Part{Into: first, Src: c.x, From: func(x layout.Layout) (layout.Layout, error) {
				l, err := first(x)
				if err != nil {
					return l, err
				}
				return l.Slice(time, -1, math.MinInt64, -1)
			}})
		}
		if n < long {
			parts = append(parts, tensor.Part{Into: rest, Src: c.x, From: rest})
		}
		from = to
	}
	return c.assemble(c.x.Stream(), c.x.DType(), whole.Shape(), parts...)
}

// ordered returns the length to reverse, or 0 if reversing changes nothing.
func ordered(length int64) int64 {
	if length == 1 {
		return 0
	}
	return length
}
