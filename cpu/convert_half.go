package cpu

import (
	"math"
	"unsafe"
)

// Conversions between float16 and float32 by tables of exponents: branches for subnormal
// numbers and those out of range cost several times as much where they cannot be foreseen.

// toHalf has, by a float's sign and exponent, what its mantissa, with the leading bit, is
// shifted by, in the low byte, half of what that cuts off, less one, in the high word, and
// what is added then.
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

// fromHalf has what a half's mantissa is, as a float: of subnormal numbers, of normal ones,
// and of what is not finite. A fourth table lets two bits choose one without a check.
var fromHalf = func() (table [4][1 << 10]uint32) {
	for m := range uint32(1 << 10) {
		table[0][m] = math.Float32bits(float32(m) * 0x1p-24)
		table[1][m] = m << 13
		table[2][m] = floatNaN
	}
	table[2][0] = floatInf
	return table
}()

// halfExponents has, by a half's sign and exponent, the bits of the float that are not in
// fromHalf, and in the low ones which of its tables has the others.
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
