package layout

// Simplify rewrites a copy from src to dst, two layouts of one shape, as the
// same copy over the fewest axes: axes of extent 1 are dropped, the others are
// ordered by dst's strides with the smallest last and walked so that dst's
// strides are not negative, and neighbours are merged where that holds on both
// sides. The pair visits exactly the same pairs of positions, in another order.
// A copy of no elements becomes a pair of shape [0].
func Simplify(dst, src Layout) (d, s Layout) {
	simplify(&d, &s, &dst, &src)
	return d, s
}

// simplify sets d and s, which must be zero Layouts.
func simplify(d, s, dst, src *Layout) {
	if dst.count() == 0 {
		d.reset(1, dst.offset)
		s.reset(1, src.offset)
		return
	}
	dOff, sOff := dst.offset, src.offset
	var dBuf, sBuf [inline]axis
	da, sa := dBuf[:0], sBuf[:0]
	from := src.axes()
	for i, a := range dst.axes() {
		if a.dim == 1 {
			continue
		}
		b := from[i]
		if a.stride < 0 {
			dOff += (a.dim - 1) * a.stride
			sOff += (b.dim - 1) * b.stride
			a.stride, b.stride = -a.stride, -b.stride
		}
		da, sa = append(da, a), append(sa, b)
		for j := len(da) - 1; j > 0 && da[j-1].stride < da[j].stride; j-- { // insert: ranks are small
			da[j-1], da[j], sa[j-1], sa[j] = da[j], da[j-1], sa[j], sa[j-1]
		}
	}
	m := 0
	for i, a := range da {
		b := sa[i]
		if m > 0 && da[m-1].stride == a.stride*a.dim && sa[m-1].stride == b.stride*b.dim {
			n := da[m-1].dim * a.dim
			da[m-1], sa[m-1] = axis{n, a.stride}, axis{n, b.stride}
		} else {
			da[m], sa[m] = a, b
			m++
		}
	}
	copy(d.reset(m, dOff), da)
	copy(s.reset(m, sOff), sa)
}

// Widen rewrites a simplified pair of width-bit elements over the widest
// elements, up to limit bits, in which both sides can be expressed: an
// innermost run that is dense on both sides becomes fewer, wider elements where
// every extent, stride and offset allows. It returns the new pair and width.
// Positions of wide elements are multiples of their own width: a buffer that
// starts on a limit-bit boundary keeps every access aligned. A width of 0, which
// strings have, is never widened.
func Widen(dst, src Layout, width, limit int) (d, s Layout, wide int) {
	wide = widen(&dst, &src, width, limit)
	return dst, src, wide
}

func widen(dst, src *Layout, width, limit int) int {
	for width > 0 && 2*width <= limit && halvable(dst) && halvable(src) {
		dst.halve()
		src.halve()
		width *= 2
		if dst.axes()[dst.rank-1].dim == 1 {
			// The run is one wide element now: its axis says nothing more. What
			// is next may be dense in wide elements.
			d, s := *dst, *src
			*dst, *src = Layout{}, Layout{}
			simplify(dst, src, &d, &s)
		}
	}
	return width
}

// halvable reports whether pairs of neighbours along the last axis can be taken
// as one element of twice the width.
func halvable(l *Layout) bool {
	axes := l.axes()
	last := len(axes) - 1
	if last < 0 || axes[last].stride != 1 || axes[last].dim%2 != 0 || l.offset%2 != 0 {
		return false
	}
	for _, a := range axes[:last] {
		if a.stride%2 != 0 {
			return false
		}
	}
	return true
}

func (l *Layout) halve() {
	axes := l.own()
	last := len(axes) - 1
	for i := range axes[:last] {
		axes[i].stride /= 2
	}
	axes[last].dim /= 2
	l.offset /= 2
}
