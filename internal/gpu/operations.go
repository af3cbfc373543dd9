package gpu

import (
	"errors"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// Copy copies every element of src to the element of dst with the same index.
func (q *Queue) Copy(dst, src device.Operand) error {
	if err := q.begin("Copy"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	c := newCall(planner.OpCopy, operands{&dst, &src})
	e := q.launches.Find(&c.Operation)
	if e != nil { // then types, shapes and strides are valid
		if err := backend.CheckCopyBuffers(&dst, &src); err != nil {
			return err
		}
	} else if err := backend.CheckCopy(&dst, &src); err != nil {
		return err
	}
	return q.run(&c, e)
}

// Fill sets every element of dst to the pattern.
func (q *Queue) Fill(dst device.Operand, pattern []byte) error {
	if err := q.begin("Fill"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckFill(&dst, pattern); err != nil {
		return err
	}
	c := newCall(planner.OpFill, operands{&dst})
	c.Pattern = planner.PatternOf(pattern, dst.Type.Bits())
	return q.run(&c, nil)
}

// Convert sets every element of dst to the value of src's with the same index.
func (q *Queue) Convert(dst, src device.Operand, how device.Rounding) error {
	if err := q.begin("Convert"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckConvert(&dst, &src, how); err != nil {
		return err
	}
	c := newCall(planner.OpConvert, operands{&dst, &src})
	c.How = how
	return q.run(&c, nil)
}

// Take copies the elements of src that indices name to dst.
func (q *Queue) Take(dst, src, at device.Operand, by ...layout.Index) error {
	if err := q.begin("Take"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckTake(&dst, &src, &at, by); err != nil {
		return err
	}
	c := newCall(planner.OpTake, operands{&dst, &src, planner.At: &at})
	c.By = by
	return q.run(&c, nil)
}

// Put copies the elements of src to those of dst that indices name.
func (q *Queue) Put(dst, src, at device.Operand, how device.Reduction, by ...layout.Index) error {
	if err := q.begin("Put"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckPut(&dst, &src, &at, how, by); err != nil {
		return err
	}
	return q.put(&dst, &src, &at, how, by)
}

// put queues a checked put: one launch, or a half after the other where a reduction takes
// more rounds of loops than the device does.
func (q *Queue) put(dst, src, at *device.Operand, how device.Reduction, by []layout.Index) error {
	c := newCall(planner.OpPut, operands{dst, src, planner.At: at})
	c.By, c.Reduction = by, how
	err := q.run(&c, nil)
	if !errors.Is(err, planner.ErrRounds) {
		return err
	}
	axis := planner.HalveReduce(dst.Layout, src.Layout, by)
	if axis < 0 {
		return err
	}
	n := src.Layout.Dim(axis)
	for _, half := range [2][2]int64{{0, n / 2}, {n / 2, n}} {
		d, s, a := *dst, *src, *at
		for _, x := range []*device.Operand{&d, &s, &a} {
			if x.Layout, err = x.Layout.Slice(axis, half[0], half[1], 1); err != nil {
				return err
			}
		}
		if err := q.put(&d, &s, &a, how, by); err != nil {
			return err
		}
	}
	return nil
}

// Map sets each element of dst to the element of table that src's element indexes.
func (q *Queue) Map(dst, src, table device.Operand) error {
	if err := q.begin("Map"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckMap(&dst, &src, &table); err != nil {
		return err
	}
	c := newCall(planner.OpMap, operands{&dst, &src, planner.Table: &table})
	return q.run(&c, nil)
}

// Where sets each element of dst to the element of a where cond is true, and of b elsewhere.
func (q *Queue) Where(dst, cond, a, b device.Operand) error {
	if err := q.begin("Where"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckWhere(&dst, &cond, &a, &b); err != nil {
		return err
	}
	c := newCall(planner.OpWhere, operands{&dst, &a, planner.Cond: &cond, planner.B: &b})
	return q.run(&c, nil)
}

// Dequantize sets the elements of dst to (src - zero) * scale + add.
func (q *Queue) Dequantize(dst, src device.Operand, by device.Scaling) error {
	if err := q.begin("Dequantize"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckDequantize(&dst, &src, &by); err != nil {
		return err
	}
	c := newCall(planner.OpDequantize, operands{&dst, &src, planner.Scale: optional(&by.Scale), planner.Zero: optional(&by.Zero), planner.Add: optional(&by.Add)})
	c.Subtract = by.Subtract
	return q.run(&c, nil)
}

// Quantize sets the elements of dst to round(src / scale) + zero.
func (q *Queue) Quantize(dst, src device.Operand, by device.Quantization) error {
	if err := q.begin("Quantize"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	if err := backend.CheckQuantize(&dst, &src, &by); err != nil {
		return err
	}
	c := newCall(planner.OpQuantize, operands{&dst, &src, planner.Scale: optional(&by.Scale), planner.Zero: optional(&by.Zero)})
	c.Precision, c.FindScale, c.How.Unsaturated = by.Precision, by.FindScale, by.Unsaturated
	return q.run(&c, nil)
}
