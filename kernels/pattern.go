package kernels

import "encoding/binary"

// Pattern returns the arguments lo and hi of a fill: the pattern of an element of so
// many bits, as often as 16 bytes hold it.
func Pattern(pattern []byte, bits int) (lo, hi uint64) {
	if bits < 8 {
		element := pattern[0] & (1<<bits - 1)
		for ; bits < 8; bits *= 2 {
			element |= element << bits
		}
		pattern = []byte{element}
	}
	var p [16]byte
	for n := 0; n < len(p); {
		n += copy(p[n:], pattern)
	}
	return binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])
}
