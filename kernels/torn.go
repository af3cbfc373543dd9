package kernels

// Sectors of dst that are torn: written in parts, at different times. A GPU's second-level
// cache gives a sector back to memory some microseconds after the first part, and memory takes
// long for one that it has to complete. Rows of wider elements that begin anywhere are written
// by chunks (source/chunks.h) where that takes less than elements.

const (
	// tornSector is how many bytes memory could move in the time that a sector costs of which
	// two passes of a block write a part each: 400 to 900 on an H100, the more, the fewer there are.
	// tornPiece is what the end of a piece costs where work-items of one pass write both sides of
	// it: some are late.
	tornSector, tornPiece = 900, 110
	// Chunks of one run take so much longer than elements, and those of rows, as a share of
	// what memory takes: on an H100, by what it took for rows of 59 to 1,025 words.
	runCost, rowsCost = .03, .25
	// shortRow is how many bytes of a row chunks have at least.
	shortRow = 32
)

// uneven reports whether rows of dst begin elsewhere than at multiples of so many bytes.
func (p *problem) uneven(bytes int64) bool {
	sum := p.dBase
	for i := 1; i < len(p.axes); i++ {
		sum |= p.inner(i).d
	}
	return sum*int64(p.dBits)%(8*bytes) != 0
}

// torn is how much longer memory takes for the blocks of an element form because of torn
// sectors, as a share.
func (p *problem) torn(spec Spec, k *parameters) float64 {
	if !p.dense() || !p.uneven(sectorBytes) {
		return 0
	}
	cuts, flat := int64(k.cut), int64(k.flat)
	apart := (cuts + spec.items() - 1) / spec.items()
	pieces := (cuts + apart - 1) / apart // of a pass
	passes := (apart*flat + GroupSize - 1) / GroupSize
	moved := cuts * flat * int64(p.dBits) / 8
	if p.sBits > 0 {
		moved *= 2
	}
	return float64(pieces*(passes-1)*tornSector+pieces*tornPiece) / float64(moved)
}

// chunked makes the problem one of rows that go by chunks, of elements of 16 bits if they do not
// run backwards, if these take less than the blocks of elements that are planned; or reports
// that they do not.
func (p *problem) chunked(spec Spec, k *parameters) bool {
	step := p.inner(0).s
	back := p.dBits == 32 && step == -1
	switch {
	case p.target.Serial || p.long || p.dBits < 32 || p.dBits == 128 || p.sBits > 0 && step != 1 && !back:
		return false
	case p.inner(0).n*int64(p.dBits)/8 < shortRow:
		return false
	case p.sBits == 0 && len(p.axes) > 1: // sectors at rows' ends stay torn, which takes longest
		return false
	}
	cost := rowsCost
	if len(p.axes) < 2 {
		cost = runCost
	}
	if p.torn(spec, k) <= cost {
		return false
	}
	q := p
	if p.sBits == 0 || step == 1 {
		q = p.narrow(16, true)
	}
	if q.spaced() {
		return false
	}
	*p = *q
	return true
}
