package simd

const (
	vectors     = 4  // that the far side of a group may span
	vectorBytes = 64 // of the widest level

	// aheadBytes is what Ahead is at first, or less than 0: the processor fetches
	// ahead by itself, but not far enough.
	aheadBytes = 2 << 10
)

// Shuffle is how to move elements between a side where they are neighbours, the
// near one, and a side where they are a step apart, the far one: some at a time, a
// group, which is one vector on the near side and a few on the far side.
//
// The kernels read all fields but Least by their places.
type Shuffle struct {
	group     int64 // elements
	near, far int64 // bytes from a group to the next
	base      int64 // bytes from a group's first element to its lowest byte
	span      int64 // bytes of the far side that it lies in
	size      int64 // bytes of an element
	step      int64 // between elements on the far side
	count     int64 // vectors in the span

	// Ahead is how many bytes from a group a pick fetches lines for later ones:
	// for long rows, or rows that follow one another. 0: not at all.
	Ahead int64

	masks    [vectors]uint64
	shuffles [vectors][vectorBytes]byte

	// Least is the number of elements that a row must have.
	Least int64
}

// fit sets the extents of groups for a vector of some bytes. False: groups would
// be too small to pay.
func (p *Shuffle) fit(vector, size, step int64) bool {
	by := max(step, -step)
	if by == 0 || step == size || 4*size > vector {
		return false
	}
	group := min(vector/size, (vectors*vector-size)/by+1)
	if group < 4 {
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

// places calls do with every byte of the near side's vector, and where that is on
// the far side.
func (p *Shuffle) places(do func(near, far int64)) {
	at := -p.base
	for b := int64(0); b < p.near; b += p.size {
		for i := range p.size {
			do(b+i, at+i)
		}
		at += p.step
	}
}

// pick16 prepares a pick with vectors of 16 bytes: each of the far side, of which
// the last ends where the span does, is shuffled so that it gives its bytes of the
// result and zeros.
func (p *Shuffle) pick16(size, step int64) bool {
	const vector, zero = 16, 0x80
	if !p.fit(vector, size, step) || p.near != vector || p.span < vector {
		return false
	}
	p.Least = p.group
	for i := range p.count {
		for b := range vector {
			p.shuffles[i][b] = zero
		}
	}
	p.places(func(near, far int64) {
		i := min(far/vector, p.count-1)
		p.shuffles[i][near] = byte(far - min(i*vector, p.span-vector))
	})
	return true
}

// pick512 prepares a pick: every vector of the far side is permuted in the same way,
// and a mask says which bytes of the result it gives.
func (p *Shuffle) pick512(size, step int64) bool {
	if !p.fit(vectorBytes, size, step) {
		return false
	}
	p.places(func(near, far int64) {
		p.shuffles[0][near] = byte(far % vectorBytes)
		p.masks[far/vectorBytes] |= 1 << near
	})
	return true
}

// spread512 prepares a spread: the vector of the near side is permuted in a way for
// each of the far side, and a mask says which bytes of that are written.
func (p *Shuffle) spread512(size, step int64) bool {
	if step < size || !p.fit(vectorBytes, size, step) {
		return false
	}
	p.places(func(near, far int64) {
		p.shuffles[far/vectorBytes][far%vectorBytes] = byte(near)
		p.masks[far/vectorBytes] |= 1 << (far % vectorBytes)
	})
	return true
}
