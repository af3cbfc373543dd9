// Package plankey decides when two calls on layouts can share a plan.
package plankey

import (
	"slices"

	"github.com/restride/restride/layout"
)

// Period is the distance, in elements, by which offsets may differ within a [Key], or a
// multiple of it: layouts of one key have the same alignment for words of up to 128 bits, for
// any elements.
const Period = 128

// Key is the part of a call's layouts on which its plan depends: extents and strides, and
// offsets modulo [Period].
type Key struct {
	sides [mostSides]layout.Layout
	n     int            // the number of sides of the call
	by    []layout.Index // a take's
}

const mostSides = 5

// Set computes the key of a call, whose sides begin with dst and src. by is for takes;
// otherwise nil.
func (k *Key) Set(by []layout.Index, sides ...*layout.Layout) {
	k.n, k.by = len(sides), slices.Clone(by)
	for i, l := range sides {
		k.sides[i] = *l
	}
}

// Is reports whether the key belongs to a call. For sides after src, such as a take's indices,
// the offset is ignored.
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

// Hash returns a hash of the key. Its high bits are the best.
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
