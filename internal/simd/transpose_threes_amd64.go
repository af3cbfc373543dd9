package simd

import "encoding/binary"

// threesAVX2 makes tables for instructions that permute the bytes of one vector: one for each
// result and source, with 0x80 for a byte of another source.
func threesAVX2(width int, from func(out, at int) (in, pos int)) []byte {
	tab := make([]byte, 9*width)
	for i := range tab {
		tab[i] = 0x80
	}
	for out := range 3 {
		for at := range width {
			in, pos := from(out, at)
			tab[(out*3+in)*width+at] = byte(pos)
		}
	}
	return tab
}

// threesAVX512 makes tables for instructions that permute the bytes of two vectors, and the
// bytes of the third under a mask.
func threesAVX512(width int, from func(out, at int) (in, pos int)) []byte {
	tab := make([]byte, 9*width)
	for out := range 3 {
		of := tab[out*3*width:]
		mask := uint64(0)
		for at := range width {
			in, pos := from(out, at)
			if in == 2 {
				mask |= 1 << at
				of[width+at] = byte(pos)
			} else {
				of[at] = byte(in*width + pos)
			}
		}
		binary.LittleEndian.PutUint64(of[2*width:], mask)
	}
	return tab
}
