package cpu

import "unsafe"

// Conversions between elements below a byte and bytes: packing and unpacking.

// convertPiece is the number of elements converted at a time, through buffers with a byte for
// each: a multiple of 64.
const convertPiece = 4096

// conversion converts rows of elements, between types or between bytes and elements below a byte.
type conversion struct {
	meaning      *meaning // by bits: the results of unpacking
	cast         *caster  // by value; nil: by bits
	dBits, sBits int      // the width of an element
	d, s         int64    // steps, in elements
}

func (c *conversion) name() string {
	switch {
	case c.cast != nil:
		return "casts"
	case c.dBits == 8:
		return "unpacking"
	}
	return "packing"
}

// planConversion plans a conversion.
func planConversion(j *job, _ int64) (mover, int64, refusal) {
	if j.kind != convert {
		return nil, 0, otherKind
	}
	j.blockRows()
	j.memory.conversion = j.conversion(j.b.D, j.b.S)
	return &j.memory.conversion, dear, ""
}

// conversion returns the converter for elements at the given steps.
func (p *pair) conversion(d, s int64) conversion {
	return conversion{p.meaning, p.cast, p.dBits, p.sBits, d, s}
}

// move converts na rows of nb elements.
func (c *conversion) move(j *job, d, s, na, nb int64, sc *scratch) {
	for i := range na {
		if d, s, n := j.owned(d+i*j.a.D, s+i*j.a.S, nb); n > 0 {
			c.row(&j.ends, d, s, n, sc)
		}
	}
}

// row converts n elements. Neighbours are packed or unpacked in place, others through a buffer.
func (c *conversion) row(e *ends, d, s, n int64, sc *scratch) {
	switch {
	case c.cast != nil:
		c.castRow(e, d, s, n, sc)
	case c.d == 1 && c.s == 1 && c.dBits == 8:
		unpack(e.dst, d, e.src, s*int64(c.sBits), n, int64(c.sBits), c.meaning, e.past)
	case c.d == 1 && c.s == 1:
		pack(e.dst, d*int64(c.dBits), e.src, s, n, int64(c.dBits), e.past)
	default:
		for ; n > 0; n -= convertPiece {
			m := min(n, convertPiece)
			if c.dBits == 8 {
				c.unpackRow(e, d, s, m, sc)
			} else {
				c.packRow(e, d, s, m, sc)
			}
			d += m * c.d
			s += m * c.s
		}
	}
}

// spreadBits unpacks n elements to neighbours.
func (c *conversion) spreadBits(dst, src unsafe.Pointer, s, n int64, as *meaning, sc *scratch) {
	w := int64(c.sBits)
	if c.s == 1 {
		unpack(dst, 0, src, s*w, n, w, as, false)
		return
	}
	stage := room(&sc.stage, convertPiece)
	moveSteppedBits(stage, 0, src, s, c.s, n, w)
	unpack(dst, 0, stage, 0, n, w, as, false)
}

func (c *conversion) unpackRow(e *ends, d, s, n int64, sc *scratch) {
	if c.d == 1 {
		c.spreadBits(unsafe.Add(e.dst, d), e.src, s, n, c.meaning, sc)
		return
	}
	tile := room(&sc.tile, convertPiece)
	c.spreadBits(tile, e.src, s, n, c.meaning, sc)
	moveElementRow[uint8](e.dst, tile, d, 0, axis{N: n, D: c.d, S: 1})
}

func (c *conversion) packRow(e *ends, d, s, n int64, sc *scratch) {
	from, at := e.src, s
	if c.s != 1 {
		from, at = room(&sc.stage, convertPiece), 0
		moveElementRow[uint8](from, e.src, 0, s, axis{N: n, D: 1, S: c.s})
	}
	c.packTo(e, d, from, at, n, sc)
}

// packTo packs n bytes.
func (c *conversion) packTo(e *ends, d int64, src unsafe.Pointer, s, n int64, sc *scratch) {
	w := int64(c.dBits)
	if c.d == 1 {
		pack(e.dst, d*w, src, s, n, w, false)
		return
	}
	tile := room(&sc.tile, convertPiece)
	pack(tile, 0, src, s, n, w, false)
	for k := range n {
		if at := d + k*c.d; at >= e.clipLo && at < e.clipHi {
			putBits(e.dst, at*w, getBits(tile, k*w, w), w)
		}
	}
}

// meaning is the bytes that elements of 1, 2 or 4 bits are unpacked to.
type meaning struct {
	bytes [16]byte
	// integers: the bytes are the elements as numbers, which needs no table.
	integers bool
}

// meanings are the meanings of integers of 1, 2 and 4 bits, unsigned and signed.
var meanings = func() (t [5][2]meaning) {
	for w := 1; w <= 4; w *= 2 {
		t[w][0].integers, t[w][1].integers = true, true
		for x := range byte(1) << w {
			t[w][0].bytes[x] = x
			t[w][1].bytes[x] = byte(int8(x<<(8-w)) >> (8 - w))
		}
	}
	return t
}()

// meaningOf is the meaning of integers; nil for a byte and more.
func meaningOf(bits int, signed bool) *meaning {
	switch {
	case bits >= 8:
		return nil
	case signed:
		return &meanings[bits][1]
	}
	return &meanings[bits][0]
}

// unpack unpacks n elements of w bits from a bit position on to bytes.
func unpack(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n, w int64, as *meaning, past bool) {
	kernel := kernels.UnpackNibbles
	switch w {
	case 1:
		kernel = nil
	case 2:
		kernel = kernels.UnpackCrumbs
	}
	if n >= cacheLine && kernel != nil {
		lines, head, past := linesOf(dst, d, n, past)
		unpackWords(dst, d, src, s, head, w, as)
		d, s, n = d+head, s+head*w, n-head
		kernel(ptr(dst, d), ptr(src, s>>3), lines, s&7, &as.bytes[0], past)
		done := lines * cacheLine
		d, s, n = d+done, s+done*w, n-done
	}
	unpackWords(dst, d, src, s, n, w, as)
}

// unpackWords is unpack with words of eight elements.
func unpackWords(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n, w int64, as *meaning) {
	sign := uint64(1) // what the sign bit becomes: itself, or all bits up to the byte's highest
	if as.integers {
		sign = uint64(as.bytes[1<<(w-1)]) >> (w - 1)
	}
	for shift := uint(s & 7); n >= 8; n -= 8 {
		var x uint64
		switch w {
		case 4:
			x = uint64(load32(src, s>>3))
			if shift != 0 {
				x = uint64(uint32(x>>shift | uint64(load8(src, s>>3+4))<<(32-shift)))
			}
			x = (x | x<<16) & mask16
			x = (x | x<<8) & mask8
			x = (x | x<<4) & mask4
			x |= x & 0x0808080808080808 * (sign &^ 1)
		case 2:
			x = uint64(load8(src, s>>3)) | uint64(load8(src, s>>3+1))<<8
			if shift != 0 {
				x = uint64(uint16(x>>shift | uint64(load8(src, s>>3+2))<<(16-shift)))
			}
			x = (x | x<<24) & 0x000000ff000000ff
			x = (x | x<<12) & 0x000f000f000f000f
			x = (x | x<<6) & 0x0303030303030303
			x |= x & 0x0202020202020202 * (sign &^ 1)
		case 1:
			x = uint64(load8(src, s>>3))
			if shift != 0 {
				x = uint64(byte(x>>shift | uint64(load8(src, s>>3+1))<<(8-shift)))
			}
			x = (x | x<<28) & 0x0000000f0000000f
			x = (x | x<<14) & 0x0003000300030003
			x = (x | x<<7) & 0x0101010101010101
		}
		if !as.integers {
			x = asMeant(x, as)
		}
		store64(dst, d, x)
		d += 8
		s += 8 * w
	}
	for ; n > 0; n-- {
		store8(dst, d, as.bytes[getBits(src, s, w)])
		d++
		s += w
	}
}

// asMeant replaces eight elements, one per byte, by their meanings.
func asMeant(x uint64, as *meaning) (y uint64) {
	for shift := 0; shift < 64; shift += 8 {
		y |= uint64(as.bytes[x>>shift&15]) << shift
	}
	return y
}

// pack writes the low w bits of each of n bytes from a bit position on.
func pack(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n, w int64, past bool) {
	for ; n > 0 && d&7 != 0; n-- {
		putBits(dst, d, load8(src, s), w)
		d += w
		s++
	}
	kernel := kernels.PackNibbles
	switch w {
	case 1:
		kernel = nil
	case 2:
		kernel = kernels.PackCrumbs
	}
	if n*w >= 8*cacheLine && kernel != nil {
		lines, head, past := linesOf(dst, d>>3, n*w>>3, past)
		packWords(dst, d, src, s, head*8/w, w)
		d, s, n = d+head*8, s+head*8/w, n-head*8/w
		kernel(ptr(dst, d>>3), ptr(src, s), lines, past)
		done := lines * cacheLine * 8
		d, s, n = d+done, s+done/w, n-done/w
	}
	packWords(dst, d, src, s, n, w)
}

// packWords is pack with words of eight elements, from a whole byte on.
func packWords(dst unsafe.Pointer, d int64, src unsafe.Pointer, s, n, w int64) {
	for ; n >= 8; n -= 8 {
		x := load64(src, s)
		switch w {
		case 4:
			x &= mask4
			x = (x | x>>4) & mask8
			x = (x | x>>8) & mask16
			store32(dst, d>>3, uint32(x|x>>16))
		case 2:
			x &= 0x0303030303030303
			x = (x | x>>6) & 0x000f000f000f000f
			x = (x | x>>12) & 0x000000ff000000ff
			x |= x >> 24
			store8(dst, d>>3, byte(x))
			store8(dst, d>>3+1, byte(x>>8))
		case 1:
			x &= 0x0101010101010101
			store8(dst, d>>3, byte(x*0x0102040810204080>>56))
		}
		d += 8 * w
		s += 8
	}
	for ; n > 0; n-- {
		putBits(dst, d, load8(src, s), w)
		d += w
		s++
	}
}
