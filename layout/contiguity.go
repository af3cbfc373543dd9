package layout

import "math"

// IsContiguous reports whether the elements lie in row-major order without
// gaps, from whatever offset. Axes of extent 1 have no say; empty layouts are
// contiguous.
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

// Extent returns the lowest and the highest position of any element; ok is
// false for an empty layout, which has none.
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

// Rebase returns the layout shifted to start at another offset; that must not
// take a position below 0 or beyond an int64.
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

// IsBroadcast reports whether some element is repeated along an axis of
// stride 0.
func (l *Layout) IsBroadcast() bool {
	for _, a := range l.axes() {
		if a.dim > 1 && a.stride == 0 {
			return l.Count() > 0
		}
	}
	return false
}

// Coalesce returns the layout with the fewest axes that visits the same
// positions in the same order: axes of extent 1 are dropped and neighbours
// merged where the outer one continues the inner one.
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

// run returns the longest run of axes, from axis i outwards, that walks in one
// step, as one axis, and the axis that comes next.
func run(axes []axis, i int) (axis, int) {
	a := axes[i]
	for i--; i >= 0; i-- {
		// That a.stride*a.dim may wrap does no harm: its remainder could equal
		// the outer stride only if the two axes spanned more than an int64.
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
		clear(l.few[k:l.rank]) // so that == sees nothing of them
	case k > inline:
		*l.many = (*l.many)[:k]
	default:
		copy(l.few[:], (*l.many)[:k])
		l.many = nil
	}
	l.rank = k
}
