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
func Reach(l Layout, by []Index) (lo, hi int64, ok bool) {
	lo, hi, ok = l.extent()
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

// SimplifyIndexed is Simplify for a take: it also walks the layout of its
// indices.
func SimplifyIndexed(dst, src, at Layout) (d, s, a Layout) {
	sides := [3]*Layout{&dst, &src, &at}
	if dst.count() == 0 {
		d.reset(1, dst.offset)
		s.reset(1, src.offset)
		a.reset(1, at.offset)
		return d, s, a
	}
	type loop struct {
		n    int64
		step [3]int64
	}
	var buf [inline]loop
	loops := buf[:0]
	for i := range dst.rank {
		x := loop{n: dst.Dim(i)}
		if x.n == 1 {
			continue
		}
		for k, l := range sides {
			x.step[k] = l.Stride(i)
		}
		if x.step[0] < 0 {
			for k, l := range sides {
				l.offset += (x.n - 1) * x.step[k]
				x.step[k] = -x.step[k]
			}
		}
		loops = append(loops, x)
		for j := len(loops) - 1; j > 0 && loops[j-1].step[0] < loops[j].step[0]; j-- { // insert: ranks are small
			loops[j-1], loops[j] = loops[j], loops[j-1]
		}
	}
	m := 0
next:
	for _, x := range loops {
		if m > 0 {
			outer := &loops[m-1]
			merges := true
			for k := range sides {
				merges = merges && outer.step[k] == x.step[k]*x.n
			}
			if merges {
				*outer = loop{outer.n * x.n, x.step}
				continue next
			}
		}
		loops[m] = x
		m++
	}
	out := [3]*Layout{&d, &s, &a}
	for k, l := range out {
		axes := l.reset(m, sides[k].offset)
		for i, x := range loops[:m] {
			axes[i] = axis{x.n, x.step[k]}
		}
	}
	return d, s, a
}

// WidenIndexed is Widen for what SimplifyIndexed returned: elements that are
// neighbours on both sides and have their indices in common become wider ones.
// The strides of the indices must then be divided by as much as the width has
// grown.
func WidenIndexed(dst, src, at Layout, by []Index, width, limit int) (d, s, a Layout, wide int) {
	steps := int64(0) // has as many zero bits at its end as the least of them
	for i := range by {
		steps |= by[i].Stride
	}
	for width > 0 && 2*width <= limit && steps&1 == 0 && halvable(&dst) && halvable(&src) && at.Stride(at.rank-1) == 0 {
		dst.halve()
		src.halve()
		last := at.own()
		last[len(last)-1].dim /= 2
		width *= 2
		steps >>= 1
		if dst.Dim(dst.rank-1) == 1 {
			dst, src, at = SimplifyIndexed(dst, src, at)
		}
	}
	return dst, src, at, width
}
