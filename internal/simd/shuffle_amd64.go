package simd

// vectorBytes is the size of the widest level's vectors.
const vectorBytes = 64

// lookUps are the tables of a group.
type lookUps struct {
	// For vectors of 16 bytes: the offset of a group's last one, and the number of elements
	// that must be left to read and write whole vectors.
	last, reserve int64

	masks    [vectors]uint64
	shuffles [vectors][vectorBytes]byte // for vectors of 16 bytes: see planPickAVX2
}

// planPickAVX2 prepares a pick with vectors of 16 bytes: each vector of the far side, the last
// of which ends with the span, is shuffled to its bytes of the result, and zeros. A group is at
// least 8 bytes of either side; near the end of a row, two words replace a vector.
func (p *Shuffle) planPickAVX2(size, step int64) bool {
	const (
		vector, word, zero = 16, 8, 0x80
		tail, words        = 16, 32 // offsets of their tables in shuffles[0]
	)
	by := max(step, -step)
	if by > vectors*vector || !p.fit(vector, size, step, 1) || p.near < word || p.span < word {
		return false
	}
	p.Least = p.group
	p.reserve = max(p.group, (vector+size-1)/size, (vector-size+by-1)/by+1)
	p.Lines = p.near == vector && p.span >= vector
	p.last = p.span - vector
	if step > 0 {
		p.last = max(p.last, 0)
	}
	for i := range p.count {
		for b := range vector {
			p.shuffles[i][b] = zero
		}
	}
	for near, far := range p.offsets() {
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

// planPickAVX512 prepares a pick: every vector of the far side is permuted in the same way, and
// a mask selects the bytes of the result that it contributes.
func (p *Shuffle) planPickAVX512(size, step int64) bool {
	if !p.fit(vectorBytes, size, step, 4) {
		return false
	}
	p.Lines = p.near == vectorBytes
	for near, far := range p.offsets() {
		p.shuffles[0][near] = byte(far % vectorBytes)
		p.masks[far/vectorBytes] |= 1 << near
	}
	return true
}

// planSpreadAVX512 prepares a spread: the vector of the near side is permuted separately for
// each of the far side, and a mask selects the bytes that are written.
func (p *Shuffle) planSpreadAVX512(size, step int64) bool {
	if step < size || !p.fit(vectorBytes, size, step, 4) {
		return false
	}
	for near, far := range p.offsets() {
		p.shuffles[far/vectorBytes][far%vectorBytes] = byte(near)
		p.masks[far/vectorBytes] |= 1 << (far % vectorBytes)
	}
	return true
}

// planSpreadAVX2 prepares a spread by words.
func (p *Shuffle) planSpreadAVX2(size, step int64) bool {
	if step <= size || size > 16 {
		return false
	}
	*p = Shuffle{size: size, step: step, Ahead: aheadBytes, Least: 1}
	return true
}
