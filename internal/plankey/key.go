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
	dst, src, at layout.Layout
	indexed      bool // at and by are a take's
	by           []layout.Index
}

// Set makes the key that of a call. at and by are those of a take; otherwise nil.
func (k *Key) Set(dst, src, at *layout.Layout, by []layout.Index) {
	k.dst, k.src = *dst, *src
	if k.indexed = at != nil; k.indexed {
		k.at, k.by = *at, slices.Clone(by)
	}
}

// Is reports whether the key is that of a call. A take's indices may begin anywhere.
func (k *Key) Is(dst, src, at *layout.Layout, by []layout.Index) bool {
	if remainder(&k.dst) != remainder(dst) || remainder(&k.src) != remainder(src) || !k.dst.SameAxes(dst) || !k.src.SameAxes(src) {
		return false
	}
	if at == nil || !k.indexed {
		return at == nil && !k.indexed
	}
	return k.at.SameAxes(at) && slices.Equal(k.by, by)
}

func remainder(l *layout.Layout) uint64 { return uint64(l.Offset()) % Period }

// Hash returns a number that all calls of a key have in common, and mostly others
// have not. Its high bits are the best.
func Hash(dst, src, at *layout.Layout, by []layout.Index) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := remainder(dst)<<7 | remainder(src)
	for i := range min(dst.Rank(), src.Rank()) {
		h = (h ^ uint64(dst.Dim(i)) ^ uint64(dst.Stride(i))<<20 ^ uint64(src.Stride(i))<<40) * odd
	}
	if at != nil {
		for i := range at.Rank() {
			h = (h ^ uint64(at.Stride(i))) * odd
		}
		for _, x := range by {
			h = (h ^ uint64(x.Offset) ^ uint64(x.Extent)<<20 ^ uint64(x.Stride)<<40) * odd
		}
	}
	return h
}
