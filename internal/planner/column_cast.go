package planner

import (
	"math/bits"
	"strconv"
)

// Casts whose sides are dense along different axes, by columns of a tile: see source/column_cast.h.

// hasColumnCast reports whether such a kernel exists for two widths. For 8-bit results, other
// kernels are cheaper: the lines of src needed for 16 bytes of dst are a large part of the tile.
func hasColumnCast(dst, src uint8) bool {
	return (dst == 16 || dst == 32) && (src == 8 || src == 16)
}

// columnSlots is the number of 16-byte slots in the tile: 32 KiB together with a lookup's table.
const columnSlots = 1984

// columnRows is the number of lines of src in the tile: of 16 lines of dst or more, 16 bytes are
// written at once.
func (s Spec) columnRows() int64 {
	if s.DstBits == 32 {
		return 64
	}
	return 128
}

// columnLines divides the tile's extent along lines of src: all lines of dst in which work-items
// convert 16 bytes at the same time, or twice as many for CONVERT's two.
func (s Spec) columnLines() int64 {
	lines := GroupSize * 128 / (s.columnRows() * int64(s.DstBits))
	if !s.looksUp() {
		return 2 * lines
	}
	return lines
}

// columnCastDefines are the macros of these kernels: the tile's rows and slots, and how many
// pieces are read before the first one is stored in the tile.
func columnCastDefines(s Spec) []string {
	return append(denseDefines(s),
		"ROWS_LOG "+strconv.Itoa(bits.TrailingZeros64(uint64(s.columnRows()))),
		"COLUMN_SLOTS "+strconv.Itoa(columnSlots),
		"AHEAD 4",
	)
}

// columnTile is a shape of the tile: the number of indices of axis a, in pieces of 16 bytes, and
// the number and step of blocks along b.
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
		if !dAligned { // the last one includes the sector in which a line ends
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
		// Predicted costs of the kernel's parts, for several shapes.
		instructions := 110 + 10*unit + 13*read + each*written
		if spec.looksUp() {
			instructions += 140 // for one part of the table
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

// width is the logarithm of the number of work-items that read a row.
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
