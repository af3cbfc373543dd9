package planner

// Partial sectors: sectors of dst that are written in parts, at different times. A GPU's
// second-level cache writes a sector back to memory some microseconds after its first part, and
// completing one there is slow. Rows of wider elements that begin anywhere are written by chunks
// (source/chunks.h) where that is faster than by elements.

const (
	// partialSectorCost is the bytes that memory could move in the time of a sector that two passes
	// of a block write a part of each: 400 to 900 on an H100, the more, the fewer there are.
	// partialPieceCost is the same for the end of a piece, both sides of which are written in one
	// pass: some work-items are late.
	partialSectorCost, partialPieceCost = 900, 110
	// runCost and rowsCost are the times by which chunks of one run and of rows are slower than
	// elements, as a share of memory's time: on an H100, for rows of 59 to 1,025 words.
	runCost, rowsCost = .03, .25
	// shortRow is how many bytes of a row chunks have at least.
	shortRow = 32
)

// uneven reports whether rows of dst begin elsewhere than at multiples of so many bytes.
func (p *problem) uneven(bytes int64) bool {
	sum := p.dBase
	for i := 1; i < len(p.axes); i++ {
		sum |= p.inner(i).D
	}
	return sum*int64(p.dBits)%(8*bytes) != 0
}

// partialSectors is the time that partial sectors add to the blocks of an element form, as a share
// of memory's time, where rows are dense in dst and uneven.
func (p *problem) partialSectors(spec Spec, k *parameters) float64 {
	cuts, flat := int64(k.cut), int64(k.flat)
	apart := (cuts + spec.items() - 1) / spec.items()
	pieces := (cuts + apart - 1) / apart // of a pass
	passes := (apart*flat + GroupSize - 1) / GroupSize
	moved := cuts * flat * int64(p.dBits) / 8
	if p.sBits > 0 {
		moved *= 2
	}
	return float64(pieces*(passes-1)*partialSectorCost+pieces*partialPieceCost) / float64(moved)
}

// offerChunks offers chunks for rows of wider elements, of 16-bit elements if they do not run
// backwards, where they are cheaper than the blocks of an element form.
func (p *problem) offerChunks(f Form) (offer, refusal) {
	step := p.inner(0).S
	back := p.dBits == 32 && step == -1
	switch {
	case p.target.CPU:
		return offer{}, onlyGPU
	case p.manyAxes:
		return offer{}, tooManyAxes
	case p.dBits < 32 || p.dBits == 128:
		return offer{}, otherWidth
	case p.sBits > 0 && step != 1 && !back, p.inner(0).N*int64(p.dBits)/8 < shortRow:
		return offer{}, notRows
	case p.sBits == 0 && len(p.axes) > 1: // sectors at rows' ends stay partial, which costs most
		return offer{}, wholeSectors
	case !p.dense() || !p.uneven(sectorBytes):
		return offer{}, wholeSectors
	}
	var elements parameters
	spec, err := p.planElements(f, &elements)
	extra := rowsCost
	if len(p.axes) < 2 {
		extra = runCost
	}
	if err != nil || p.partialSectors(spec, &elements) <= extra {
		return offer{}, wholeSectors
	}
	q := p
	if p.sBits == 0 || step == 1 {
		q = p.narrow(16, true)
	}
	if q.spaced() {
		return offer{}, shortAxes
	}
	*p = *q
	return p.packed()
}
