package layout

import (
	"math"
	"math/bits"
)

// Index is a step whose count is read from memory: what a take (see
// device.Queue) adds to positions that a layout gives.
type Index struct {
	// Offset is where the index is read: so many elements behind those of the
	// layout that all indices of a take share.
	Offset int64
	// Extent is how many indices there are. Those from -Extent to -1 count from
	// the end; others that are not below Extent are out of range.
	Extent int64
	// Stride is how far apart the elements are that follow one another.
	Stride int64
}

// Reach returns the lowest and the highest position that a layout and indices
// in range lead to. ok is false where there is none, or where one is negative
// or overflows.
func Reach(l *Layout, by []Index) (lo, hi int64, ok bool) {
	lo, hi, ok = l.Extent()
	for i := 0; ok && i < len(by); i++ {
		x := &by[i]
		if x.Extent <= 0 {
			return 0, 0, false
		}
		over, span := bits.Mul64(magnitude(x.Stride), uint64(x.Extent-1))
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

// WidthLimit returns the most bits, up to limit, that [Widen] may give to elements of
// a width that indices select: of those, each stride is a whole number.
func WidthLimit(by []Index, width, limit int) int {
	steps := int64(0) // has as many zero bits at its end as the least of them
	for i := range by {
		steps |= by[i].Stride
	}
	for ; width > 0 && 2*width <= limit && steps&1 == 0; steps >>= 1 {
		width *= 2
	}
	return width
}
