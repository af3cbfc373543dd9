// Shared by kernels that compute with elements: elements as floats of 32 bits.

#include "kernel.h"
#include "conversions.h"
#include "cast.h"

// single reads an element as a float of 32 bits.
INLINED u32 PASTE(NAME, _single)(GLOBAL const u8 *from, i64 at, const Number is) {
	if (is.kind == KIND_FLOAT && is.bits == 32) {
		return ((GLOBAL const u32 *)from)[at];
	}
	if (is.kind == KIND_FLOAT && is.bits == 16) {
		const u32 x = ((GLOBAL const u16 *)from)[at];
		return is.mantissa == 10 ? float_of_half(x, 32) : x << 16;
	}
	return (u32)PASTE(NAME, _cast)(PASTE(NAME, _bits)(from, at, is.bits), is, number_of(SINGLE));
}

// read converts n contiguous floats, of 16 or 32 bits, to floats of 32 bits. A NaN becomes any
// NaN.
INLINED void PASTE(NAME, _read)(u32 *v, GLOBAL const Piece128 *from, u32 n, const Number is) {
	if (is.bits == 32) {
		UNROLL
		for (u32 k = 0; k < n / 4; k++) {
			words_128(v + 4 * k, from[k]);
		}
		return;
	}
	UNROLL
	for (u32 k = 0; k < n / 8; k++) {
		u32 words[4];
		words_128(words, from[k]);
		UNROLL
		for (u32 j = 0; j < 8; j++) {
			const u32 x = words[j / 2] >> (j % 2 * 16) & 0xffff;
			v[8 * k + j] = is.mantissa == 10 ? float_of_half(x, 8) : x << 16;
		}
	}
}
