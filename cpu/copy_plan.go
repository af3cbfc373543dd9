package cpu

import "github.com/restride/restride/internal/simd"

const (
	// blockBytes is the size of a block of rows on either side: a part of L1.
	blockBytes = 16 << 10
	// elementSide is the side, in elements, of a square block of single elements.
	elementSide = 32
)

// plan chooses the class and the blocks.
func (j *job) plan() {
	j.inner.n = 1
	last := j.rank - 1
	in := &j.axes[last]
	du, su := j.unit(j.dBits), j.unit(j.sBits)
	toRows := in.d == du || in.n == 1
	// The axis, but for the innermost, along which the source's elements are nearest to
	// each other, and that along which they are neighbours.
	near, unit := -1, -1
	for i := last - 1; i >= 0; i-- {
		if unit < 0 && magnitude(j.axes[i].s) == su {
			unit = i
		}
		if near < 0 || magnitude(j.axes[i].s) < magnitude(j.axes[near].s) {
			near = i
		}
	}
	if j.class != convert {
		switch {
		case toRows && (in.s == su || in.n == 1):
			j.class = rows
			if j.rank == 1 {
				j.class = dense
			}
		case toRows && in.s == 0:
			j.class = broadcast
		case toRows && in.s == -su && !j.strings:
			j.class = reversed
		case near >= 0 && magnitude(j.axes[near].s) < magnitude(in.s):
			j.class = general
		default:
			j.class = strided
		}
	}
	j.permuted.on, j.permuted.swaps.on, j.boxes.on = false, false, false
	if j.planFields() {
		return
	}
	if toRows && unit >= 0 && j.maybeTranspose(in.n) && j.planTile(unit) {
		j.class = transpose
		if terms := j.tileTerms(); terms > 0 {
			_ = kernels.Permute == nil && j.planSwaps() || j.planPermute(terms) || terms > packedTerms && j.planBoxes()
		}
		return
	}
	if j.shortRows() && j.planShort() {
		return
	}
	perRow := max(1, int64(blockBytes*8/max(j.dBits, j.sBits)))
	switch {
	case j.class == dense:
		j.block(-1, 1, 4*perRow)
	case j.class == rows && near >= 0 && magnitude(j.axes[near].s) < in.n*su:
		// Rows that overlap or repeat in the source: stay on a piece of them.
		j.block(near, 64, perRow)
	case j.class == rows && near >= 0 && !j.strings && !j.packed && in.n*su > shortRow && !j.fewRuns(near):
		j.planNear(near, perRow)
	case j.class == general:
		// Square blocks use all of each cache line on both sides.
		side := max(elementSide, 512/min(in.n, 512))
		j.block(near, side, max(elementSide, 512/min(j.axes[near].n, 512)))
	default:
		j.block(last-1, max(1, perRow/min(in.n, perRow)), perRow)
	}
	j.planShuffle()
}

// planShort plans blocks or boxes for short rows. False: they do not pay.
func (j *job) planShort() bool {
	if kernels.Permute == nil {
		return j.planSwaps() || j.planPermute(anyTerms) || j.planWords() || j.planBoxes()
	}
	return j.planPermute(anyTerms) || j.planBoxes() || j.planSwaps()
}

// maybeTranspose reports whether tiles may pay, for rows of n elements: not where all is
// in L1 anyway, and there are no vectors to gain by.
func (j *job) maybeTranspose(n int64) bool {
	switch {
	case j.strings, j.dBits == 1, j.bytes <= 256, j.bytes <= 4<<10 && j.dBits >= 32 && kernels.Level == simd.None:
		return false
	case j.class == broadcast:
		return n*int64(j.dBits) < 8*cacheLine
	}
	return j.class == general
}

func magnitude(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// block makes a the axis ai (-1: none) and b the innermost one, and cuts them in
// blocks.
func (j *job) block(ai int, blkA, blkB int64) {
	j.b = j.axes[j.rank-1]
	j.a = axis{n: 1}
	j.nOut = 0
	for i := range j.rank - 1 {
		if i == ai {
			j.a = j.axes[i]
			continue
		}
		j.outer[j.nOut] = j.axes[i]
		j.nOut++
	}
	j.cut(blkA, blkB)
}

// cut divides a and b into blocks of the given extents.
func (j *job) cut(blkA, blkB int64) {
	if blkB > 64 && blkB < j.b.n {
		blkB &^= 63 // so that blocks of one row share as few words as can be
	}
	j.divide(blkA, blkB)
}

// divide is cut into blocks of just these extents.
func (j *job) divide(blkA, blkB int64) {
	j.blkA, j.blkB = min(blkA, j.a.n), min(blkB, j.b.n)
	j.numA = (j.a.n + j.blkA - 1) / j.blkA
	j.numB = (j.b.n + j.blkB - 1) / j.blkB
	j.units = j.numA * j.numB
	for i := range j.nOut {
		j.units *= j.outer[i].n
	}
}

// fewRuns reports whether, without kernels, rows are better written in sequence:
// from a few runs of the source, in each of which the next row is the nearest.
func (j *job) fewRuns(near int) bool {
	return kernels.Move == nil && near == j.rank-3 && j.axes[j.rank-2].n <= 16
}

// planNear makes blocks of rows along the axis on which they are nearest in the
// source: to read in sequence matters more than to write so. Where there are too
// few for a block, it has several sets of them.
func (j *job) planNear(near int, perRow int64) {
	x, last := j.axes[near], j.rank-1
	row := j.axes[last].n
	width := int64(j.dBits / 8)
	next := -1
	for i := last - 1; i >= 0; i-- {
		// An axis that prolongs what is read is the best one, then one that prolongs
		// rows of the destination.
		if i != near && j.axes[i].s == x.n*x.s {
			next = i
			break
		}
		if k := &j.axes[i]; i != near && (next < 0 || k.d == row*width || j.axes[next].d != row*width && magnitude(k.s) < magnitude(j.axes[next].s)) {
			next = i
		}
	}
	if next >= 0 && kernels.Direct && j.streams() && j.planLines(near, next) {
		return
	}
	if next < 0 || x.n*row*width >= fullSet {
		j.block(near, max(1, perRow/min(row, perRow)), perRow)
		return
	}
	j.inner = x
	j.axes[near].n = 1
	j.block(next, max(1, perRow/(x.n*row)), row)
	j.axes[near].n = x.n
}

// planLines makes blocks whose short rows become whole lines of the destination along the
// axis next, with all of the axis near, along which they are read, or with a part of it if
// it is long. False: rows that make no lines or are such themselves, and long axes that have
// no such parts.
func (j *job) planLines(near, next int) bool {
	x, y, row := j.axes[near], j.axes[next], j.axes[j.rank-1].n
	size := row * int64(j.dBits/8)
	if y.d != size || size%cacheLine == 0 || size >= directRow || y.n*size%cacheLine != 0 {
		return false
	}
	unit := cacheLine / (size & -size) // rows of whole lines
	along := max(unit, linesRun/size/unit*unit)
	if fit := linesSet / (x.n * size) / unit * unit; fit > 0 {
		along = min(along, fit)
	}
	along = min(along, y.n)
	part := x.n
	if run := along * size; run*part > linesSet {
		for part = max(1, linesSet/2/run); x.n%part != 0; part-- {
		}
		if run*part < streamRow {
			return false
		}
	}
	j.inner = axis{part, x.d, x.s}
	j.axes[near] = axis{x.n / part, part * x.d, part * x.s}
	j.block(next, along, row)
	j.axes[near] = x
	return true
}
