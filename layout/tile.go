package layout

// Tile repeats the layout repeats[i] times along each axis i, as ONNX Tile and numpy's tile do.
// The repeats are separate axes of stride 0: the caller reshapes the result to the extents that
// are appended to dims. op names the operation in errors.
//
//	[2,3]:{3,1} by 2,1   [2,2,3]:{0,3,1}, to be [4,3]
func (l Layout) Tile(op string, repeats, dims []int64) (Layout, []int64, error) {
	refuse := func(format string, args ...any) (Layout, []int64, error) {
		return Layout{}, nil, Errorf(ErrInvalid, op, "repeats %v: "+format, append([]any{Shape(repeats).Clone()}, args...)...)
	}
	if len(repeats) != l.rank {
		return refuse("%d numbers for %d axes", len(repeats), l.rank)
	}
	var fewAxes [inline]int
	var fewWide [2 * inline]int64
	axes, wide, first := fewAxes[:0], fewWide[:0], len(dims)
	for i, n := range repeats {
		extent := l.Dim(i)
		if n < 0 {
			return refuse("that of axis %d is negative", i)
		}
		if n > 0 && extent > (1<<63-1)/n {
			return refuse("extent %d of axis %d, %d times, overflows int64", extent, i, n)
		}
		if n != 1 {
			axes = append(axes, len(wide))
			wide = append(wide, n)
		}
		wide = append(wide, extent)
		dims = append(dims, n*extent)
	}
	if _, err := Shape(dims[first:]).Count(); err != nil {
		return Layout{}, nil, err
	}
	out, err := l.Unsqueeze(axes...)
	if err == nil {
		out, err = out.Expand(wide...)
	}
	return out, dims, err
}

// Repeat repeats each element along an axis n times in a row, as numpy's repeat does. As with
// Tile, the caller reshapes the result to the extents that are returned with it.
//
//	[2,3]:{3,1} along axis 1, twice   [2,3,2]:{3,1,0}, to be [2,6]
func (l Layout) Repeat(op string, axis int, n int64) (Layout, []int64, error) {
	at, err := Axis(op, axis, l.rank)
	if err != nil {
		return Layout{}, nil, err
	}
	dims := l.AppendDims(make([]int64, 0, l.rank+1))
	if n < 0 || n > 0 && dims[at] > (1<<63-1)/n {
		return Layout{}, nil, Errorf(ErrInvalid, op, "extent %d of axis %d, %d times: that is negative or overflows int64", dims[at], at, n)
	}
	wide := append(append(append([]int64{}, dims[:at+1]...), n), dims[at+1:]...)
	out, err := l.Unsqueeze(at + 1)
	if err == nil {
		out, err = out.Expand(wide...)
	}
	dims[at] *= n
	return out, dims, err
}
