package cpu

import (
	"math"
	"unsafe"
)

// Conversions between float16 and float32 with tables of exponents: branches for subnormal numbers
// and out-of-range numbers cost several times as much where they cannot be predicted.

// toHalf has an entry for each sign and exponent of a float: the shift of its mantissa (with the
// leading bit) in the low byte, half of what that removes, less one, in the high word, and the
// number to add afterwards.
var toHalf = func() (table [512]uint64) {
	for i := range table {
		sign, exponent := i>>8<<15, i&255-127
		base, shift := 0, 25 // more than the mantissa has, rounded
		switch {
		case exponent > 15:
			base = 0x7c00
		case exponent >= -14:
			base, shift = (exponent+14)<<10, 13
		case exponent >= -25:
			shift = -1 - exponent
		}
		table[i] = (1<<shift/2-1)<<32 | uint64(sign+base)<<8 | uint64(shift)
	}
	return table
}()

func floatToHalf(dst, src unsafe.Pointer, n int64) {
	d, s := unsafe.Slice((*uint16)(dst), n), unsafe.Slice((*uint32)(src), n)
	for i, x := range s {
		t := toHalf[x>>23]
		m, shift := x&(1<<23-1)|1<<23, t&31
		h := uint32(t)>>8 + (m+uint32(t>>32)+m>>shift&1)>>shift
		if x&^floatSign > floatInf {
			h = x>>16&0x8000 | 0x7e00
		}
		d[i] = uint16(h)
	}
}

// fromHalf has the float's bits for a half's mantissa: one table for subnormal numbers, one for
// normal numbers, and one for numbers that are not finite. A fourth table lets two bits select one
// without a bounds check.
var fromHalf = func() (table [4][1 << 10]uint32) {
	for m := range uint32(1 << 10) {
		table[0][m] = math.Float32bits(float32(m) * 0x1p-24)
		table[1][m] = m << 13
		table[2][m] = floatNaN
	}
	table[2][0] = floatInf
	return table
}()

// halfExponents has an entry for each sign and exponent of a half: the float's bits that are not
// in fromHalf, and in the low bits the number of the fromHalf table to use.
var halfExponents = func() (table [64]uint32) {
	for i := range table {
		table[i] = uint32(i) >> 5 << 31
		switch exponent := uint32(i) & 31; exponent {
		case 0:
		case 31:
			table[i] |= 2
		default:
			table[i] |= (exponent+112)<<23 | 1
		}
	}
	return table
}()

func halfToFloat(dst, src unsafe.Pointer, n int64) {
	d, s := unsafe.Slice((*uint32)(dst), n), unsafe.Slice((*uint16)(src), n)
	for i, h := range s {
		t := halfExponents[h>>10]
		d[i] = t&^3 | fromHalf[t&3][h&(1<<10-1)]
	}
}
