package layout

// IsContiguous reports whether the elements lie in row-major order without
// gaps, from whatever offset. Axes of extent 1 have no say; empty layouts are
// contiguous.
func (l Layout) IsContiguous() bool {
	dims, strides := l.axes()
	step := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] == 0 {
			return true
		}
	}
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] != 1 && strides[i] != step {
			return false
		}
		step *= dims[i]
	}
	return true
}

// Extent returns the lowest and the highest position of any element; ok is
// false for an empty layout, which has none.
func (l Layout) Extent() (lo, hi int64, ok bool) {
	dims, strides := l.axes()
	lo, hi = l.offset, l.offset
	for i, d := range dims {
		if d == 0 {
			return 0, 0, false
		}
		if span := (d - 1) * strides[i]; span < 0 {
			lo += span
		} else {
			hi += span
		}
	}
	return lo, hi, true
}

// Fits reports whether every position lies in [0, n).
func (l Layout) Fits(n int64) bool {
	lo, hi, ok := l.Extent()
	return !ok || lo >= 0 && hi < n
}

// Rebase returns the layout shifted to start at another offset; that must not
// take a position below 0 or beyond an int64.
func (l Layout) Rebase(offset int64) (Layout, error) {
	return Strided(l.Shape(), l.Strides(), offset)
}

// IsBroadcast reports whether some element is repeated along an axis of
// stride 0.
func (l Layout) IsBroadcast() bool {
	dims, strides := l.axes()
	for i, d := range dims {
		if d > 1 && strides[i] == 0 {
			return l.count() > 0
		}
	}
	return false
}

// Coalesce returns the layout with the fewest axes that visits the same
// positions in the same order: axes of extent 1 are dropped and neighbours
// merged where the outer one continues the inner one.
func (l Layout) Coalesce() Layout {
	if l.count() == 0 {
		return blank(1, l.offset)
	}
	out := l.own()
	dims, strides := out.axes()
	k := 0
	for i, dim := range dims {
		switch {
		case dim == 1:
		case k > 0 && strides[k-1] == strides[i]*dim:
			dims[k-1] *= dim
			strides[k-1] = strides[i]
		default:
			dims[k], strides[k] = dim, strides[i]
			k++
		}
	}
	out.truncate(k)
	return out
}

// truncate keeps the first k axes of a layout whose axes nobody else holds, and
// moves them inline where they fit.
func (l *Layout) truncate(k int) {
	if l.wide != nil {
		w := l.wide
		if k > inline {
			w.dims, w.strides = w.dims[:k], w.strides[:k]
		} else {
			l.wide = nil
			copy(l.dims[:], w.dims[:k])
			copy(l.strides[:], w.strides[:k])
		}
	}
	l.rank = k
}
