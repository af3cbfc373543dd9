package digits

import (
	"slices"

	"github.com/restride/restride/layout"
)

// Step is an axis of a copy between two orders.
type Step struct {
	Count, Dst, Src int64
	DstAt, SrcAt    int64 // contribution to the offsets
}

// Boxes returns the copies between two orders of the same axes: the common refinement of both,
// digit by digit. A copy is a list of steps; there are several where an extent is not a multiple
// of a digit. The digits have strides (Lay).
func Boxes(dst, src []Digit, ext Extents) ([][]Step, error) {
	boxes := [][]Step{nil}
	for _, axis := range Axes(ext) {
		sizes, err := refine(axis, ext[axis], dst, src)
		if err != nil {
			return nil, err
		}
		var more [][]Step
		for _, b := range split(sizes, ext[axis]) {
			steps, some := walk(axis, b, dst, src)
			if !some {
				continue
			}
			for _, have := range boxes {
				more = append(more, slices.Concat(have, steps))
			}
		}
		boxes = more
	}
	return boxes, nil
}

// part is a range of a digit's values common to both sides.
type part struct {
	div, from, count int64
	size             int64 // of the digit; 0: the rest of the axis
}

// refine returns the numbers at which digits of either side start, in ascending order from
// 1. Each must be a multiple of its predecessor.
func refine(axis byte, extent int64, sides ...[]Digit) ([]int64, error) {
	at := []int64{1}
	for _, ds := range sides {
		for _, d := range ds {
			if d.Axis == axis {
				at = append(at, d.Div)
				if d.Size > 0 {
					at = append(at, d.Div*d.Size)
				}
			}
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	for len(at) > 1 && at[len(at)-1] >= extent {
		at = at[:len(at)-1]
	}
	for i, n := range at[1:] {
		if n%at[i] != 0 {
			return nil, layout.Errorf(layout.ErrUnsupported, "", "axis %c is cut at %d and at %d, which is no multiple", axis, at[i], n)
		}
	}
	return at, nil
}

// split divides the indices below extent into boxes of digits that start at the numbers in
// at: one box, unless extent is not a multiple of one of them.
func split(at []int64, extent int64) [][]part {
	div := at[len(at)-1]
	count, rest := extent/div, extent%div
	var boxes [][]part
	if count > 0 {
		whole := []part{{div, 0, count, 0}}
		for i := len(at) - 2; i >= 0; i-- {
			n := at[i+1] / at[i]
			whole = append(whole, part{at[i], 0, n, n})
		}
		boxes = append(boxes, whole)
	}
	if rest > 0 {
		for _, b := range split(at[:len(at)-1], rest) {
			b[0].size = div / b[0].div
			boxes = append(boxes, append([]part{{div, count, 1, 0}}, b...))
		}
	}
	return boxes
}

// walk returns the steps through a box on both sides; some is false if a Digit with an only
// value has no index in the box.
func walk(axis byte, box []part, d, s []Digit) (steps []Step, some bool) {
	for _, p := range box {
		from, count := p.from, p.count
		for _, ds := range [][]Digit{d, s} {
			g := find(ds, axis, p.div)
			if g.Only < 0 {
				continue
			}
			only := g.Only / (p.div / g.Div)
			if p.size > 0 && g.Several == 0 {
				only %= p.size
			}
			end := min(from+count, only+max(1, g.Several))
			if from = max(from, only); from >= end {
				return nil, false
			}
			count = end - from
		}
		st := Step{Count: count}
		st.Dst, st.DstAt = along(find(d, axis, p.div), p.div, from)
		st.Src, st.SrcAt = along(find(s, axis, p.div), p.div, from)
		steps = append(steps, st)
	}
	return steps, true
}

// find returns the Digit of an axis that contains the part starting at div.
func find(ds []Digit, axis byte, div int64) Digit {
	for _, d := range ds {
		if d.Axis == axis && d.Div <= div && (d.Size == 0 || div < d.Div*d.Size) {
			return d
		}
	}
	return Digit{Div: 1, Only: -1} // a single value
}

// along returns the stride of the part of a Digit that starts at div, and the position of
// its value from.
func along(d Digit, div, from int64) (stride, at int64) {
	switch {
	case d.Several > 0:
		return d.Stride, d.Stride * (from - d.Only)
	case d.Only >= 0:
		return 0, 0
	}
	stride = d.Stride * (div / d.Div)
	return stride, stride * from
}
