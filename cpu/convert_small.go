package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/rounding"
	"github.com/restride/restride/internal/simd"
)

// Conversions that follow rules for which there are kernels. From 8 to 16 bits and from 16 to at
// most 4, the results of a loop for all elements determine whether it follows a rule, and with
// which tables. For other floats of at most 8 bits, the format determines it.

// wordsOf returns the rule of a conversion from 8 to 16 bits, such as from float8 to float16; nil
// if there is none.
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
		// Special values: the highest magnitudes, or a negative zero.
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

// stepsOf returns the rule of a conversion from 16 to at most 4 bits, such as from float16 to
// float4; nil if there is none.
func stepsOf(l loop) *simd.Steps {
	const signs = 1 << 15
	words, bytes := make([]uint16, 2*signs), make([]byte, 2*signs)
	for i := range words {
		words[i] = uint16(i)
	}
	l(unsafe.Pointer(&bytes[0]), unsafe.Pointer(&words[0]), 2*signs)
	r := &simd.Steps{Most: signs - 1, Special: bytes[signs-1], Sign: bytes[signs] - bytes[0]}
	for r.Most > 0 && bytes[r.Most] == bytes[signs-1] {
		r.Most--
	}
	first := int16(0)
	r.Shift = 14
	for m := range r.Most {
		if bytes[m+1] == bytes[m] {
			continue
		}
		if first == 0 {
			first = m
		}
		// From m to m+1, the quotient rounded down grows if m+1 is a multiple of the
		// divisor, and the quotient rounded up if m is.
		r.Shift = min(r.Shift, int64(max(bits.TrailingZeros16(uint16(m)), bits.TrailingZeros16(uint16(m+1)))))
	}
	r.Round = 1<<r.Shift - 1
	r.Base = first &^ r.Round
	for m := range r.Most + 1 {
		r.Codes[placeOf(r, m)] = bytes[m]
	}
	for i, x := range words {
		m := int16(x & (signs - 1))
		want := r.Codes[placeOf(r, m)] + r.Sign*byte(x>>15)
		if m > r.Most {
			want = r.Special
		}
		if bytes[i] != want {
			return nil
		}
	}
	return r
}

// placeOf is the place of a magnitude's code.
func placeOf(r *simd.Steps, m int16) int {
	above := int(max(m-r.Base, 0))
	return min(above>>r.Shift+(above+int(r.Round))>>r.Shift, simd.StepPlaces-1)
}

// narrowOf returns the rule of conversions to a float of at most 8 bits; nil if there is none.
func narrowOf(to *number) *simd.Narrow {
	const mantissa, bias = 23, 127 // of float32
	f := &to.format
	if to.kind != numeric.FloatKind || to.bits > 8 || f.Unsigned || to.cuts || to.legacy {
		return nil
	}
	shift := mantissa - f.Mantissa
	r := &simd.Narrow{Shift: int64(shift), Step: uint32(shift) << mantissa, Sign: byte(to.sign)}
	r.One = uint32(1-f.Bias+shift+bias) << mantissa
	r.First = uint16(r.One >> shift)
	r.None = uint32(to.nan) + uint32(r.First)
	if f.Special == numeric.NegativeZero {
		r.Least = 1
	}
	// Overflow gives the code after the largest: an infinity, or a NaN.
	most := uint32(to.largest)
	if to.overflow != rounding.ToLargest {
		most++
	}
	r.Most = most<<shift + uint32(bias-f.Bias)<<mantissa
	return r
}
