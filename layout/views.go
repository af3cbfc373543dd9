package layout

import (
	"fmt"
	"slices"
)

// Permute reorders the axes: axis i of the result is axis perm[i] of l, as in
// ONNX Transpose. Negative axes count from the end.
func (l Layout) Permute(perm ...int) (out Layout, err error) {
	err = out.permute(&l, perm)
	return out, err
}

func (l *Layout) permute(from *Layout, perm []int) error {
	axes := from.axes()
	if len(perm) != len(axes) {
		return l.fail("Permute", "%v by %v: the permutation must list each of the %d axes once",
			from.Shape(), slices.Clone(perm), len(axes))
	}
	out := l.reset(len(axes), from.offset)
	var seen axisSet
	for i, p := range perm {
		if p < 0 {
			p += len(axes)
		}
		if uint(p) >= uint(len(axes)) || !seen.add(p) {
			return l.failAxis("Permute", from, perm[i], len(axes))
		}
		out[i] = axes[p]
	}
	return nil
}

// Reverse returns the layout with its axes in reverse order, which is ONNX
// Transpose without perm.
func (l Layout) Reverse() (out Layout) {
	out.reverse(&l)
	return out
}

func (l *Layout) reverse(from *Layout) {
	axes := from.axes()
	out := l.reset(len(axes), from.offset)
	for i, a := range axes {
		out[len(out)-1-i] = a
	}
}

// Slice keeps every step-th element of an axis from start up to, but not including, end. It
// follows ONNX Slice: negative start and end count from the end of the axis, values out of range
// are clamped, and a negative step walks backwards. Step 0 is an error.
func (l Layout) Slice(axis int, start, end, step int64) (Layout, error) {
	err := l.slice(axis, start, end, step)
	return l, err
}

func (l *Layout) slice(at int, start, end, step int64) error {
	i := at
	if i < 0 {
		i += l.rank
	}
	if uint(i) >= uint(l.rank) {
		return l.failAxis("Slice", l, at, l.rank)
	}
	if step == 0 {
		return l.fail("Slice", "%v: the step on axis %d is 0", l.Shape(), at)
	}
	axes := l.own()
	if !l.cut(&axes[i], start, end, step) {
		l.emptied(axes)
	}
	return nil
}

// SliceAxes applies Slice to each of the listed axes in order, in one pass; nil steps are all 1.
func (l Layout) SliceAxes(axes []int, starts, ends, steps []int64) (Layout, error) {
	err := l.sliceAxes(axes, starts, ends, steps)
	return l, err
}

func (l *Layout) sliceAxes(list []int, starts, ends, steps []int64) error {
	if len(starts) != len(list) || len(ends) != len(list) || steps != nil && len(steps) != len(list) {
		return l.fail("SliceAxes", "%v: %d axes, %d starts, %d ends and %d steps; there must be as many of each",
			l.Shape(), len(list), len(starts), len(ends), len(steps))
	}
	for k, at := range list {
		if at < -l.rank || at >= l.rank {
			return l.failAxis("SliceAxes", l, at, l.rank)
		}
		if steps != nil && steps[k] == 0 {
			return l.fail("SliceAxes", "%v: the step on axis %d is 0", l.Shape(), at)
		}
	}
	axes := l.own()
	some := true
	for k, i := range list {
		if i < 0 {
			i += l.rank
		}
		step := int64(1)
		if steps != nil {
			step = steps[k]
		}
		if some {
			some = l.cut(&axes[i], starts[k], ends[k], step)
		} else { // only the extents count
			_, axes[i].dim = clampSlice(axes[i].dim, starts[k], ends[k], step)
		}
	}
	if !some {
		l.emptied(axes)
	}
	return nil
}

// cut slices one axis of l, which l must own, and reports whether any elements are left.
func (l *Layout) cut(a *axis, start, end, step int64) bool {
	first, n := clampSlice(a.dim, start, end, step)
	a.dim = n
	if n == 0 { // the offset stays in range
		return false
	}
	l.offset += first * a.stride
	if n > 1 { // n-1 such steps stay inside the axis: no overflow
		a.stride *= step
	}
	return true
}

// emptied sets the strides of a layout that has become empty.
func (l *Layout) emptied(axes []axis) {
	for i := range axes {
		axes[i].stride = 0
	}
}

// clampSlice returns the first index of a slice of an axis, and the number of its elements.
func clampSlice(dim, start, end, step int64) (first, n int64) {
	if start < 0 {
		start += dim
	}
	if end < 0 {
		end += dim
	}
	var gap uint64
	if step > 0 {
		start, end = min(max(start, 0), dim), min(max(end, 0), dim)
		if start >= end {
			return 0, 0
		}
		gap = uint64(end - start - 1)
	} else {
		start, end = min(max(start, 0), dim-1), min(max(end, -1), dim-1)
		if start <= end {
			return 0, 0
		}
		gap = uint64(start - end - 1)
	}
	return start, int64(gap/magnitude(step)) + 1
}

// Expand broadcasts to the given extents, aligned at the last axis: an extent of 1 is repeated
// (with stride 0), any other must be equal. Leading axes may be added.
func (l Layout) Expand(shape ...int64) (out Layout, err error) {
	err = out.expand(&l, shape)
	return out, err
}

func (l *Layout) expand(from *Layout, shape []int64) error {
	axes := from.axes()
	lead := len(shape) - len(axes)
	if lead < 0 {
		return l.fail("Expand", "%v to %v: the rank cannot shrink", from.Shape(), Shape(shape).Clone())
	}
	n, ok := product(shape)
	if !ok {
		return l.fail("Expand", "%v to %v: %s", from.Shape(), Shape(shape).Clone(), countRule(shape))
	}
	out := l.reset(len(shape), from.offset)
	for i, d := range shape {
		out[i].dim = d
		if i < lead {
			continue
		}
		switch a := axes[i-lead]; {
		case a.dim == d && n > 0:
			out[i].stride = a.stride
		case a.dim != d && a.dim != 1:
			return l.fail("Expand", "%v to %v: axis %d has extent %d, which is neither %d nor 1",
				from.Shape(), Shape(shape).Clone(), i-lead, a.dim, d)
		}
	}
	return nil
}

// Squeeze removes the listed axes, which must have extent 1, or without arguments all axes of
// extent 1. It is an error to list an axis twice.
func (l Layout) Squeeze(axes ...int) (out Layout, err error) {
	err = out.squeeze(&l, axes)
	return out, err
}

func (l *Layout) squeeze(from *Layout, list []int) error {
	axes := from.axes()
	var drop axisSet
	gone := len(list)
	for _, at := range list {
		i := at
		if i < 0 {
			i += len(axes)
		}
		if uint(i) >= uint(len(axes)) || !drop.add(i) {
			return l.failAxis("Squeeze", from, at, len(axes))
		}
		if axes[i].dim != 1 {
			return l.fail("Squeeze", "%v: axis %d has extent %d, not 1", from.Shape(), at, axes[i].dim)
		}
	}
	if len(list) == 0 {
		for i, a := range axes {
			if a.dim == 1 {
				drop.add(i)
				gone++
			}
		}
	}
	out := l.reset(len(axes)-gone, from.offset)
	k := 0
	for i, a := range axes {
		if !drop.has(i) {
			out[k] = a
			k++
		}
	}
	return nil
}

// Unsqueeze inserts axes of extent 1 at the listed places of the result. It is an error to list a
// place twice or out of range.
func (l Layout) Unsqueeze(axes ...int) (out Layout, err error) {
	err = out.unsqueeze(&l, axes)
	return out, err
}

func (l *Layout) unsqueeze(from *Layout, list []int) error {
	axes := from.axes()
	rank := len(axes) + len(list)
	if rank > MaxRank {
		return l.fail("Unsqueeze", "%v by %d axes: %s", from.Shape(), len(list), rankRule(rank))
	}
	var added axisSet
	for _, at := range list {
		i := at
		if i < 0 {
			i += rank
		}
		if uint(i) >= uint(rank) || !added.add(i) {
			return l.failAxis("Unsqueeze", from, at, rank)
		}
	}
	out := l.reset(rank, from.offset)
	k := 0
	for i := range out {
		if added.has(i) {
			out[i].dim = 1 // any stride is right: use 0
		} else {
			out[i] = axes[k]
			k++
		}
	}
	return nil
}

// failAxis returns the error of an axis in a list: out of range, or listed twice.
func (l *Layout) failAxis(op string, from *Layout, axis, rank int) error {
	rule := "is listed twice"
	switch {
	case rank == 0:
		rule = "is listed, and rank 0 has none"
	case axis < -rank || axis >= rank:
		rule = fmt.Sprintf("is outside [%d,%d] of rank %d", -rank, rank-1, rank)
	}
	return l.fail(op, "%v: axis %d %s", from.Shape(), axis, rule)
}

// axisSet is a set of axes, one bit each.
type axisSet uint64

func (s axisSet) has(i int) bool { return s>>uint(i)&1 != 0 }

// add reports whether i is new in the set.
func (s *axisSet) add(i int) bool {
	fresh := !s.has(i)
	*s |= 1 << uint(i)
	return fresh
}
