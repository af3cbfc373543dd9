package layout

import "math"

// Bitcast returns the layout of the same bits as elements of another width. Widths are in bits,
// and one must divide the other. The rule is TensorFlow's bitcast: narrower elements get a new
// last axis over the parts of each element, low bits first; wider elements merge such an axis.
//
//	[4,3]:{3,1}+2   of 32 bits   as 4 bits    [4,3,8]:{24,8,1}+16
//	[4,8]:{16,1}+8  of 4 bits    as 32 bits   [4]:{2}+1
//
// A last axis of another extent is ErrInvalid. ErrUnsupported: the parts of a wider element are
// not adjacent, or do not begin on a multiple of its width; in a contiguous copy they do.
func (l Layout) Bitcast(from, to int) (out Layout, err error) {
	switch {
	case from <= 0 || to <= 0 || from%to != 0 && to%from != 0:
		return out, Errorf(ErrInvalid, "Bitcast", "%v: elements of %d and of %d bits; one must be a multiple of the other", l.Shape(), from, to)
	case from == to:
		return l, nil
	case from > to:
		err = out.narrow(&l, int64(from/to))
	default:
		err = out.widen(&l, int64(to/from))
	}
	return out, err
}

// narrow sets l to the layout of from with each element split into n.
func (l *Layout) narrow(from *Layout, n int64) error {
	shape := append(from.AppendDims(make(Shape, 0, from.rank+1)), n)
	count, ok := product(shape)
	if !ok {
		return l.fail("Bitcast", "%v: %s", shape, countRule(shape))
	}
	_, last, some := from.Extent()
	if !some {
		last = from.offset
	}
	if last > (math.MaxInt64-(n-1))/n {
		return l.fail("Bitcast", "%v with %d parts of each element: a position overflows int64", *from, n)
	}
	out := l.reset(len(shape), from.offset*n)
	for i, a := range from.axes() {
		out[i] = axis{a.dim, a.stride * n} // wraps only if the extent is 1, where any stride is right
	}
	out[from.rank] = axis{n, min(count, 1)}
	return nil
}

// widen sets l to the layout of from with the n parts of each element, along the last axis,
// merged.
func (l *Layout) widen(from *Layout, n int64) error {
	axes := from.axes()
	last := len(axes) - 1
	if last < 0 || axes[last].dim != n {
		return l.fail("Bitcast", "%v: the last axis must have extent %d, the parts of a wider element", from.Shape(), n)
	}
	if from.Count() > 0 {
		fits := axes[last].stride == 1 && from.offset%n == 0
		for _, a := range axes[:last] {
			fits = fits && (a.dim == 1 || a.stride%n == 0)
		}
		if !fits {
			return Errorf(ErrUnsupported, "Bitcast", "%v: wider elements need a last axis of stride 1, and other strides and an offset that are multiples of %d; a contiguous copy has them", *from, n)
		}
	}
	out := l.reset(last, from.offset/n)
	for i, a := range axes[:last] {
		out[i] = axis{a.dim, a.stride / n}
	}
	return nil
}
