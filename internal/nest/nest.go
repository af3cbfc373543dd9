// Package nest is the analysis of a copy that planners of every device begin with: its axes, and
// how the elements lie along them.
package nest

import "github.com/restride/restride/layout"

// Axis is a loop over both sides of a copy: its extent, and the step that the destination and the
// source make. Axes come in the order of the destination's steps, outermost first.
type Axis struct{ N, D, S int64 }

// Blocks is the axis of blocks of n indices each.
func (a Axis) Blocks(n int64) Axis { return Axis{(a.N + n - 1) / n, n * a.D, n * a.S} }

// Append appends the axes of two layouts of one shape that layout.Simplify has rewritten.
func Append(axes []Axis, dst, src *layout.Layout) []Axis {
	for i := range dst.Rank() {
		axes = append(axes, Axis{dst.Dim(i), dst.Stride(i), src.Stride(i)})
	}
	return axes
}

// Magnitude is a step without its sign.
func Magnitude(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// Near says along which axes elements are near each other. -1: none.
type Near struct {
	Dense   bool // the destination's elements are neighbours along the innermost axis
	Nearest int  // where the source's elements are nearest to each other; repeated ones do not count
	Outer   int  // the same without the innermost axis; repeated ones are nearest
	Unit    int  // where they are neighbours, without the innermost axis
}

// NearOf analyses axes, of which there is at least one. Neighbours are dst and src apart.
func NearOf(axes []Axis, dst, src int64) Near {
	last := len(axes) - 1
	near := Near{Dense: axes[last].D == dst || axes[last].N == 1, Nearest: last, Outer: -1, Unit: -1}
	for i := last - 1; i >= 0; i-- {
		s := Magnitude(axes[i].S)
		if near.Unit < 0 && s == src {
			near.Unit = i
		}
		if near.Outer < 0 || s < Magnitude(axes[near.Outer].S) {
			near.Outer = i
		}
		if nearest := Magnitude(axes[near.Nearest].S); s != 0 && (nearest == 0 || s < nearest) {
			near.Nearest = i
		}
	}
	return near
}
