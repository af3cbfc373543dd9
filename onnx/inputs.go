package onnx

import (
	"context"
	"math"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// has reports whether optional input i is given.
func (c *call) has(i int) bool { return i < len(c.in) && !absent(c.in[i]) }

// tensor returns input i, which must be a tensor.
func (c *call) tensor(i int, what string) (*tensor.Tensor, error) {
	if t, ok := c.in[i].(*tensor.Tensor); ok {
		return t, nil
	}
	return nil, c.d.invalid("%s is %s; it must be a tensor", what, describe(c.in[i]))
}

// ints appends the values of input i to dst: a one-dimensional tensor of int64 or, if
// int32s is set, int32.
func (c *call) ints(dst []int64, i int, what string, int32s bool) ([]int64, error) {
	t, err := c.intTensor(i, what, int32s)
	if err != nil {
		return nil, err
	}
	if t.Rank() != 1 {
		return nil, c.d.invalid("%s has shape %v; it must have one axis", what, t.Shape())
	}
	return c.appendInts(dst, t, what)
}

// axesInput is ints for axes, which may also be one number without an axis, as in ONNX's own
// models of loops.
func (c *call) axesInput(dst []int64, i int, int32s bool) ([]int64, error) {
	const what = "axes"
	t, err := c.intTensor(i, what, int32s)
	if err != nil {
		return nil, err
	}
	if t.Rank() > 1 {
		return nil, c.d.invalid("%s has shape %v; it must have one axis", what, t.Shape())
	}
	return c.appendInts(dst, t, what)
}

// intTensor returns input i: a tensor of int64 or, if int32s is set, int32.
func (c *call) intTensor(i int, what string, int32s bool) (*tensor.Tensor, error) {
	t, err := c.tensor(i, what)
	if err != nil {
		return nil, err
	}
	if t.DType() != layout.Int64 && !(int32s && t.DType() == layout.Int32) {
		allowed := "int64"
		if int32s {
			allowed = "int64 or int32"
		}
		return nil, c.d.invalid("%s is %v; it must be %s", what, t.DType(), allowed)
	}
	return t, nil
}

// appendInts appends the values of an input to dst.
func (c *call) appendInts(dst []int64, t *tensor.Tensor, what string) ([]int64, error) {
	list, err := t.AppendInts(dst)
	if e, ok := err.(*layout.Error); ok {
		err = layout.Errorf(e.Kind, c.d.name, "%s: %s", what, e.Msg)
	}
	return list, err
}

// floatInts appends the count values of input i to dst. Split-1 and Tile-1 declare their
// counts and axes with the floating-point type of the data, but describe them as int64:
// both types are accepted.
func (c *call) floatInts(dst []int64, i int, what string, count int) ([]int64, error) {
	t, err := c.tensor(i, what)
	if err != nil {
		return nil, err
	}
	if t.DType() != layout.Int64 && t.DType() != c.x.DType() {
		return nil, c.d.invalid("%s is %v; it must be int64 or, as the input is, %v", what, t.DType(), c.x.DType())
	}
	if t.Rank() > 1 || t.Count() != int64(count) {
		return nil, c.d.invalid("%s has shape %v; it must have %d elements along one axis", what, t.Shape(), count)
	}
	if t.DType() == layout.Int64 {
		return t.AppendInts(dst)
	}
	raw, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	for k := range count {
		v := numeric.Float(t.DType(), raw, int64(k))
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 { // a NaN is not a whole number either
			return nil, c.d.invalid("%s has the element %v, which is no whole number or too large", what, v)
		}
		dst = append(dst, int64(v))
	}
	return dst, nil
}

// scalarInt returns the value of input i: a tensor of int64 or, if int32s is set, int32, with
// one element and at most one axis.
func (c *call) scalarInt(i int, what string, int32s bool) (int64, error) {
	t, err := c.intTensor(i, what, int32s)
	if err != nil {
		return 0, err
	}
	if t.Rank() > 1 || t.Count() != 1 {
		return 0, c.d.invalid("%s has shape %v; it must be one number", what, t.Shape())
	}
	var few [1]int64
	list, err := t.AppendInts(few[:0])
	if err != nil {
		return 0, err
	}
	return list[0], nil
}

// together moves the tensors to one device: if some are on tensor.Host and others are not,
// those on the host are copied to the others' device.
func (c *call) together(ts []*tensor.Tensor) error {
	home := tensor.Host()
	for _, t := range ts {
		home = farther(home, t.Stream())
	}
	for i, t := range ts {
		y, err := c.bring(t, home)
		if err != nil {
			return err
		}
		ts[i] = y
	}
	return nil
}

// farther returns whichever stream is not tensor.Host, if either is not.
func farther(a, b *tensor.Stream) *tensor.Stream {
	if a == tensor.Host() {
		return b
	}
	return a
}

// await waits for the work on a tensor that the host is about to read, unless the run's
// context ends first. The read reports errors of that work.
func (c *call) await(t *tensor.Tensor) error {
	if c.ctx == nil || c.ctx.Done() == nil || t.Stream().IsHost() {
		return nil
	}
	_ = t.WaitContext(c.ctx)
	return context.Cause(c.ctx)
}

// awaitHost waits for the inputs that the operator reads on the host.
func (c *call) awaitHost() error {
	for i, v := range c.in {
		if t, ok := v.(*tensor.Tensor); ok && t != nil && has(uint64(c.d.host), i) {
			if err := c.await(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// bring returns t itself or, if t is on tensor.Host, a copy on home that is valid during
// the call.
func (c *call) bring(t *tensor.Tensor, home *tensor.Stream) (*tensor.Tensor, error) {
	if t.Stream() != tensor.Host() || home == tensor.Host() {
		return t, nil
	}
	y, err := t.To(home)
	if err != nil {
		return nil, err
	}
	c.temps = append(c.temps, y)
	c.sent += y.Verdict().Bytes
	return y, nil
}

// moved records the use of t's elements on another stream: between host and device that is
// a transfer.
func (c *call) moved(t *tensor.Tensor, to *tensor.Stream) {
	n, _ := t.Shape().Bytes(t.DType()) // t exists: no overflow; strings stay on the host
	switch {
	case t.Stream().IsHost() && !to.IsHost():
		c.sent += n
	case !t.Stream().IsHost() && to.IsHost():
		c.fetched += n
	}
}

// overwritable reports whether the elements of input i may be overwritten: nothing else
// uses them, and no element appears twice.
func (c *call) overwritable(i int) bool {
	t, ok := c.in[i].(*tensor.Tensor)
	if !ok || i >= len(c.last) || !c.last[i] || !t.Unshared() {
		return false
	}
	l := t.Layout()
	return !l.SelfOverlaps()
}
