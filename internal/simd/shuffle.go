package simd

import "iter"

const (
	vectors = 4 // the most vectors that the far side of a group may span

	// aheadBytes is Ahead at first, negative for negative steps: the hardware prefetcher's
	// distance is too short.
	aheadBytes = 2 << 10
)

// Shuffle describes a move of elements between a contiguous side, the near one, and a side
// where they are a step apart, the far one: a group at a time, which is one vector on the near
// side and a few on the far side.
//
// Kernels of amd64 read all fields but Least by their offsets.
type Shuffle struct {
	group     int64 // elements
	near, far int64 // bytes from a group to the next
	base      int64 // bytes from a group's first element to its lowest byte
	span      int64 // bytes of the far side that a group spans
	size      int64 // bytes of an element
	step      int64 // between elements on the far side
	count     int64 // vectors in the span

	// Ahead is the prefetch distance, in bytes, on the far side: for long rows, or contiguous
	// ones. 0: none. It pays for writes, too: lines that are written in part must be read
	// first, and stores are in order.
	Ahead int64

	lookUps

	// Least is the number of elements that a row must have.
	Least int64
	// Lines says that PickLines accepts it.
	Lines bool
}

// fit sets the extents of groups for a vector of some bytes. It returns false if groups have
// too few elements to pay.
func (p *Shuffle) fit(vector, size, step, least int64) bool {
	by := max(step, -step)
	if by == 0 || step == size || least*size > vector {
		return false
	}
	group := min(vector/size, (vectors*vector-size)/by+1)
	if group < least {
		return false
	}
	*p = Shuffle{group: group, near: group * size, far: group * step, size: size, step: step, Ahead: aheadBytes, Least: 1}
	p.span = (group-1)*by + size
	if step < 0 {
		p.base = (group - 1) * step
		p.Ahead = -aheadBytes
	}
	p.count = (p.span + vector - 1) / vector
	return true
}

// offsets are the bytes of the near side's vector, and the offset of each on the far side.
func (p *Shuffle) offsets() iter.Seq2[int64, int64] {
	return func(yield func(near, far int64) bool) {
		at := -p.base
		for b := int64(0); b < p.near; b += p.size {
			for i := range p.size {
				if !yield(b+i, at+i) {
					return
				}
			}
			at += p.step
		}
	}
}
