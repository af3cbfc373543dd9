package layout

// Simplify rewrites a copy from src to dst, two layouts of one shape, as the
// same copy over the fewest axes: axes of extent 1 are dropped, the others are
// ordered by dst's strides with the smallest last and walked so that dst's
// strides are not negative, and neighbours are merged where that holds on both
// sides. The pair visits exactly the same pairs of positions, in another order.
// A copy of no elements becomes a pair of shape [0].
func Simplify(dst, src Layout) (d, s Layout) {
	if dst.count() == 0 {
		return blank(1, dst.offset), blank(1, src.offset)
	}
	d, s = dst.own(), src.own()
	dims, ds := d.axes()
	sdims, ss := s.axes()
	k := 0
	for i, n := range dims {
		if n == 1 {
			continue
		}
		a, b := ds[i], ss[i]
		if a < 0 {
			d.offset += (n - 1) * a
			s.offset += (n - 1) * b
			a, b = -a, -b
		}
		j := k
		for ; j > 0 && ds[j-1] < a; j-- { // insert: ranks are small
			dims[j], ds[j], ss[j] = dims[j-1], ds[j-1], ss[j-1]
		}
		dims[j], ds[j], ss[j] = n, a, b
		k++
	}
	m := 0
	for i := range k {
		if n := dims[i]; m > 0 && ds[m-1] == ds[i]*n && ss[m-1] == ss[i]*n {
			dims[m-1] *= n
			ds[m-1], ss[m-1] = ds[i], ss[i]
		} else {
			dims[m], ds[m], ss[m] = n, ds[i], ss[i]
			m++
		}
	}
	copy(sdims, dims)
	d.truncate(m)
	s.truncate(m)
	return d, s
}

// Widen rewrites a simplified pair of width-bit elements over the widest
// elements, up to limit bits, in which both sides can be expressed: an
// innermost run that is dense on both sides becomes fewer, wider elements where
// every extent, stride and offset allows. It returns the new pair and width.
// Positions of wide elements are multiples of their own width: a buffer that
// starts on a limit-bit boundary keeps every access aligned.
func Widen(dst, src Layout, width, limit int) (d, s Layout, wide int) {
	d, s = dst, src
	for width < limit && d.rank > 0 && halvable(&d) && halvable(&s) {
		d, s = d.halve(), s.halve()
		width *= 2
		if d.rank > 0 && d.Dim(d.rank-1) == 1 {
			// The run is one wide element now: its axis says nothing more. What
			// is next may be dense in wide elements, and merge further.
			d, s = Simplify(d, s)
		}
	}
	return d, s, width
}

// halvable reports whether pairs of neighbours along the last axis can be taken
// as one element of twice the width.
func halvable(l *Layout) bool {
	dims, strides := l.axes()
	last := len(dims) - 1
	if strides[last] != 1 || dims[last]%2 != 0 || l.offset%2 != 0 {
		return false
	}
	for _, s := range strides[:last] {
		if s%2 != 0 {
			return false
		}
	}
	return true
}

func (l *Layout) halve() Layout {
	out := l.own()
	dims, strides := out.axes()
	last := len(dims) - 1
	for i := range strides[:last] {
		strides[i] /= 2
	}
	dims[last] /= 2
	out.offset /= 2
	return out
}
