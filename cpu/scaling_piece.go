package cpu

import (
	"math"
	"unsafe"

	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/layout"
)

// A scaling's pieces: where they lie, and their terms.

// piece is a part of a scaling, with up to castPiece elements. Terms are per line or per element.
// A piece that chooses has up to choicePiece elements, and terms for each table.
type piece struct {
	at      [sideCount]int64
	sc      *scratch
	in, out converter // from src, and to dst
	values  []float32
	from    []float32      // the source of elements with terms per line
	codes   unsafe.Pointer // for a piece that chooses
	packed  bool           // two codes in each byte
	lines   int64          // noted
	tables  int64
	regular int64 // number of lines, from the first one on, with consecutive tables, and
	each    int64 // lines per table, already in Choices.At
}

// lineFloats is the number of floats that share a term in kernels for lines.
const lineFloats = cacheLine / 4

// leastTabled is the least number of codes for which a table pays off.
const leastTabled = 32

const choicePiece = 4096

// The space in kernels' tables matches what pieces need.
var (
	_ [castPiece]struct{}                   = [simd.MostTerms]struct{}{}
	_ [choicePiece / leastTabled]struct{}   = [len(simd.Choices{}.Tables)]struct{}{}
	_ [4 * choicePiece / cacheLine]struct{} = [len(simd.Choices{}.At)]struct{}{}
)

// plan chooses lines, once the axes are known.
func (c *scaling) plan() {
	dst, src, zero := &c.operands[sideDst], &c.operands[sideSrc], &c.operands[sideZero]
	inner := &c.axes[c.rank-1]
	c.whole = zero.isInteger() && (c.quantizes && zero.is.bits > 16 || src.isInteger() && max(src.is.bits, zero.is.bits) > 16)
	c.line, c.chooses, c.piece = 0, false, castPiece
	c.uniform = !c.whole && inner.by[sideScale] == 0 && inner.by[sideZero] == 0 && inner.by[sideAdd] == 0
	if !c.uniform || inner.n%lineFloats != 0 {
		return
	}
	c.line = lineFloats
	if c.quantizes || src.is.bits > 4 || dst.is.bits != 16 && dst.is.bits != 32 || inner.by[sideDst] != 1 || inner.n%leastTabled != 0 || !looseAlignment {
		return
	}
	c.line, c.chooses, c.piece = cacheLine*8/int64(dst.is.bits), true, choicePiece
}

// begin prepares a piece for a part of n elements.
func (c *scaling) begin(p *piece, n int64) {
	inner, src, dst := &c.axes[c.rank-1].by, &c.operands[sideSrc], &c.operands[sideDst]
	p.in.set(layout.Float32, src.dtype, plain, 1, inner[sideSrc])
	p.out.set(dst.dtype, layout.Float32, c.how, inner[sideDst], 1)
	p.in.src, p.out.dst, p.out.past = src.base, dst.base, streams(c.bytes)
	p.values = floatsOf(&p.sc.values, max(castPiece, c.piece/leastTabled*16))
	p.in.dst, p.out.src = pointerTo(p.values), pointerTo(p.values)
	if p.sc.terms == nil {
		p.sc.terms = new(simd.Terms)
	}
	n = min(n, c.piece)
	for side := sideScale; side < sideCount; side++ {
		if o, term := &c.operands[side], &p.sc.conversions[side]; o.is != nil {
			term.set(layout.Float32, o.dtype, plain, 1, 1)
			term.src = o.base
		}
	}
	terms := n
	if c.uniform {
		terms = linesFor(n)
	}
	fill(p.sc.terms.Zero[:terms], 0)
	fill(p.sc.terms.Add[:terms], float32(math.Copysign(0, -1)))
	if c.quantizes {
		p.sc.terms.Least, p.sc.terms.Most = dst.bounds()
	}
	if c.chooses {
		if p.sc.choices == nil {
			p.sc.choices = new(simd.Choices)
		}
		for i := range (n + leastTabled - 1) / leastTabled {
			copy(p.values[16*i:], src.values[:16])
		}
	}
}

// read reads the next n elements of src.
func (c *scaling) read(p *piece, n int64) {
	p.lines, p.tables = 0, 0
	switch {
	case c.chooses && c.fromPacked(p):
		p.codes, p.packed = unsafe.Add(p.in.src, p.at[sideSrc]/2), true
	case c.chooses:
		p.packed = false
		p.codes = room(&p.sc.wide, choicePiece) // conversions of terms use the other buffers
		p.in.spreadBits(p.codes, p.in.src, p.at[sideSrc], n, meaningOf(p.in.sBits, false), p.sc)
	case c.line > 0 && !c.rounds() && p.in.cast == nil && p.in.s == 1 && kernels.ScaleFloat != nil: // in place
		p.from = unsafe.Slice((*float32)(unsafe.Add(p.in.src, 4*p.at[sideSrc])), n)
	default:
		p.in.convert(0, p.at[sideSrc], n, p.sc)
		p.from = p.values[:n]
	}
}

// fromPacked reports whether a kernel reads codes of 4 bits in place.
func (c *scaling) fromPacked(p *piece) bool {
	return kernels.LookUpPacked16 != nil && p.in.sBits == 4 && c.operands[sideDst].is.bits == 16 && p.in.s == 1 && p.at[sideSrc]%2 == 0
}

// note adds the terms of count blocks of n elements, which follow each other along the axis
// outside the innermost one.
func (c *scaling) note(p *piece, count, n int64) {
	lines := n / c.line
	if !c.chooses {
		c.setTerms(p, p.lines, count, lines)
		p.lines += count * lines
		return
	}
	c.setTerms(p, p.tables, count, 1)
	size := 2 * c.operands[sideDst].is.bits // bytes of 16 elements
	if lines != p.each || p.lines != lines*p.tables {
		p.each, p.regular = lines, 0
	}
	after := p.lines + count*lines
	if after > p.regular {
		if p.lines <= p.regular {
			p.regular = after
		}
		at := p.sc.choices.At[p.lines:after]
		for i := range at {
			at[i] = uint32((int(p.tables) + i/int(lines)) * size)
		}
	}
	p.lines = after
	p.tables += count
}

// setTerms sets terms from the first on: count blocks' terms, each repeated times times.
func (c *scaling) setTerms(p *piece, first, count, times int64) {
	for side := sideScale; side < sideCount; side++ {
		if c.operands[side].is == nil {
			continue
		}
		step := int64(0)
		if c.rank > 1 {
			step = c.axes[c.rank-2].by[side]
		}
		row := c.row(p, side)[first:][:count*times]
		c.readTerms(p, side, step, row[:count])
		for i := count - 1; i >= 0 && times > 1; i-- {
			fill(row[i*times:][:times], row[i])
		}
	}
}

// row returns where an operand's terms are stored: the zero point of floats is the number added to
// quotients.
func (c *scaling) row(p *piece, side int) []float32 {
	switch t := p.sc.terms; {
	case side == sideScale:
		return t.Scale[:]
	case side == sideZero && !(c.quantizes && !c.operands[sideDst].isInteger()):
		return t.Zero[:]
	default:
		return t.Add[:]
	}
}

// readTerms reads neighbours along an axis with the given step of an operand.
func (c *scaling) readTerms(p *piece, side int, step int64, into []float32) {
	if term := &p.sc.conversions[side]; step == 0 || len(into) == 1 {
		fill(into, c.operands[side].float(p.at[side]))
	} else {
		term.dst, term.s = pointerTo(into), step
		term.convert(0, p.at[side], int64(len(into)), p.sc)
	}
	if side == sideAdd && c.subtract {
		for i, v := range into {
			into[i] = -v
		}
	}
}

// write scales n elements, if that was only noted, and writes them.
func (c *scaling) write(p *piece, d, n int64) {
	if c.chooses {
		c.choose(p, d)
		return
	}
	values := p.values[:n]
	switch {
	case c.toBytes(p, n):
		to := unsafe.Add(p.out.dst, d)
		kernels.QuantizeBytes((*byte)(to), (*byte)(pointerTo(p.from)), n/cacheLine, termsOf(p), p.streams(to))
		return
	case c.line > 0 && c.quantizes:
		c.quantize(p, values, p.from, p.lines)
	case c.line > 0 && p.out.cast == nil && p.out.d == 1 && kernels.ScaleFloat != nil:
		to := unsafe.Add(p.out.dst, 4*d)
		kernels.ScaleFloat((*byte)(to), (*byte)(pointerTo(p.from)), n/lineFloats, termsOf(p), p.streams(to))
		return
	case c.line > 0:
		scaleBy(p, values, p.from, true)
	}
	p.out.convert(d, 0, n, p.sc)
}

// toBytes reports whether a single kernel quantizes n floats with noted terms and writes them as
// neighbouring 8-bit integers.
func (c *scaling) toBytes(p *piece, n int64) bool {
	dst := &c.operands[sideDst]
	return kernels.QuantizeBytes != nil && c.line > 0 && c.quantizes && !c.whole && !c.rounds() &&
		dst.isInteger() && dst.is.bits == 8 && p.out.d == 1 && n%cacheLine == 0
}

// streams reports whether to write whole lines past the caches.
func (p *piece) streams(to unsafe.Pointer) bool {
	return p.out.past && uintptr(to)%cacheLine == 0
}

// linesFor is the number of lines that contain n floats.
func linesFor(n int64) int64 { return (n + lineFloats - 1) / lineFloats }

// scaleRow scales n values of a row.
func (c *scaling) scaleRow(p *piece, first, n int64) {
	values, terms := p.values[first:][:n], n
	if c.uniform {
		terms = linesFor(n)
	}
	for side := sideScale; side < sideCount; side++ {
		if c.operands[side].is != nil && !(c.whole && side == sideZero) {
			c.readTerms(p, side, c.axes[c.rank-1].by[side], c.row(p, side)[:terms])
		}
	}
	if c.quantizes {
		c.quantize(p, values, values, terms)
		return
	}
	if c.whole {
		c.shift(p, values)
	}
	scaleBy(p, values, values, c.uniform)
}

// choose makes tables of the results for all codes, and looks the lines up in them.
func (c *scaling) choose(p *piece, d int64) {
	t, size := p.sc.choices, int64(c.operands[sideDst].is.bits/8)
	values := p.values[:16*p.tables]
	tables := unsafe.Slice((*float32)(unsafe.Pointer(&t.Tables)), len(values))
	if size == 2 {
		tables = floatsOf(&p.sc.floats, int64(len(values)))
	}
	scaleBy(p, tables, values, true)
	if size == 2 {
		p.out.cast.run(unsafe.Pointer(&t.Tables), pointerTo(tables), int64(len(tables)), false, p.sc)
	}
	to, kernel := unsafe.Add(p.out.dst, size*d), kernels.LookUpEach32
	if size == 2 {
		kernel = kernels.LookUpEach16
	}
	if p.packed {
		kernel = kernels.LookUpPacked16
	}
	switch {
	case kernel != nil:
		kernel((*byte)(to), (*byte)(p.codes), p.lines, (*byte)(unsafe.Pointer(t)), p.streams(to))
	case size == 2:
		lookUpLines[uint16](to, p.codes, p.lines, t)
	default:
		lookUpLines[uint32](to, p.codes, p.lines, t)
	}
}

// lookUpLines is a kernel LookUpEach.
func lookUpLines[D uint16 | uint32](dst, codes unsafe.Pointer, lines int64, t *simd.Choices) {
	n := cacheLine / int64(unsafe.Sizeof(D(0)))
	for i := range lines {
		table := (*[16]D)(unsafe.Add(unsafe.Pointer(&t.Tables), t.At[i]))
		d, s := unsafe.Slice((*D)(unsafe.Add(dst, i*cacheLine)), n), unsafe.Slice((*byte)(unsafe.Add(codes, i*n)), n)
		for k, x := range s {
			d[k] = table[x&15]
		}
	}
}
