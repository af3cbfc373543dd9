package planner

import (
	"math/bits"
	"strconv"

	"github.com/restride/restride/internal/nest"
)

// Casts whose sides are dense along different axes: see source/cast_lines.h.

// hasTransposedCast reports whether such a kernel exists for two widths. Other widths have squares
// of more lines than a work-item reads, or are rare.
func hasTransposedCast(dst, src uint8) bool {
	return dst > 2 && dst <= 32 && src <= 32 && (dst > 4 || src > 4)
}

// shortTransposedCast is the least extent of both axes for which such a kernel is planned.
const shortTransposedCast = 8

// transposedCastGain bounds the estimated cycles of such a kernel, as a share of the cycles of a
// cast by elements, which has more blocks in flight than the estimate assumes.
const transposedCastGain = .82

// batchedCastGain is the same for matrices that follow each other: their blocks are full.
const batchedCastGain = .95

// spreads reports whether lines that begin anywhere are read as single words: see
// source/cast_lines.h.
func (s Spec) spreads() bool { return s.Form == TransposedCast && s.SrcBits == 32 }

// turn sets turned, with the widths of the kernel for rows, if the cast is a transposition.
func (c *casting) turn() {
	near := c.nearest()
	a, b := c.inner(near), c.inner(0)
	switch {
	case c.unturned != "":
	case c.target.CPU:
		c.unturned = onlyGPU
	case c.manyAxes:
		c.unturned = tooManyAxes
	case c.rows.Mapped:
		c.unturned = isMapped
	case !hasTransposedCast(c.rows.DstBits, c.rows.SrcBits):
		c.unturned = otherWidth
	case near == 0:
		c.unturned = notTurned
	case b.D != 1:
		c.unturned = notDense
	case nest.Magnitude(a.S) != 1:
		c.unturned = sourceGaps
	case min(a.N, b.N) < shortTransposedCast:
		c.unturned = shortAxes
	case max(a.N, b.N) >= limit:
		c.unturned = longAxes
	case !c.scattered():
		c.unturned = notScattered
	default:
		c.turned = &transposition{c.clone(), near}
		c.turned.sBits = int(c.rows.SrcBits)
		if a.S < 0 { // needed before the starts of lines are computed
			c.turned.reverseAxis(near)
		}
	}
}

// form is a form's kernel for the widths of the kernel for rows.
func (c *casting) form(f Form) Spec {
	spec := c.rows
	spec.Form = f
	return spec
}

// offerTransposition offers the transposition in registers.
func (c *casting) offerTransposition() (offer, refusal) {
	if c.turn(); c.turned == nil {
		return offer{}, c.unturned
	}
	spec := c.form(TransposedCast)
	t := c.turned.strip(spec)
	return c.offerTurned(spec, t.cost.withoutPenalty(), func(k *parameters) error { return c.turned.planTranspose(k, spec, t) })
}

// offerColumns offers the transposition by columns of a tile in local memory.
func (c *casting) offerColumns(best *offer) (offer, refusal) {
	if why := c.unlike(best); why != "" {
		return offer{}, why
	}
	spec := c.form(ColumnCast)
	t := c.turned.columnTile(spec)
	switch {
	case t.step == 0:
		return offer{}, noTile
	case t.cost.cycles(c.bytes) >= best.cycles:
		return offer{spec: spec, cycles: t.cost.cycles(c.bytes)}, costsMore
	}
	return c.offerTurned(spec, t.cost, func(k *parameters) error { return c.turned.planColumnCast(k, spec, t) })
}

// offerMatrices offers the transposition of whole matrices that follow each other.
func (c *casting) offerMatrices(best *offer) (offer, refusal) {
	if why := c.unlike(best); why != "" {
		return offer{}, why
	}
	spec := c.form(BatchedCast)
	t := c.turned.batchedCast()
	switch {
	case t.cut == 0:
		return offer{}, noMatrices
	case t.cost.cycles(c.bytes) >= best.cycles:
		return offer{spec: spec, cycles: t.cost.cycles(c.bytes)}, costsMore
	}
	return c.offerTurned(spec, t.cost, func(k *parameters) error { return c.turned.planBatchedCast(k, spec, t) })
}

// unlike is the reason why there is no transposition to compare with.
func (c *casting) unlike(best *offer) refusal {
	switch {
	case best.spec.Form == DenseCast:
		return notNeeded
	case c.turned == nil:
		return c.unturned
	case !hasColumnCast(c.rows.DstBits, c.rows.SrcBits):
		return otherWidth
	}
	return ""
}

// offerTurned offers a transposition. If one has no room for its parameters, none has.
func (c *casting) offerTurned(spec Spec, e cost, plan func(k *parameters) error) (offer, refusal) {
	return offer{spec, e.cycles(c.bytes), func(k *parameters) (Spec, error) {
		if plan(k) != nil || !k.fits(spec) {
			c.turned, c.unturned = nil, noRoom
			return spec, errWithdrawn
		}
		*c.problem = *c.turned.problem
		return spec, nil
	}}, ""
}

// castCost is the cost of the cast by elements between two given types, to 32 bits.
func (p *transposition) castCost(cast Spec) cost {
	k := parameters{}
	if k.cutElements(cast, p.innermostFirst()) != nil || k.blocks == 0 {
		return cost{blocks: 1, instructions: limit}
	}
	a, b := p.inner(p.near), p.inner(0)
	each := (p.count() + k.blocks - 1) / k.blocks
	lines := min(max(each/b.N, 1), a.N) // of dst, in a block; neighbours are read from one sector
	reads := touched(each/lines, lines*int64(p.sBits)/8, false)
	// Predicted from the kernel's instructions, for several shapes.
	return cost{blocks: k.blocks, instructions: 50 + 186*each/1024, sectors: reads + touched(1, each*int64(p.dBits)/8, true)}
}

// transposedCastDefines are the macros of these kernels: a work-item reads PIECE_S bits of a line
// at once.
func transposedCastDefines(s Spec) []string {
	piece := min(128, int(s.across())*int(s.SrcBits))
	return append(unitDefines(s, piece),
		include("LINES_OF", "cast_lines.h"),
		"ACROSS_LOG "+strconv.Itoa(bits.TrailingZeros64(uint64(s.across()))), "PIECE_S "+strconv.Itoa(piece),
	)
}
