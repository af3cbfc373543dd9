package planner

// The parts of a shuffle's tile that are contiguous in dst.

// layRuns finds the runs.
func (t *shape) layRuns() {
	t.run, t.runs = t.run[:0], t.runs[:0]
	t.length = 1
	joins := true
	for _, i := range t.dst {
		if t.n[i] == 1 {
			continue
		}
		if joins = joins && t.p.inner(i).D == t.length && t.length+2*t.per() <= lowSize; joins { // pieces of the last axis fit the table
			t.run = append(t.run, i)
			t.length *= t.n[i]
			joins = !t.cut(i)
			continue
		}
		t.runs = append(t.runs, i)
	}
	t.first(t.runs)
	t.dEven = t.even(t.run, t.unit(), t.p.dBase, func(a axis) int64 { return a.D })
	t.parallel = true
	for _, i := range t.runs {
		t.parallel = t.parallel && t.p.inner(i).D*t.size%t.unit() == 0
	}
}

// splitRuns distributes runs over threads, one unit each, in pieces whose number of threads gives
// the least time.
func (t *shape) splitRuns() bool {
	per, last := t.per(), int64(1)
	if i := ends(t.run); i >= 0 {
		last = t.n[i]
	}
	below, end := t.length/last, t.length
	if !t.dEven {
		end += per - 1 // the first unit has them
	}
	t.write = 0
	fewest := int64(1) // the fewest pieces that fit the table and have at most one unit per thread
	if room := min(lowSize-2*per, GroupSize*per); end > room {
		fewest = (last + max(1, room/below) - 1) / max(1, room/below)
	}
	for k := fewest; k <= last && k < fewest+mostPieces; k++ {
		m := (last + k - 1) / k
		if k == 1 {
			t.tryPiece((end+per-1)/per*per, end)
			continue
		}
		t.tryPiece(below*m, end)
		for even := m; even < m+per; even++ {
			if below*even%per == 0 {
				t.tryPiece(below*even, end)
				break
			}
		}
	}
	return t.write > 0
}

// tryPiece uses pieces of so many elements if they are better than the current ones. Runs end at
// the latest at the given element, counted from the start of their first unit.
func (t *shape) tryPiece(piece, end int64) {
	per, lines := t.per(), t.count(t.runs)
	whole := t.dEven && piece%per == 0
	if !whole && t.dEven {
		end += per - 1
	}
	x, pieces := (piece+per-1)/per, (end+piece-1)/piece
	if pieces*lines > tableSize || x > GroupSize || piece+2*per > lowSize {
		return
	}
	full := whole && piece*pieces == t.length
	alike := t.parallel && (pieces == 1 || piece%per == 0)
	each := 14 + 3*per
	switch {
	case !alike:
		each += 20 + 3*per
	case !full:
		each += 6
	}
	cost := (pieces*lines + GroupSize/x - 1) / (GroupSize / x) * each
	if !full { // ends
		cost += 40 + (30*pieces+16*per)*lines*2*max(1, per/4)/GroupSize
	}
	cost += (piece + GroupSize - 1) / GroupSize * 4
	if t.write == 0 || cost < t.write {
		t.write, t.words, t.pieces, t.piece, t.full, t.alike = cost, x, pieces, piece, full, alike
	}
}

// unit is the number of bytes stored at once, and per the number of elements in a unit. Units of 8
// bytes have fewer single bytes at the ends of runs.
func (t *shape) unit() int64 { return min(vector, 8*t.size) }
func (t *shape) per() int64  { return t.unit() / t.size }

// threes reports whether a unit's elements are every third element in the tile, as in pixels of
// three channels.
func (t *shape) threes() bool {
	if t.size > 2 || len(t.run) == 0 || t.step(t.run[0]) != 3*t.size {
		return false
	}
	return len(t.run) == 1 || t.dEven && t.piece%t.per() == 0 && t.n[t.run[0]]%t.per() == 0
}
