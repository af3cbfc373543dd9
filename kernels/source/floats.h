// What casts of dense elements do with floats of 32 bits, as their bits. Rounding by an
// addition does not depend on how a device treats subnormal numbers: the added constant makes
// them normal.

#pragma once
#include "numbers.h"

// is_nan reports whether a float is NaN.
DEVICE u32 is_nan(u32 x) { return (x & 0x7fffffff) > 0x7f800000; }

// Fit describes rounding to a smaller format of up to 16 bits: a magnitude above most becomes
// most, whose exponent may exceed the format's. least is the smallest normal number, step what
// a number and its pattern grow by with its exponent, and nan the pattern of NaN.
typedef struct {
	u32 most, nan, least, step, addend;
} Fit;

DEVICE Fit fit_of(const Number to) {
	Fit f;
	const u32 mantissa = (u32)to.mantissa & 31;
	const u32 sign = 1u << ((to.exponent + mantissa) & 31);
	const u32 top = to.special == SPECIAL_IEEE ? 1u << mantissa : to.special == SPECIAL_ALL_ONES;
	const u32 first = (u32)(128 - to.bias); // exponent of least
	const u32 drop = 23 - mantissa;
	f.least = first << 23;
	const u32 below = f.least - (1u << 23);
	const u32 most = sign - 1 - top + (to.excess != EXCESS_LARGEST);
	const u32 finite = to.special == SPECIAL_FINITE, without = finite ? (to.legacy ? sign - 1 : sign) : sign - top + (top >> 1);
	f.most = (most << (drop & 31)) + below;
	f.nan = to.special == SPECIAL_NEGATIVE_ZERO ? sign : without;
	f.step = (1u << 23) + (1u << mantissa);
	f.addend = (drop << 23) - (first << mantissa);
	return f;
}

// fitted rounds a magnitude to the nearest number of a smaller format. Only the low bits of the
// result are valid, and none for NaN.
DEVICE u32 fitted(u32 a, const Fit f) {
	a = MIN(a, f.most);
	const u32 exponent = MAX(a, f.least) >> 23;
	return AS_BITS(AS_FLOAT(a) + AS_FLOAT(exponent * f.step + f.addend));
}

// four_bytes packs the low bytes of four words, the first one lowest.
DEVICE u32 four_bytes(const u32 *v) { return pack_bytes(v[0], v[1], v[2], v[3]); }

// float_of_integer converts an integer of 32 bits to the nearest float, or, if it is to be
// rounded again, to a float that later roundings treat like the integer: odd if not exact.
DEVICE u32 float_of_integer(u32 v, u32 sign, u32 odd) {
	const u32 negative = sign ? v & 0x80000000 : 0;
	u32 m = negative ? 0 - v : v;
	if (odd && m >> 24) {
		m = (m & 0xffffff00) | ((m & 0xff) != 0) << 8;
	}
	return AS_BITS((float)m) | negative;
}

#ifndef INTEGER_OF
// truncated is the integer part of a magnitude, or the largest integer of 32 bits; 0 for NaN.
DEVICE u32 truncated(u32 a) {
	const u32 m = (a & 0x007fffff) | 0x00800000, power = a >> 23;
	if (power >= 159) {
		return is_nan(a) ? 0 : 0xffffffff;
	}
	return power >= 150 ? m << (power - 150) : m >> MIN(150 - power, 31);
}

#define CARDINAL_OF(x) ((x) >> 31 ? 0 : truncated(x))

DEVICE i32 integer_part(u32 x) {
	const u32 negative = x >> 31, most = 0x7fffffff + negative, v = truncated(x & 0x7fffffff);
	return (i32)(negative ? 0 - MIN(v, most) : MIN(v, most));
}

// nearest_part is the nearest integer, an even one if two are as near: what a power of two
// whose last bit is 1 grows by.
DEVICE i32 nearest_part(u32 x) {
	const u32 a = x & 0x7fffffff, v = a < 0x4b000000 ? AS_BITS(AS_FLOAT(a) + 8388608.0f) - 0x4b000000 : MIN(truncated(a), 0x7fffffff);
	return (i32)(x >> 31 ? 0 - v : v);
}

#define INTEGER_OF(x) integer_part(x)
#define NEAREST_OF(x) nearest_part(x)
#endif

// integer_of makes an integer type of some bits: the nearest integer if it is below a byte,
// else the integer part.
DEVICE u32 integer_of(u32 x, const Number to, u32 bits) {
	const u32 signs = to.kind == KIND_INT, all = 0xffffffff >> (32 - bits);
	if (bits == 32) {
		return signs ? (u32)INTEGER_OF(x) : CARDINAL_OF(x);
	}
	const i32 v = bits < 8 ? NEAREST_OF(x) : INTEGER_OF(x);
	if (bits < 8 && !to.legacy) { // low bits are kept: of what is too large, zeros
		return (x & 0x7fffffff) >= 0x4f000000 ? 0 : (u32)v;
	}
	const i32 most = (i32)(signs ? all >> 1 : all), least = signs ? -most - 1 : 0;
	return (u32)MIN(MAX(v, least), most);
}

// scale_up is the addend that rounds a magnitude to a power of two.
DEVICE u32 scale_up(const Number to) {
	return to.direction == SCALE_UP ? 0x7fffff : to.direction == SCALE_NEAREST ? 0x400000 : 0;
}

// scale_of_float rounds a magnitude to a power of two, clamped to 2^-127 to 2^127. The result
// for NaN is unspecified.
DEVICE u32 scale_of_float(u32 a, u32 up) {
	a = MAX(a, 0x00400000);
	a = MIN(a, 0x7f000000);
	const i32 below = MIN((i32)(a - 0x00800000), 0); // 2^-126, as if exponents went on
	return (a + up + below) >> 23;
}

// exact_scale is NaN where no scale equals the number.
DEVICE u32 exact_scale(u32 a, u32 up) {
	const u32 tiny = a < 0x00800000; // subnormal numbers are counted in units
	const i32 power = (i32)(((tiny ? AS_BITS((float)a) : a) + up) >> 23) - (tiny ? 149 : 0);
	return MIN((u32)power, 255);
}

// bfloat_of_number and half_of_number round to the nearest one. The result for NaN is
// unspecified.
DEVICE u32 bfloat_of_number(u32 x) { return (x + 0x7fff + (x >> 16 & 1)) >> 16; }

DEVICE u32 half_of_number(u32 x, const Fit f) {
#ifdef HALF_OF
	return HALF_OF(x);
#else
	return (fitted(x & 0x7fffffff, f) & 0x7fff) | (x >> 16 & 0x8000);
#endif
}

// bfloat_of_float rounds to the nearest one, or towards zero.
DEVICE u32 bfloat_of_float(u32 x, u32 truncate) {
	return is_nan(x) ? (x >> 16 & 0x8000) | 0x7fc0 : truncate ? x >> 16 : bfloat_of_number(x);
}

// half_of_float rounds to the nearest one.
DEVICE u32 half_of_float(u32 x, const Fit f) {
	return is_nan(x) ? (x >> 16 & 0x8000) | 0x7e00 : half_of_number(x, f);
}

// float_of_half is exact. A NaN that is to become an element of fewer bits stays a NaN, below
// 16 bits without its sign.
DEVICE u32 float_of_half(u32 h, u32 bits) {
	const u32 a = h & 0x7fff, sign = (h & 0x8000) << 16;
#ifdef FLOAT_OF
	if (bits < 32) {
		return bits < 16 ? FLOAT_OF(h) : FLOAT_OF(h) | sign;
	}
	return choose(0x80000000, h << 16, MIN(FLOAT_OF(a), 0x7fc00000)); // the least quiet NaN
#else
	const u32 number = sign | (a == 0x7c00 ? 0x7f800000 : a < 0x0400 ? AS_BITS((float)a * 0x1p-24f) : (a << 13) + (112u << 23));
	return a > 0x7c00 ? sign | 0x7fc00000 : number;
#endif
}
