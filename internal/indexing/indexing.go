// Package indexing says what takes and puts of some indices can reach.
package indexing

import (
	"math"
	"math/bits"
	"slices"

	"github.com/restride/restride/layout"
)

// LeadNowhere reports whether one of the indices has extent 0: whatever they are, there is no
// element that they name.
func LeadNowhere(by []layout.Index) bool {
	return slices.ContainsFunc(by, func(x layout.Index) bool { return x.Extent == 0 })
}

// Reach returns the lowest and the highest position that a layout and indices
// in range lead to. ok is false where there is none, or where one is negative
// or overflows.
func Reach(l *layout.Layout, by []layout.Index) (lo, hi int64, ok bool) {
	lo, hi, ok = l.Extent()
	for i := 0; ok && i < len(by); i++ {
		x := &by[i]
		if x.Extent <= 0 {
			return 0, 0, false
		}
		magnitude := uint64(max(x.Stride, -x.Stride)) // of the least stride, too
		over, span := bits.Mul64(magnitude, uint64(x.Extent-1))
		switch {
		case over != 0 || span > math.MaxInt64:
			return 0, 0, false
		case x.Stride < 0:
			lo -= int64(span) // above -2^63: lo is not negative
			ok = lo >= 0
		default:
			ok = hi <= math.MaxInt64-int64(span)
			hi += int64(span)
		}
	}
	return lo, hi, ok
}

// WidthLimit returns the most bits, up to limit, that [layout.Widen] may give to elements of
// a width that indices select: of those, each stride is a whole number.
func WidthLimit(by []layout.Index, width, limit int) int {
	steps := int64(0) // has as many zero bits at its end as the least of them
	for i := range by {
		steps |= by[i].Stride
	}
	for ; width > 0 && 2*width <= limit && steps&1 == 0; steps >>= 1 {
		width *= 2
	}
	return width
}
