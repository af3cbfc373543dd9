// Package plankey says when two calls on layouts can share a plan.
package plankey

import (
	"slices"

	"github.com/restride/restride/layout"
)

// Period is the distance, in elements, by which offsets may differ within a [Key], or
// a multiple of it: layouts of one key lie alike for words of up to 128 bits, whatever
// their elements.
const Period = 128

// Key is what the layouts of a call contribute to its plan: extents and strides, and
// of offsets the remainder modulo [Period].
type Key struct {
	sides [mostSides]layout.Layout
	n     int            // sides that the call has
	by    []layout.Index // a take's
}

const mostSides = 5

// Set makes the key that of a call, whose sides begin with dst and src. by is what a take
// has; otherwise nil.
func (k *Key) Set(by []layout.Index, sides ...*layout.Layout) {
	k.n, k.by = len(sides), slices.Clone(by)
	for i, l := range sides {
		k.sides[i] = *l
	}
}

// Is reports whether the key is that of a call. Of sides behind src, such as a take's
// indices, the offset does not count.
func (k *Key) Is(by []layout.Index, sides ...*layout.Layout) bool {
	if k.n != len(sides) {
		return false
	}
	for i, l := range sides {
		if i < 2 && remainder(&k.sides[i]) != remainder(l) || !k.sides[i].SameAxes(l) {
			return false
		}
	}
	return slices.Equal(k.by, by)
}

func remainder(l *layout.Layout) uint64 { return uint64(l.Offset()) % Period }

// Hash returns a number that all calls of a key have in common, and mostly others
// have not. Its high bits are the best.
func Hash(by []layout.Index, sides ...*layout.Layout) uint64 {
	const odd = 0x9e3779b97f4a7c15
	dst, src := sides[0], sides[1]
	h := remainder(dst)<<7 | remainder(src)
	for i := range min(dst.Rank(), src.Rank()) {
		h = (h ^ uint64(dst.Dim(i)) ^ uint64(dst.Stride(i))<<20 ^ uint64(src.Stride(i))<<40) * odd
	}
	for _, l := range sides[2:] {
		for i := range l.Rank() {
			h = (h ^ uint64(l.Stride(i))) * odd
		}
	}
	for _, x := range by {
		h = (h ^ uint64(x.Offset) ^ uint64(x.Extent)<<20 ^ uint64(x.Stride)<<40) * odd
	}
	return h
}
