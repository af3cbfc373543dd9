package planner

import (
	"math/bits"
	"strconv"
)

// Casts whose sides are dense along different axes, by columns of a tile: see source/column_cast.h.

// hasColumnCast reports whether there is such a kernel between two widths. To 8 bits, others are
// cheaper: the lines of src that 16 bytes of dst need are a large part of the tile.
func hasColumnCast(dst, src uint8) bool {
	return (dst == 16 || dst == 32) && (src == 8 || src == 16)
}

// columnSlots is how many slots of 16 bytes the tile has: with the table of a lookup, 32 KiB.
const columnSlots = 1984

// columnRows is how many lines of src the tile has: of 16 lines of dst or more, 16 bytes are
// written at once.
func (s Spec) columnRows() int64 {
	if s.DstBits == 32 {
		return 64
	}
	return 128
}

// columnLines is what the tile's extent along lines of src is a multiple of: all lines of dst of
// which work-items convert 16 bytes at once, or the two that CONVERT has.
func (s Spec) columnLines() int64 {
	lines := GroupSize * 128 / (s.columnRows() * int64(s.DstBits))
	if !s.looksUp() {
		return 2 * lines
	}
	return lines
}

// columnCastDefines are the macros of these kernels: the tile's rows and slots, and how many pieces are
// read before any is put into it.
func columnCastDefines(s Spec) []string {
	return append(denseDefines(s),
		"ROWS_LOG "+strconv.Itoa(bits.TrailingZeros64(uint64(s.columnRows()))),
		"COLUMN_SLOTS "+strconv.Itoa(columnSlots),
		"AHEAD 4",
	)
}

// columnTile is a shape of the tile: so many indices of axis a, in pieces of 16 bytes. Blocks along b
// are step indices apart, and so many.
type columnTile struct {
	ta, pieces   int64
	step, blocks int64
	cost         cost
}

// columnTile chooses the cheapest shape.
func (p *transposition) columnTile(spec Spec) columnTile {
	a, b := p.inner(p.near), p.inner(0)
	unit, piece, rows, lines := int64(128/p.dBits), int64(128/p.sBits), spec.columnRows(), spec.columnLines()
	sector := sectorBytes * 8 / int64(p.dBits)
	dAligned := p.aligned(sector, p.dBase, 0, func(a axis) int64 { return a.D })
	sAligned := p.aligned(piece, p.sBase, p.near, func(a axis) int64 { return a.S })
	each := int64(30) // instructions for 16 bytes
	if p.dBits == p.sBits {
		each = 45
	}
	best, least := columnTile{}, 0.0
	for ta := lines; ta < a.N+lines; ta += lines {
		c := columnTile{ta: ta, pieces: (ta + piece - 1) / piece, step: rows, blocks: (b.N + rows - 1) / rows}
		if !sAligned {
			c.pieces = (ta + 2*piece - 2) / piece
		}
		if !dAligned { // and the last one has the sector in which a line ends
			c.step = rows - sector
			c.blocks = (b.N - 1 + c.step - 1) / c.step
		}
		if rows*c.pieces+rows/unit > columnSlots {
			break
		}
		na, nb := min(a.N, ta), min(b.N, rows)
		reads := touched(nb, na*int64(p.sBits)/8, sAligned)
		writes := touched(na, min(nb, c.step)*int64(p.dBits)/8, true)
		read := (nb<<c.width() + GroupSize - 1) / GroupSize
		written := (na + lines - 1) / lines * lines * rows / (unit * GroupSize)
		// Of the kernel's parts, as predicted for several shapes.
		instructions := 110 + 10*unit + 13*read + each*written
		if spec.looksUp() {
			instructions += 140 // a part of the table
		}
		if !dAligned || b.N%unit > 0 { // lines' ends, by single elements
			instructions += 4 * unit * written * min(c.blocks, 2) / c.blocks
			writes += unit * na * min(c.blocks, 2) / c.blocks
		}
		c.cost = cost{
			blocks:       a.Blocks(ta).N * c.blocks * (p.count() / (a.N * b.N)),
			instructions: instructions,
			sectors:      reads + writes,
			passes:       2 * na * nb * int64(p.dBits) / 1024,
		}
		if cycles := c.cost.cycles(p.bytes); least == 0 || cycles < least {
			best, least = c, cycles
		}
	}
	return best
}

// width is the logarithm of how many work-items read a row.
func (c *columnTile) width() int { return bits.Len64(uint64(c.pieces - 1)) }

// planColumnCast plans the cast by columns of axis a.
func (p *transposition) planColumnCast(k *parameters, spec Spec, c columnTile) error {
	a, b := p.inner(p.near), p.inner(0)
	k.flat, k.span = uint32(c.width()), uint32(c.pieces)
	k.ta, k.na, k.da, k.sa = uint32(c.ta), uint32(a.N), a.D, a.S
	k.tb, k.nb, k.db, k.sb = uint32(spec.columnRows()), uint32(b.N), b.D, b.S
	k.step, k.rows = uint32(c.step), uint32(c.blocks)
	if err := k.setBands(a.Blocks(c.ta), b, p.band(), p.others(0, p.near)...); err != nil {
		return err
	}
	k.groups = spec.groups(k.blocks, 2*p.target.fewBlocks())
	return nil
}
