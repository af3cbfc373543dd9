package kernels

import (
	"math/bits"
	"strconv"
)

// Casts whose sides are dense along different axes: see source/cast_lines.h.

// turnedCast reports whether there is such a kernel between two widths. Others have squares
// of more lines than a work-item reads, or are rare.
func turnedCast(dst, src uint8) bool {
	return dst > 2 && dst <= 32 && src <= 32 && (dst > 4 || src > 4)
}

// shortTurn is from which extent of both axes on such a kernel is taken.
const shortTurn = 8

// turnedGain is the share of the cycles of the cast by elements that such a kernel may
// take at most: of the former more blocks are under way than cycles assumes.
const turnedGain = .82

// batchedGain is the same of matrices that follow each other: their blocks are full.
const batchedGain = .95

// spreads reports whether lines that begin anywhere are read by single words: see
// source/cast_lines.h.
func (s Spec) spreads() bool { return s.Form == TransposedCast && s.SrcBits == 32 }

// planTurned plans the transposition for the widths of the kernel dense; false: the copy is
// none, or the cast by elements takes less.
func (p *problem) planTurned(k *parameters, cast, dense Spec) (Spec, bool) {
	spec := dense
	spec.Form = TransposedCast
	near := p.nearest()
	a, b := p.inner(near), p.inner(0)
	if p.target.Serial || p.long || dense.Mapped || !turnedCast(dense.DstBits, dense.SrcBits) {
		return spec, false
	}
	if near == 0 || b.d != 1 || magnitude(a.s) != 1 || min(a.n, b.n) < shortTurn || max(a.n, b.n) >= limit || !p.scattered() {
		return spec, false
	}
	try, turned := p.clone(), parameters{}
	try.sBits = int(dense.SrcBits)
	if a.s < 0 { // before it is found out where lines begin
		try.reverseAxis(near)
	}
	t, c, batch := try.strip(spec, near), columns{}, castBatch{}
	least := t.effort.unstrained().cycles(p.bytes)
	if columnCast(dense.DstBits, dense.SrcBits) {
		long, small := dense, dense
		long.Form, small.Form = ColumnCast, BatchedCast
		if c = try.columns(long, near); c.step > 0 && c.effort.cycles(p.bytes) < least {
			spec, least = long, c.effort.cycles(p.bytes)
		}
		if batch = try.castBatches(near); batch.cut > 0 && batch.effort.cycles(p.bytes) < least {
			spec, least = small, batch.effort.cycles(p.bytes)
		}
	}
	if cast.Form == Cast && cast.pair() { // others take several times as long
		gain := turnedGain
		if spec.Form == BatchedCast {
			gain = batchedGain
		}
		if e := try.castEffort(cast, near); least > gain*e.cycles(p.bytes) {
			return spec, false
		}
	}
	var err error
	switch spec.Form {
	case BatchedCast:
		err = try.planCastBatch(&turned, spec, near, batch)
	case ColumnCast:
		err = try.planColumns(&turned, spec, near, c)
	default:
		err = try.planTranspose(&turned, spec, near, t)
	}
	if err != nil || !turned.fits(spec) {
		return spec, false
	}
	*p, *k = *try, turned
	return spec, true
}

// castEffort is that of the cast by elements between two given types, to 32 bits.
func (p *problem) castEffort(cast Spec, near int) effort {
	k := parameters{}
	if k.cutElements(cast, p.innermostFirst()) != nil || k.blocks == 0 {
		return effort{blocks: 1, instructions: limit}
	}
	a, b := p.inner(near), p.inner(0)
	each := (p.count() + k.blocks - 1) / k.blocks
	lines := min(max(each/b.n, 1), a.n) // of dst, in a block; neighbours are read from one sector
	reads := touched(each/lines, lines*int64(p.sBits)/8, false)
	// Of the kernel's instructions, as predicted for several shapes.
	return effort{blocks: k.blocks, instructions: 50 + 186*each/1024, sectors: reads + touched(1, each*int64(p.dBits)/8, true)}
}

// transposedCastDefines are the macros of these kernels: a work-item reads PIECE_S bits of a line at
// once.
func (s Spec) transposedCastDefines() []string {
	piece := min(128, int(s.across())*int(s.SrcBits))
	return append(s.unitDefines(piece),
		include("LINES_OF", "cast_lines.h"),
		"ACROSS_LOG "+strconv.Itoa(bits.TrailingZeros64(uint64(s.across()))), "PIECE_S "+strconv.Itoa(piece),
	)
}
