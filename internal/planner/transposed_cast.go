package planner

import (
	"math/bits"
	"strconv"
)

// Casts whose sides are dense along different axes: see source/cast_lines.h.

// hasTransposedCast reports whether there is such a kernel between two widths. Others have squares
// of more lines than a work-item reads, or are rare.
func hasTransposedCast(dst, src uint8) bool {
	return dst > 2 && dst <= 32 && src <= 32 && (dst > 4 || src > 4)
}

// shortTransposedCast is the least extent of either axis for which such a kernel is planned.
const shortTransposedCast = 8

// transposedCastGain bounds the estimated cycles of such a kernel, as a share of the cycles of a
// cast by elements, which has more blocks under way than the estimate assumes.
const transposedCastGain = .82

// batchedCastGain is the same of matrices that follow each other: their blocks are full.
const batchedCastGain = .95

// spreads reports whether lines that begin anywhere are read by single words: see
// source/cast_lines.h.
func (s Spec) spreads() bool { return s.Form == TransposedCast && s.SrcBits == 32 }

// planTransposedCast plans the transposition for the widths of the kernel dense; false: the cast is
// not a transposition, or is cheaper by elements.
func (p *problem) planTransposedCast(k *parameters, cast, dense Spec) (Spec, bool) {
	spec := dense
	spec.Form = TransposedCast
	near := p.nearest()
	a, b := p.inner(near), p.inner(0)
	if p.target.CPU || p.manyAxes || dense.Mapped || !hasTransposedCast(dense.DstBits, dense.SrcBits) {
		return spec, false
	}
	if near == 0 || b.d != 1 || magnitude(a.s) != 1 || min(a.n, b.n) < shortTransposedCast || max(a.n, b.n) >= limit || !p.scattered() {
		return spec, false
	}
	try, transposed := p.clone(), parameters{}
	try.sBits = int(dense.SrcBits)
	if a.s < 0 { // before it is found out where lines begin
		try.reverseAxis(near)
	}
	t, c, batch := try.strip(spec, near), columnTile{}, batchedCast{}
	least := t.cost.withoutPenalty().cycles(p.bytes)
	if hasColumnCast(dense.DstBits, dense.SrcBits) {
		long, small := dense, dense
		long.Form, small.Form = ColumnCast, BatchedCast
		if c = try.columnTile(long, near); c.step > 0 && c.cost.cycles(p.bytes) < least {
			spec, least = long, c.cost.cycles(p.bytes)
		}
		if batch = try.batchedCast(near); batch.cut > 0 && batch.cost.cycles(p.bytes) < least {
			spec, least = small, batch.cost.cycles(p.bytes)
		}
	}
	if cast.Form == Cast && cast.pair() { // others take several times as long
		gain := transposedCastGain
		if spec.Form == BatchedCast {
			gain = batchedCastGain
		}
		if e := try.castCost(cast, near); least > gain*e.cycles(p.bytes) {
			return spec, false
		}
	}
	var err error
	switch spec.Form {
	case BatchedCast:
		err = try.planBatchedCast(&transposed, spec, near, batch)
	case ColumnCast:
		err = try.planColumnCast(&transposed, spec, near, c)
	default:
		err = try.planTranspose(&transposed, spec, near, t)
	}
	if err != nil || !transposed.fits(spec) {
		return spec, false
	}
	*p, *k = *try, transposed
	return spec, true
}

// castCost is the cost of the cast by elements between two given types, to 32 bits.
func (p *problem) castCost(cast Spec, near int) cost {
	k := parameters{}
	if k.cutElements(cast, p.innermostFirst()) != nil || k.blocks == 0 {
		return cost{blocks: 1, instructions: limit}
	}
	a, b := p.inner(near), p.inner(0)
	each := (p.count() + k.blocks - 1) / k.blocks
	lines := min(max(each/b.n, 1), a.n) // of dst, in a block; neighbours are read from one sector
	reads := touched(each/lines, lines*int64(p.sBits)/8, false)
	// Of the kernel's instructions, as predicted for several shapes.
	return cost{blocks: k.blocks, instructions: 50 + 186*each/1024, sectors: reads + touched(1, each*int64(p.dBits)/8, true)}
}

// transposedCastDefines are the macros of these kernels: a work-item reads PIECE_S bits of a line at
// once.
func transposedCastDefines(s Spec) []string {
	piece := min(128, int(s.across())*int(s.SrcBits))
	return append(unitDefines(s, piece),
		include("LINES_OF", "cast_lines.h"),
		"ACROSS_LOG "+strconv.Itoa(bits.TrailingZeros64(uint64(s.across()))), "PIECE_S "+strconv.Itoa(piece),
	)
}
