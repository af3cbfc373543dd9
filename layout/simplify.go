package layout

// Simplify rewrites layouts of one shape, destination first, to the fewest axes that visit the
// same positions together, in another order. It drops axes of extent 1, reverses axes and sorts
// them so that the destination's strides are nonnegative with the smallest last, and merges
// neighbours where all layouts allow it. Empty layouts get the shape [0]. The sides must be
// different variables.
func Simplify(sides ...*Layout) { simplify(false, sides) }

// Merge is Simplify in the original index order: it merges axes, but neither exchanges nor
// reverses them.
func Merge(sides ...*Layout) { simplify(true, sides) }

func simplify(inOrder bool, sides []*Layout) {
	dst := sides[0]
	if dst.Count() == 0 {
		for _, l := range sides {
			offset := l.offset
			*l = Layout{}
			l.reset(1, offset)
		}
		return
	}
	var room [inline]loop
	loops := room[:0]
	for i, a := range dst.axes() {
		if a.dim == 1 {
			continue
		}
		x := loop{axis: i, dim: a.dim, step: a.stride}
		if x.step < 0 && !inOrder {
			x.step, x.back = -x.step, true
		}
		loops = append(loops, x)
		for j := len(loops) - 1; !inOrder && j > 0 && loops[j-1].step < loops[j].step; j-- { // insert: ranks are small
			loops[j-1], loops[j] = loops[j], loops[j-1]
		}
	}
	for _, l := range sides {
		axes := l.axes()
		for i := 1; i < len(loops); i++ {
			outer, inner := &loops[i-1], &loops[i]
			outer.ends = outer.ends || outer.of(axes) != inner.of(axes)*inner.dim
		}
	}
	rank := 0
	for i := range loops {
		loops[i].ends = loops[i].ends || i == len(loops)-1
		if loops[i].ends {
			rank++
		}
	}
	for _, l := range sides {
		var out Layout
		axes := out.reset(rank, l.offset)
		from, n, k := l.axes(), int64(1), 0
		for i := range loops {
			x := &loops[i]
			step := x.of(from)
			if x.back {
				out.offset -= (x.dim - 1) * step
			}
			if n *= x.dim; x.ends {
				axes[k] = axis{n, step}
				n = 1
				k++
			}
		}
		*l = out
	}
}

// loop is an axis of the walk over all sides.
type loop struct {
	axis      int
	dim, step int64 // step: the destination's
	back      bool  // walked from its far end
	ends      bool  // it does not merge with the loop inside it
}

// of returns the loop's step in a layout with the given axes.
func (x *loop) of(axes []axis) int64 {
	if x.back {
		return -axes[x.axis].stride
	}
	return axes[x.axis].stride
}

// Widen rewrites a simplified copy of width-bit elements to the widest elements, up to limit
// bits, that can express both sides: an innermost run that is dense on both sides becomes fewer,
// wider elements if every extent, stride and offset allows it. It returns the new width.
// Positions of wide elements are multiples of their own width: a buffer that starts on a
// limit-bit boundary keeps every access aligned. Strings, of width 0, are never widened.
//
// The sides are dst and src. Any further sides are for data that belongs to elements and is not
// widened, such as indices: elements that are merged must share it.
func Widen(width, limit int, sides ...*Layout) int {
	dst, src, more := sides[0], sides[1], sides[2:]
	for width > 0 && 2*width <= limit && halvable(dst) && halvable(src) && repeated(more) {
		dst.halve()
		src.halve()
		for _, l := range more {
			l.own()[l.rank-1].dim /= 2
		}
		width *= 2
		if dst.axes()[dst.rank-1].dim == 1 {
			// The run is one wide element: drop its axis. The next axis may be dense in wide
			// elements.
			Simplify(sides...)
		}
	}
	return width
}

// halvable reports whether pairs of neighbours along the last axis can be merged to one element
// of twice the width.
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

// repeated reports whether all layouts repeat an element along their last axis.
func repeated(layouts []*Layout) bool {
	for _, l := range layouts {
		if l.axes()[l.rank-1].stride != 0 {
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
