package planner

import "encoding/binary"

// PatternOf returns a fill's pattern arguments: 16 bytes filled with repetitions of an element of
// so many bits.
func PatternOf(pattern []byte, bits int) [2]uint64 {
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
	return [2]uint64{binary.LittleEndian.Uint64(p[:8]), binary.LittleEndian.Uint64(p[8:])}
}
