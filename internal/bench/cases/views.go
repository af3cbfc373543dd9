package cases

import (
	"math"

	"github.com/restride/restride/layout"
)

func permute(perm ...int) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Permute(perm...) }
}

func cut(axis int, start, end, step int64) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Slice(axis, start, end, step) }
}

// every takes every step-th element of an axis.
func every(axis int, step int64) view { return cut(axis, 0, math.MaxInt64, step) }

// middle is the middle half of an axis.
func middle(axis int) view {
	return func(l layout.Layout) (layout.Layout, error) {
		n := l.Dim(axis)
		return l.Slice(axis, n/4, n/4+max(n/2, 1), 1)
	}
}

// flip reverses an axis.
func flip(axis int) view { return cut(axis, -1, math.MinInt64, -1) }

// chain applies views one after the other.
func chain(views ...view) view {
	return func(l layout.Layout) (layout.Layout, error) {
		var err error
		for _, v := range views {
			if l, err = v(l); err != nil {
				break
			}
		}
		return l, err
	}
}

// from moves the offset.
func from(offset int64) view {
	return func(l layout.Layout) (layout.Layout, error) { return l.Rebase(offset) }
}

// repeat broadcasts a tensor of the same shape with extents of 1 at axes.
func repeat(axes ...int) view {
	return func(l layout.Layout) (layout.Layout, error) {
		dims := l.Shape()
		one := dims.Clone()
		for _, axis := range axes {
			one[axis] = 1
		}
		l, err := layout.Contiguous(one...)
		if err != nil {
			return l, err
		}
		return l.Expand(dims...)
	}
}

// window is a part of a tensor that is times as long along an axis: every step-th
// element, from a quarter on if step is below times.
func window(axis int, times, step int64) view {
	return func(l layout.Layout) (layout.Layout, error) {
		dims := l.Shape()
		n := dims[axis]
		dims[axis] *= times
		l, err := layout.Contiguous(dims...)
		if err != nil {
			return l, err
		}
		start := int64(0)
		if step < times {
			start = n * times / 4
		}
		return l.Slice(axis, start, start+n*step, step)
	}
}

// inside is the part within a border of a tensor that is larger by it at both ends of axes.
func inside(border int64, axes ...int) view {
	return func(l layout.Layout) (layout.Layout, error) {
		dims := l.Shape()
		for _, axis := range axes {
			dims[axis] += 2 * border
		}
		l, err := layout.Contiguous(dims...)
		for _, axis := range axes {
			if err == nil {
				l, err = l.Slice(axis, border, dims[axis]-border, 1)
			}
		}
		return l, err
	}
}
