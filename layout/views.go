package layout

import "slices"

// Permute reorders the axes: axis i of the result is axis perm[i] of l, as in
// ONNX Transpose. Negative axes count from the end.
func (l Layout) Permute(perm ...int) (Layout, error) {
	if len(perm) != l.rank {
		return Layout{}, Errorf(ErrInvalid, "Permute", "%v by %v: the permutation must list each of the %d axes once",
			l.Shape(), slices.Clone(perm), l.rank)
	}
	out := blank(l.rank, l.offset)
	dims, strides := l.axes()
	d, s := out.axes()
	var few [64]bool
	seen := flags(&few, l.rank)
	for i, p := range perm {
		axis, err := markAxis("Permute", p, seen)
		if err != nil {
			return Layout{}, err
		}
		d[i], s[i] = dims[axis], strides[axis]
	}
	return out, nil
}

// Reverse returns the layout with its axes in reverse order, which is ONNX
// Transpose without perm.
func (l Layout) Reverse() Layout {
	out := blank(l.rank, l.offset)
	dims, strides := l.axes()
	d, s := out.axes()
	for i := range d {
		d[i], s[i] = dims[l.rank-1-i], strides[l.rank-1-i]
	}
	return out
}

// Slice keeps every step-th element of an axis from start up to, and without,
// end. It follows ONNX Slice: negative start and end count from the end of the
// axis, out-of-range ones are clamped, a negative step walks backwards. Step 0
// is an error.
func (l Layout) Slice(axis int, start, end, step int64) (Layout, error) {
	axis, err := Axis("Slice", axis, l.rank)
	if err != nil {
		return Layout{}, err
	}
	if step == 0 {
		return Layout{}, Errorf(ErrInvalid, "Slice", "axis %d of %v: the step is 0", axis, l.Shape())
	}
	first, n := clampSlice(l.Dim(axis), start, end, step)
	out := l.own()
	d, s := out.axes()
	d[axis] = n
	if out.count() == 0 {
		clear(s) // an empty layout has strides 0, and its offset stays in range
		return out, nil
	}
	out.offset += first * s[axis]
	if n > 1 {
		s[axis] *= step // n-1 such steps stay inside the axis: no overflow
	}
	return out, nil
}

// clampSlice returns the first index that a slice of an axis takes and how
// many it takes.
func clampSlice(dim, start, end, step int64) (first, n int64) {
	if start < 0 {
		start += dim
	}
	if end < 0 {
		end += dim
	}
	if step > 0 {
		start, end = min(max(start, 0), dim), min(max(end, 0), dim)
		if start >= end {
			return 0, 0
		}
		return start, int64(uint64(end-start-1)/uint64(step)) + 1
	}
	start, end = min(max(start, 0), dim-1), min(max(end, -1), dim-1)
	if start <= end {
		return 0, 0
	}
	return start, int64(uint64(start-end-1)/magnitude(step)) + 1
}

// Expand broadcasts to the given extents, aligned at the last axis: an extent
// of 1 is repeated (with stride 0), any other must already be the same. Leading
// axes may be added.
func (l Layout) Expand(shape ...int64) (Layout, error) {
	refuse := func(format string, args ...any) (Layout, error) {
		args = append([]any{l.Shape(), Shape(shape).Clone()}, args...)
		return Layout{}, Errorf(ErrInvalid, "Expand", "%v to %v: "+format, args...)
	}
	lead := len(shape) - l.rank
	if lead < 0 {
		return refuse("the rank cannot shrink")
	}
	n, ok := product(shape)
	if !ok {
		return refuse("%s", countRule(shape))
	}
	out := blank(len(shape), l.offset)
	dims, strides := l.axes()
	d, s := out.axes()
	copy(d, shape)
	for i, dim := range dims {
		switch {
		case shape[lead+i] == dim:
			s[lead+i] = strides[i]
		case dim != 1:
			return refuse("axis %d has extent %d, which is neither %d nor 1", i, dim, shape[lead+i])
		}
	}
	if n == 0 {
		clear(s)
	}
	return out, nil
}

// Squeeze removes axes of extent 1: the listed ones, or all of them if none is
// listed. It is an error to list an axis of another extent, or one twice.
func (l Layout) Squeeze(axes ...int) (Layout, error) {
	dims, strides := l.axes()
	var few [64]bool
	drop := flags(&few, l.rank)
	if len(axes) == 0 {
		for i, d := range dims {
			drop[i] = d == 1
		}
	}
	for _, a := range axes {
		axis, err := markAxis("Squeeze", a, drop)
		if err != nil {
			return Layout{}, err
		}
		if dims[axis] != 1 {
			return Layout{}, Errorf(ErrInvalid, "Squeeze", "axis %d of %v has extent %d, not 1", a, l.Shape(), dims[axis])
		}
	}
	keep := 0
	for _, gone := range drop {
		if !gone {
			keep++
		}
	}
	out := blank(keep, l.offset)
	d, s := out.axes()
	k := 0
	for i, gone := range drop {
		if !gone {
			d[k], s[k] = dims[i], strides[i]
			k++
		}
	}
	return out, nil
}

// Unsqueeze inserts axes of extent 1 so that they stand at the listed places
// of the result. It is an error to list a place twice or out of range.
func (l Layout) Unsqueeze(axes ...int) (Layout, error) {
	rank := l.rank + len(axes)
	var few [64]bool
	added := flags(&few, rank)
	for _, a := range axes {
		if _, err := markAxis("Unsqueeze", a, added); err != nil {
			return Layout{}, err
		}
	}
	out := blank(rank, l.offset)
	dims, strides := l.axes()
	d, s := out.axes()
	k := 0
	for i, one := range added {
		if one {
			d[i] = 1 // with one index only, any stride will do: 0
			continue
		}
		d[i], s[i] = dims[k], strides[k]
		k++
	}
	return out, nil
}

// flags returns a cleared flag per axis, in few if there is room.
func flags(few *[64]bool, rank int) []bool {
	if rank > len(few) {
		return make([]bool, rank)
	}
	return few[:rank]
}

// markAxis resolves an axis and marks it; one that is marked already is an
// error.
func markAxis(op string, axis int, marked []bool) (int, error) {
	axis, err := Axis(op, axis, len(marked))
	if err != nil {
		return 0, err
	}
	if marked[axis] {
		return 0, Errorf(ErrInvalid, op, "axis %d is listed twice", axis)
	}
	marked[axis] = true
	return axis, nil
}

// own returns a copy whose axes may be written.
func (l *Layout) own() Layout {
	if l.wide == nil {
		return *l
	}
	out := blank(l.rank, l.offset)
	copy(out.wide.dims, l.wide.dims)
	copy(out.wide.strides, l.wide.strides)
	return out
}
