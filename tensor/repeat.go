package tensor

import (
	"errors"
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Flip returns a view with the order along the given axes reversed; without arguments, along all.
func (t *Tensor) Flip(axes ...int) (*Tensor, error) {
	const op = "Flip"
	if t == nil {
		return nil, nilTensor(op)
	}
	if len(axes) == 0 {
		for i := range t.Rank() {
			axes = append(axes, i)
		}
	}
	var seen uint64 // MaxRank is 64
	l := t.layout
	for _, axis := range axes {
		at, err := layout.Axis(op, axis, t.Rank())
		if err == nil && seen>>at&1 != 0 {
			err = layout.Errorf(device.ErrInvalid, op, "axis %d is listed twice", axis)
		}
		if err == nil {
			seen |= 1 << at
			l, err = l.Slice(at, -1, math.MinInt64, -1)
		}
		if err != nil {
			return nil, t.fail(op, err)
		}
	}
	return t.view(t.stream, op, &l, nil)
}

// Tile repeats the tensor repeats[i] times along each axis i (ONNX Tile, numpy.tile). It is a
// view if strides can express it, as along axes of extent 1, else a copy.
func (t *Tensor) Tile(repeats ...int64) (*Tensor, error) {
	const op = "Tile"
	if t == nil {
		return nil, nilTensor(op)
	}
	var few [8]int64
	l, dims, err := t.layout.Tile(op, repeats, few[:0])
	return t.rearranged(op, l, dims, err)
}

// Repeat repeats each element along an axis n times in a row (numpy.repeat). It is a view if
// strides can express it, as along an axis of extent 1, else a copy.
func (t *Tensor) Repeat(axis int, n int64) (*Tensor, error) {
	const op = "Repeat"
	if t == nil {
		return nil, nilTensor(op)
	}
	l, dims, err := t.layout.Repeat(op, axis, n)
	return t.rearranged(op, l, dims, err)
}

// rearranged returns t seen through a layout, reshaped to other extents.
func (t *Tensor) rearranged(op string, l layout.Layout, dims []int64, err error) (*Tensor, error) {
	if err != nil {
		return nil, t.fail(op, err)
	}
	to, err := l.Reshape(dims...)
	if !errors.Is(err, layout.ErrNeedsCopy) {
		return t.view(t.stream, op, &to, err)
	}
	if err := t.hold(op); err != nil {
		return nil, err
	}
	defer t.memory.drop()
	seen := Tensor{stream: t.stream, memory: t.memory, layout: l, dtype: t.dtype}
	return published(seen.compact(op, dims))
}
