package peers

import (
	"slices"

	"github.com/restride/restride/layout"
)

// Recipe makes a view of a dense tensor by operators, for libraries without strides: a
// part of the tensor (Slice), reversed where a step is negative, its axes permuted
// (Transpose), and repeated to the view's dims where they are 1 (Expand).
type Recipe struct {
	Dims []int64 `json:"dims"`
	Low  []int64 `json:"low"`
	High []int64 `json:"high"` // the part is [Low, High) of each axis
	Step []int64 `json:"step"` // negative: from the part's last element on
	Perm []int   `json:"perm"` // axis i of the view is axis Perm[i] of the part
}

// recipeOf finds the smallest tensor whose axes are the view's, ordered by stride. Only the
// narrowest axes have steps. It returns nil if no such tensor contains the elements, for
// example if a view overlaps itself.
func recipeOf(l layout.Layout) *Recipe {
	low, _, ok := l.Extent()
	if !ok {
		return nil
	}
	r := l.Rank()
	d := &Recipe{make([]int64, r), make([]int64, r), make([]int64, r), make([]int64, r), make([]int, r)}
	order := widestFirst(l)
	unit := int64(1) // the stride of the tensor's axis
	for i := r - 1; i >= 0; i-- {
		axis := order[i]
		d.Perm[axis], d.Step[i] = i, 1
		n, stride := l.Dim(axis), max(l.Stride(axis), -l.Stride(axis))
		if n == 1 || stride == 0 {
			d.Dims[i], d.High[i] = 1, 1
			continue
		}
		wider := int64(0) // the stride of the next axis that has one
		for _, a := range slices.Backward(order[:i]) {
			if s := max(l.Stride(a), -l.Stride(a)); l.Dim(a) > 1 && s > 0 {
				wider = s
				break
			}
		}
		if stride%unit != 0 || wider%unit != 0 {
			return nil
		}
		step := stride / unit
		d.High[i] = (n-1)*step + 1
		if wider > 0 {
			d.Dims[i] = wider / unit
			d.Low[i] = low / unit % d.Dims[i]
		} else {
			d.Low[i] = low / unit
			d.Dims[i] = d.Low[i] + n*step // including all of the last step
		}
		d.High[i] += d.Low[i]
		if d.High[i] > d.Dims[i] {
			return nil
		}
		if d.Step[i] = step; l.Stride(axis) < 0 {
			d.Step[i] = -step
		}
		low -= d.Low[i] * unit
		unit *= d.Dims[i]
	}
	if low != 0 { // a single element
		return nil
	}
	return d
}

// widestFirst orders the axes by stride. Axes of stride 0 stay next to their right neighbours.
func widestFirst(l layout.Layout) []int {
	order, strides := make([]int, l.Rank()), make([]int64, l.Rank())
	for i, next := l.Rank()-1, int64(0); i >= 0; i-- {
		if s := max(l.Stride(i), -l.Stride(i)); l.Dim(i) > 1 && s > 0 {
			next = s
		}
		order[i], strides[i] = i, next
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(min(max(strides[b]-strides[a], -1), 1)) })
	return order
}
