package layout

import "math"

// IsContiguous reports whether the elements lie in row-major order without gaps, from any offset.
// Axes of extent 1 do not matter; empty layouts are contiguous.
func (l *Layout) IsContiguous() bool {
	_, dense := l.density()
	return dense
}

// density returns the number of elements and whether they are contiguous.
func (l *Layout) density() (count int64, dense bool) {
	axes := l.axes()
	count, dense = 1, true
	for i := len(axes) - 1; i >= 0; i-- {
		a := &axes[i]
		if a.stride != count && a.dim != 1 {
			dense = false
		}
		count *= a.dim
	}
	return count, dense || count == 0
}

// Extent returns the lowest and the highest position; ok is false if the layout is empty.
func (l *Layout) Extent() (lo, hi int64, ok bool) {
	lo, hi = l.offset, l.offset
	for _, a := range l.axes() {
		if a.dim == 0 {
			return 0, 0, false
		}
		if span := (a.dim - 1) * a.stride; span < 0 {
			lo += span
		} else {
			hi += span
		}
	}
	return lo, hi, true
}

// Fits reports whether every position lies in [0, n).
func (l *Layout) Fits(n int64) bool {
	lo, hi, ok := l.Extent()
	return !ok || lo >= 0 && hi < n
}

// Rebase returns the layout shifted to start at another offset. No position may become negative
// or overflow an int64.
func (l Layout) Rebase(offset int64) (Layout, error) {
	err := l.rebase(offset)
	return l, err
}

func (l *Layout) rebase(offset int64) error {
	lo, hi, ok := l.Extent()
	if offset < 0 || ok && (offset < l.offset-lo || offset > math.MaxInt64-(hi-l.offset)) {
		return l.fail("Rebase", "%v to offset %d: a position would be negative or overflow int64", *l, offset)
	}
	l.offset = offset
	return nil
}

// IsBroadcast reports whether an axis of stride 0 repeats an element.
func (l *Layout) IsBroadcast() bool {
	for _, a := range l.axes() {
		if a.dim > 1 && a.stride == 0 {
			return l.Count() > 0
		}
	}
	return false
}

// Coalesce returns the layout with the fewest axes that visits the same positions in the same
// order: it drops axes of extent 1, and merges neighbours where the outer axis continues the
// inner one.
func (l Layout) Coalesce() Layout {
	l.coalesce()
	return l
}

func (l *Layout) coalesce() {
	if l.Count() == 0 {
		offset := l.offset
		*l = Layout{}
		l.reset(1, offset)
		return
	}
	axes := l.own()
	k := len(axes)
	for i := k - 1; i >= 0; {
		var a axis
		if a, i = run(axes, i); a.dim != 1 {
			k--
			axes[k] = a
		}
	}
	l.truncate(copy(axes, axes[k:]))
}

// run returns the longest run of axes, from axis i outwards, that acts as one axis with one step,
// and the index of the next axis.
func run(axes []axis, i int) (axis, int) {
	a := axes[i]
	for i--; i >= 0; i-- {
		// a.stride*a.dim may wrap, harmlessly: the wrapped value could equal the outer stride
		// only if the two axes spanned more than an int64.
		switch outer := axes[i]; {
		case outer.dim == 1:
		case a.dim == 1:
			a = outer
		case outer.stride == a.stride*a.dim:
			a.dim *= outer.dim
		default:
			return a, i
		}
	}
	return a, i
}

// truncate keeps the first k axes of a layout that owns its axes.
func (l *Layout) truncate(k int) {
	switch {
	case l.many == nil:
		clear(l.few[k:l.rank]) // == compares unused axes too
	case k > inline:
		*l.many = (*l.many)[:k]
	default:
		copy(l.few[:], (*l.many)[:k])
		l.many = nil
	}
	l.rank = k
}
