package cpu

// Transposes with few rows are cut along these, the innermost axis of the destination: parts of
// few rows each would be too thin for tiles. A part of a row may begin and end within bytes then,
// in each row at another bit. Unless parts begin with a byte in every row, the first elements of
// each, as many as a byte has, are left out, and the caller does these at the end: so no two
// goroutines write to one byte.

// thinPart is the number of rows from which a part of a transpose is not thin.
const thinPart = 64

// thin reports whether parts would be, of a transpose: the source is dense along the axis that
// they cut.
func (j *job) thin(p *parts) bool {
	cut, last := &j.axes[p.lead-1], &j.axes[j.rank-1]
	return p.size < thinPart && magnitude(cut.s) == 1 && last.s != 1 && last.d == 1 && last.n >= 4*p.count
}

// executeColumns is executePacked by parts of the innermost axis.
func (j *job) executeColumns(goroutines int, sc *scratch) {
	n := j.axes[j.rank-1].n
	size := (n/int64(4*goroutines) + 255) &^ 255
	j.parts = parts{lead: 1, count: n, size: size, columns: true}
	j.units = (n + size - 1) / size
	j.shareOut(goroutines, j.units, 1, sc)
	for part := range j.units {
		j.runColumns(part*size, min(part*size+j.leftOut(), n), sc)
	}
}

// leftOut is how many elements are left out where a part of a row begins.
func (j *job) leftOut() int64 {
	if j.dBits >= 8 {
		return 0
	}
	per, begins := int64(8/j.dBits), j.dOff
	for _, x := range j.axes[:j.rank-1] {
		begins |= x.d
	}
	if begins%per == 0 {
		return 0
	}
	return per
}

// runColumnsPart does one part, by the goroutine's own job.
func (j *job) runColumnsPart(part int64, sc *scratch) {
	first := part * j.parts.size
	j.runColumns(first+j.leftOut(), min(first+j.parts.size, j.parts.count), sc)
}

// runColumns does the indices [lo, hi) of the innermost axis.
func (j *job) runColumns(lo, hi int64, sc *scratch) {
	if lo >= hi {
		return
	}
	sub := sc.partOf(j)
	x := &sub.axes[j.rank-1]
	x.n = hi - lo
	sub.dOff += lo * x.d
	sub.sOff += lo * x.s
	sub.runAll(sc)
}
