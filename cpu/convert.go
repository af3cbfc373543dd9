package cpu

import (
	"encoding/binary"
	"unsafe"
)

// convertPiece is how many elements are converted at a time: a multiple of 64,
// within a scratch buffer at a byte each.
const convertPiece = 4096

// convertRow converts n elements along b. It packs or unpacks: to neighbours in a
// buffer, through words, and from there to their places.
func (j *job) convertRow(d, s, n int64, sc *scratch) {
	if j.cast != nil {
		j.castRow(d, s, n, sc)
		return
	}
	for ; n > 0; n -= convertPiece {
		m := min(n, convertPiece)
		if j.dBits == 8 {
			j.unpackRow(d, s, m, sc)
		} else {
			j.packRow(d, s, m, sc)
		}
		d += m * j.b.d
		s += m * j.b.s
	}
}

// stageBits brings n packed elements next to each other.
func (j *job) stageBits(s, n int64, sc *scratch) {
	w := int64(j.sBits)
	stage := room(&sc.stage, convertPiece)
	if j.b.s == 1 {
		copyBits(stage, 0, j.src, s*w, n*w)
	} else {
		gatherBits(stage, 0, j.src, s, j.b.s, n, w)
	}
}

func (j *job) unpackRow(d, s, n int64, sc *scratch) {
	w := int64(j.sBits)
	j.stageBits(s, n, sc)
	if j.b.d == 1 {
		unpack(span(j.dst, d, n), sc.stage, w, j.signed)
		return
	}
	tile := room(&sc.tile, convertPiece)
	unpack(sc.tile[:n], sc.stage, w, j.signed)
	gatherRow[uint8](j.dst, tile, d, 0, axis{n, j.b.d, 1})
}

func (j *job) packRow(d, s, n int64, sc *scratch) {
	w := int64(j.dBits)
	var in []byte
	if j.b.s == 1 {
		in = span(j.src, s, n)
	} else {
		gatherRow[uint8](room(&sc.stage, convertPiece), j.src, 0, s, axis{n, 1, j.b.s})
		in = sc.stage[:n]
	}
	tile := room(&sc.tile, convertPiece)
	pack(sc.tile, in, w)
	j.placeBits(d, tile, n)
}

// placeBits puts n neighbours from a buffer to their places.
func (j *job) placeBits(d int64, tile unsafe.Pointer, n int64) {
	w := int64(j.dBits)
	if j.b.d == 1 {
		copyBits(j.dst, d*w, tile, 0, n*w)
		return
	}
	for k := range n {
		if at := d + k*j.b.d; at >= j.clipLo && at < j.clipHi {
			putBits(j.dst, at*w, getBits(tile, k*w, w), w)
		}
	}
}

// unpack spreads packed elements of w bits over len(dst) bytes, eight at a time
// in a word. src holds a multiple of 64 bits.
func unpack(dst, src []byte, w int64, signed bool) {
	var v [8]byte
	for len(dst) > 0 {
		var x uint64
		if w == 4 {
			x = uint64(binary.LittleEndian.Uint32(src))
			x = (x | x<<16) & mask16
			x = (x | x<<8) & mask8
			x = (x | x<<4) & mask4
			if signed {
				x |= x & 0x0808080808080808 * 0x1e // the sign bit, four bits up
			}
			src = src[4:]
		} else {
			x = uint64(binary.LittleEndian.Uint16(src))
			x = (x | x<<24) & 0x000000ff000000ff
			x = (x | x<<12) & 0x000f000f000f000f
			x = (x | x<<6) & 0x0303030303030303
			if signed {
				x |= x & 0x0202020202020202 * 0x7e
			}
			src = src[2:]
		}
		if len(dst) < 8 {
			binary.LittleEndian.PutUint64(v[:], x)
			copy(dst, v[:])
			return
		}
		binary.LittleEndian.PutUint64(dst, x)
		dst = dst[8:]
	}
}

// pack gathers the low w bits of each byte of src, eight bytes at a time in a
// word.
func pack(dst, src []byte, w int64) {
	var v [8]byte
	for len(src) > 0 {
		if len(src) < 8 {
			copy(v[:], src)
			src = v[:]
		}
		x := binary.LittleEndian.Uint64(src)
		src = src[8:]
		if w == 4 {
			x &= mask4
			x = (x | x>>4) & mask8
			x = (x | x>>8) & mask16
			binary.LittleEndian.PutUint32(dst, uint32(x|x>>16))
			dst = dst[4:]
		} else {
			x &= 0x0303030303030303
			x = (x | x>>6) & 0x000f000f000f000f
			x = (x | x>>12) & 0x000000ff000000ff
			binary.LittleEndian.PutUint16(dst, uint16(x|x>>24))
			dst = dst[2:]
		}
	}
}
