package simd

import "iter"

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
// Kernels of amd64 read all fields but Least by their places.
type Shuffle struct {
	group     int64 // elements
	near, far int64 // bytes from a group to the next
	base      int64 // bytes from a group's first element to its lowest byte
	span      int64 // bytes of the far side that it lies in
	size      int64 // bytes of an element
	step      int64 // between elements on the far side
	count     int64 // vectors in the span

	// Ahead is how many bytes from a group on the far side lines are fetched for
	// later ones: for long rows, or rows that follow one another. 0: not at all. Lines
	// that are written in part must be read first, and stores wait for one another.
	Ahead int64

	// Of picks with vectors of 16 bytes: where the last one of a group begins, and
	// how many elements must be left for whole vectors to be read and written.
	last, reserve int64

	masks    [vectors]uint64
	shuffles [vectors][vectorBytes]byte // those of 16 bytes: see pick16

	// Least is the number of elements that a row must have.
	Least int64
}

// fit sets the extents of groups for a vector of some bytes. False: they have not
// even as many elements as pay.
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

// places are the bytes of the near side's vector, and where each is on the far side.
func (p *Shuffle) places() iter.Seq2[int64, int64] {
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

// pick16 prepares a pick with vectors of 16 bytes: each of the far side, of which
// the last ends where the span does, is shuffled so that it gives its bytes of the
// result and zeros. A group is at least 8 bytes of either side, two words of which
// make what is too near the end of a row for a vector.
func (p *Shuffle) pick16(size, step int64) bool {
	const (
		vector, word, zero = 16, 8, 0x80
		tail, words        = 16, 32 // where tables for that are in shuffles[0]
	)
	by := max(step, -step)
	if by > vectors*vector || !p.fit(vector, size, step, 1) || p.near < word || p.span < word {
		return false
	}
	p.Least = p.group
	p.reserve = max(p.group, (vector+size-1)/size, (vector-size+by-1)/by+1)
	p.last = p.span - vector
	if step > 0 {
		p.last = max(p.last, 0)
	}
	for i := range p.count {
		for b := range vector {
			p.shuffles[i][b] = zero
		}
	}
	for near, far := range p.places() {
		i := min(far/vector, p.count-1)
		from := i * vector
		if i == p.count-1 {
			from = p.last
		}
		p.shuffles[i][near] = byte(far - from)
		if far >= word {
			far += vector - p.span
		}
		p.shuffles[0][words+near] = byte(far)
	}
	for b := range int64(word) {
		p.shuffles[0][tail+b] = byte(p.near - word + b)
	}
	return true
}

// pick512 prepares a pick: every vector of the far side is permuted in the same way,
// and a mask says which bytes of the result it gives.
func (p *Shuffle) pick512(size, step int64) bool {
	if !p.fit(vectorBytes, size, step, 4) {
		return false
	}
	for near, far := range p.places() {
		p.shuffles[0][near] = byte(far % vectorBytes)
		p.masks[far/vectorBytes] |= 1 << near
	}
	return true
}

// spread512 prepares a spread: the vector of the near side is permuted in a way for
// each of the far side, and a mask says which bytes of that are written.
func (p *Shuffle) spread512(size, step int64) bool {
	if step < size || !p.fit(vectorBytes, size, step, 4) {
		return false
	}
	for near, far := range p.places() {
		p.shuffles[far/vectorBytes][far%vectorBytes] = byte(near)
		p.masks[far/vectorBytes] |= 1 << (far % vectorBytes)
	}
	return true
}

// spreadWords prepares a spread by the word.
func (p *Shuffle) spreadWords(size, step int64) bool {
	if step <= size || size > 16 {
		return false
	}
	*p = Shuffle{size: size, step: step, Ahead: aheadBytes, Least: 1}
	return true
}
