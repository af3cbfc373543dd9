package layout

// What is called for each copy takes a pointer: a method of a value copies the
// whole layout, 152 bytes, for the sake of one number.

// Frame returns the rank and the offset.
func (l *Layout) Frame() (rank int, offset int64) { return l.rank, l.offset }

// Axis returns an axis in [0, Rank): its extent, and the distance between
// neighbours along it.
func (l *Layout) Axis(i int) (dim, stride int64) {
	a := &l.axes()[i]
	return a.dim, a.stride
}

// Ends is Extent.
func (l *Layout) Ends() (lo, hi int64, ok bool) { return l.extent() }

// Dense is Count and IsContiguous.
func (l *Layout) Dense() (count int64, contiguous bool) { return l.density() }

// Matches is SameShape.
func (l *Layout) Matches(m *Layout) bool { return l.sameShape(m) }

// Distinct is the opposite of SelfOverlaps.
func (l *Layout) Distinct() bool {
	count, dense := l.density()
	return count <= 1 || dense || l.nested() || !l.selfOverlaps()
}

// Reduce is Simplify, then Widen: it sets d and s, and returns the width.
func Reduce(d, s, dst, src *Layout, width, limit int) int {
	*d, *s = Layout{}, Layout{}
	simplify(d, s, dst, src)
	return widen(d, s, width, limit)
}
