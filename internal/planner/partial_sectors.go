package planner

// Partial sectors: sectors of dst that are written in parts, at different times. A GPU's
// second-level cache writes a sector back to memory some microseconds after its first part, and
// completing it there is slow. Rows of wider elements that begin anywhere are written in chunks
// (source/chunks.h) where that is faster than single elements.

const (
	// partialSectorCost is the number of bytes that memory could move in the time needed for a
	// sector partly written by each of two passes of a block: 400 to 900 on an H100, more
	// where there are fewer of them. partialPieceCost is the same for the end of a piece,
	// where both parts are written in one pass: some work-items are late.
	partialSectorCost, partialPieceCost = 900, 110
	// runCost and rowsCost are the extra time of chunks of one run and of rows compared with
	// elements, as a share of memory's time: on an H100, for rows of 59 to 1,025 words.
	runCost, rowsCost = .03, .25
	// shortRow is the least number of bytes of a row in a chunk.
	shortRow = 32
)

// uneven reports whether some rows of dst do not begin at multiples of so many bytes.
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
	pieces := (cuts + apart - 1) / apart // per pass
	passes := (apart*flat + GroupSize - 1) / GroupSize
	moved := cuts * flat * int64(p.dBits) / 8
	if p.sBits > 0 {
		moved *= 2
	}
	return float64(pieces*(passes-1)*partialSectorCost+pieces*partialPieceCost) / float64(moved)
}

// offerChunks offers chunks for rows of wider elements (of 16-bit elements unless they run
// backwards) where chunks are cheaper than the blocks of an element form.
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
	case p.sBits == 0 && len(p.axes) > 1: // rows' ends leave partial sectors, the largest cost
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
