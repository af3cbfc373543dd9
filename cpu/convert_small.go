package cpu

import (
	"unsafe"

	"github.com/restride/restride/internal/simd"
)

// Conversions from 8 to 16 bits and from 16 to at most 4 by rules that kernels have. What
// a loop gives for every element says whether it follows one, and with which tables.

// wordsOf returns the rule of a conversion from 8 to 16 bits, as from float8 to float16;
// nil: it is another one.
func wordsOf(l loop) *simd.ByteWords {
	var bytes [256]byte
	var words [256]uint16
	for i := range bytes {
		bytes[i] = byte(i)
	}
	l(unsafe.Pointer(&words), unsafe.Pointer(&bytes), 256)
	var r simd.ByteWords
	for m, word := range words[:16] {
		r.High[m], r.Low[m] = byte(word>>8), byte(word)
	}
	r.Odd = byte(words[0x41])
	for r.Shift = range int64(2) {
		r.Mask = 0x7f >> r.Shift
		r.Bias = byte(words[0x40]>>8) - 0x40>>r.Shift
		// What is special: the highest magnitudes, or a zero with a sign.
		for _, nan := range []byte{0x7f, 0x80} {
			r.Special, r.Sign = byte(words[nan]>>8), 0
			if r.Flip, r.Tested, r.At = 0xff, 0xff, 0x7e; nan == 0x7f {
				r.Flip, r.Tested, r.Sign = 0, 0x7f, 0x80
				for r.At > 0x40 && words[r.At] == words[nan] {
					r.At--
				}
			}
			if followsWords(&r, &words) {
				return &r
			}
		}
	}
	return nil
}

// followsWords reports whether a rule gives the word of every byte.
func followsWords(r *simd.ByteWords, words *[256]uint16) bool {
	for i, want := range words {
		m, sign := byte(i)&0x7f, byte(i)&0x80
		high, low := m>>r.Shift&r.Mask+r.Bias, m<<7&r.Odd
		if m < 16 {
			high, low = r.High[m], r.Low[m]
		}
		high |= sign
		if int8((byte(i)^r.Flip)&r.Tested) > int8(r.At) {
			high, low = r.Special|sign&r.Sign, 0
		}
		if want != uint16(high)<<8|uint16(low) {
			return false
		}
	}
	return true
}

// stepsOf returns the rule of a conversion from 16 to at most 4 bits, as from float16 to
// float4; nil: it is another one.
func stepsOf(l loop) *simd.Steps {
	const signs = 1 << 15
	words, bytes := make([]uint16, 2*signs), make([]byte, 2*signs)
	for i := range words {
		words[i] = uint16(i)
	}
	l(unsafe.Pointer(&bytes[0]), unsafe.Pointer(&words[0]), 2*signs)
	r := simd.Steps{At: signs - 1, Special: int16(bytes[signs-1]), Sign: int16(bytes[signs] - bytes[0])}
	for r.At > 0 && bytes[r.At] == bytes[signs-1] {
		r.At--
	}
	steps := 0
	for m := range int16(r.At) {
		by := int(bytes[m+1]) - int(bytes[m])
		if by < 0 || steps+by > len(r.Above) {
			return nil
		}
		for range by {
			r.Above[steps] = m
			steps++
		}
	}
	for i := steps; i < len(r.Above); i++ {
		r.Above[i] = signs - 1
	}
	if bytes[0] != 0 {
		return nil
	}
	for m := range signs {
		if want := bytes[signs+m]; m <= int(r.At) && want != bytes[m]+byte(r.Sign) || m > int(r.At) && want != byte(r.Special) {
			return nil
		}
	}
	return &r
}
