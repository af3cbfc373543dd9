package simd

import "iter"

const (
	vectors = 4 // that the far side of a group may span

	// aheadBytes is Ahead at first, negative for negative steps: the processor fetches
	// ahead by itself, but not far enough.
	aheadBytes = 2 << 10
)

// Shuffle says how to move elements between a side where they are neighbours, the near
// one, and a side where they are a step apart, the far one: a group at a time, which is
// one vector on the near side and a few on the far side.
//
// Kernels of amd64 read all fields but Least by their offsets.
type Shuffle struct {
	group     int64 // elements
	near, far int64 // bytes from a group to the next
	base      int64 // bytes from a group's first element to its lowest byte
	span      int64 // bytes of the far side that it lies in
	size      int64 // bytes of an element
	step      int64 // between elements on the far side
	count     int64 // vectors in the span

	// Ahead is the distance, in bytes, at which lines of the far side are fetched for
	// later groups: for long rows, or rows that follow one another. 0: not at all. Lines
	// that are written in part must be read first, and stores wait for one another.
	Ahead int64

	lookUps

	// Least is the number of elements that a row must have.
	Least int64
	// Lines says that PickLines takes it.
	Lines bool
}

// fit sets the extents of groups for a vector of some bytes. False: groups have fewer
// elements than pay.
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
