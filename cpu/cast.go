package cpu

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// casters keeps what casterOf returns: by dst's and src's type and the rounding.
var casters [32][32][12]atomic.Pointer[caster]

// casterOf returns what converts between two types.
func casterOf(dst, src layout.DType, how device.Rounding) *caster {
	index := int(how.Scale)
	if how.Unsaturated {
		index += 3
	}
	if how.Legacy {
		index += 6
	}
	slot := &casters[dst][src][index]
	c := slot.Load()
	if c == nil {
		c = newCaster(dst, src, how)
		slot.Store(c)
	}
	return c
}

// plain is the usual rounding.
var plain device.Rounding

// loop converts n neighbours, of which those below a byte have one to themselves:
// above the bits of the source's it is 0.
type loop func(dst, src unsafe.Pointer, n int64)

func newLoop(dst, src layout.DType, how device.Rounding) loop {
	from, to := numberOf(src, how), numberOf(dst, how)
	if src.Bits() <= 8 {
		return tableLoop(from, to)
	}
	if l := byteLoop(src, from, to); l != nil && looseAlignment {
		return l
	}
	if l := straightLoop(dst, src); l != nil && looseAlignment && !to.cuts {
		return l
	}
	return func(dst, src unsafe.Pointer, n int64) {
		for i := range n {
			to.put(dst, i, to.encode(from.decode(from.get(src, i))))
		}
	}
}

// tableLoop converts from a type of at most 8 bits.
func tableLoop(from, to *number) loop {
	table := tableOf(from, to)
	switch {
	case to.bits <= 8:
		return func(dst, src unsafe.Pointer, n int64) {
			d, s := unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n)
			for i, x := range s {
				d[i] = byte(table[x])
			}
		}
	case to.bits == 16 && looseAlignment:
		return lookUp[uint16](table)
	case to.bits == 32 && looseAlignment:
		return lookUp[uint32](table)
	case looseAlignment:
		return lookUp[uint64](table)
	}
	return func(dst, src unsafe.Pointer, n int64) {
		for i, x := range unsafe.Slice((*byte)(src), n) {
			to.put(dst, int64(i), table[x])
		}
	}
}

// tableOf tabulates a conversion from at most 8 bits.
func tableOf(from, to *number) *[256]uint64 {
	table := new([256]uint64)
	for x := range uint64(1) << from.bits {
		table[x] = to.encode(from.decode(x))
	}
	return table
}

func lookUp[D uint16 | uint32 | uint64](table *[256]uint64) loop {
	var narrow [256]D
	for i, v := range table {
		narrow[i] = D(v)
	}
	return func(dst, src unsafe.Pointer, n int64) {
		d, s := unsafe.Slice((*D)(dst), n), unsafe.Slice((*byte)(src), n)
		for i, x := range s {
			d[i] = narrow[x]
		}
	}
}

// get returns the bits of element i.
func (f *number) get(p unsafe.Pointer, i int64) uint64 {
	switch f.bits {
	case 16:
		return uint64(binary.LittleEndian.Uint16(span(p, 2*i, 2)))
	case 32:
		return uint64(binary.LittleEndian.Uint32(span(p, 4*i, 4)))
	case 64:
		return binary.LittleEndian.Uint64(span(p, 8*i, 8))
	}
	return uint64(load8(p, i))
}

// put sets the bits of element i.
func (f *number) put(p unsafe.Pointer, i int64, v uint64) {
	switch f.bits {
	case 16:
		binary.LittleEndian.PutUint16(span(p, 2*i, 2), uint16(v))
	case 32:
		binary.LittleEndian.PutUint32(span(p, 4*i, 4), uint32(v))
	case 64:
		binary.LittleEndian.PutUint64(span(p, 8*i, 8), v)
	default:
		store8(p, i, byte(v))
	}
}

// castPiece is how many elements are cast at a time where they do not lie next to
// each other: a multiple of 64, of which both sides stay in L1.
const castPiece = 1024

// castRow is convertRow by value: it brings elements next to each other, unless
// they are, converts them, and puts them in their places.
func (j *job) castRow(d, s, n int64, sc *scratch) {
	dSize, sSize := int64(max(j.dBits/8, 1)), int64(max(j.sBits/8, 1))
	if j.b.d == 1 && j.b.s == 1 && j.dBits >= 8 && j.sBits >= 8 {
		j.cast.run(unsafe.Add(j.dst, d*dSize), unsafe.Add(j.src, s*sSize), n, j.past(), sc)
		return
	}
	for ; n > 0; n -= castPiece {
		m := min(n, castPiece)
		var from unsafe.Pointer
		switch {
		case j.sBits < 8:
			from = room(&sc.spread, castPiece)
			j.spreadBits(from, s, m, false, sc)
		case j.b.s == 1 || m == 1:
			from = unsafe.Add(j.src, s*sSize)
		default:
			from = room(&sc.stage, castPiece*sSize)
			moveRow(from, j.src, 0, s*sSize, axis{m, sSize, j.b.s * sSize}, j.sBits)
		}
		switch {
		case j.dBits < 8:
			wide := room(&sc.wide, castPiece)
			j.cast.run(wide, from, m, false, sc)
			j.placeBits(d, wide, 0, m, sc)
		case j.b.d == 1 || m == 1:
			j.cast.run(unsafe.Add(j.dst, d*dSize), from, m, j.past(), sc)
		default:
			tile := room(&sc.tile, castPiece*dSize)
			j.cast.run(tile, from, m, false, sc)
			moveRow(j.dst, tile, d*dSize, 0, axis{m, j.b.d * dSize, dSize}, j.dBits)
		}
		d += m * j.b.d
		s += m * j.b.s
	}
}

// moveRow moves elements one by one; steps are in bytes.
func moveRow(dst, src unsafe.Pointer, d, s int64, x axis, bits int) {
	switch {
	case bits == 8:
		gatherRow[uint8](dst, src, d, s, x)
	case bits == 16 && looseAlignment:
		gatherRow[uint16](dst, src, d, s, x)
	case bits == 32 && looseAlignment:
		gatherRow[uint32](dst, src, d, s, x)
	case bits == 64 && looseAlignment:
		gatherRow[uint64](dst, src, d, s, x)
	default:
		size := int64(bits / 8)
		for i := range x.n {
			copy(span(dst, d+i*x.d, size), span(src, s+i*x.s, size))
		}
	}
}
