// Conversions of 64-bit types in casts on a GPU, by arithmetic on integers: a device may lack
// double. A value that is rounded again later is rounded to an odd float first: of the two
// nearest, the one that ends in a one, unless it is exact.

#pragma once
#include "floats.h"

// double_of_float is exact.
DEVICE u64 double_of_float(u32 x) {
	const u32 a = x & 0x7fffffff, tiny = a < 0x00800000;
	const u32 b = tiny ? AS_BITS((float)a) : a; // subnormal numbers are counted in units
	const u32 high = (b >> 3) + ((tiny ? 896 - 149 : 896) << 20);
	const u64 number = a == 0 ? 0 : (u64)high << 32 | b << 29;
	return (a < 0x7f800000 ? number : a == 0x7f800000 ? 0x7ff0000000000000 : 0x7ff8000000000000) | (u64)(x >> 31) << 63;
}

// double_of_integer rounds an integer to the nearest double, ties to even.
DEVICE u64 double_of_integer(u64 x, u32 sign) {
	const u64 negative = sign ? x & 0x8000000000000000 : 0, m = negative ? 0 - x : x;
	const u32 zeros = LEADING64(m | 1);
	const u64 all = m << zeros, kept = all >> 11;
	const u32 rest = (u32)all << 21, up = rest > 0x80000000 || (rest == 0x80000000 && (kept & 1));
	return m == 0 ? 0 : (kept + up + ((u64)(1085 - zeros) << 52)) | negative;
}

// odd_float_of_integer rounds an integer to an odd float.
DEVICE u32 odd_float_of_integer(u64 x, u32 sign) {
	const u32 negative = sign ? (u32)(x >> 32) & 0x80000000 : 0;
	const u64 m = negative ? 0 - x : x;
	const u32 zeros = LEADING64(m | 1);
	const u64 all = m << zeros;
	const u32 kept = (u32)(all >> 40) | ((all & 0xffffffffff) != 0);
	return m == 0 ? 0 : (kept + ((189 - zeros) << 23)) | negative;
}

// float_of_double rounds a double to the nearest float, ties to even; or to an odd one. excess
// is the result for too large a number.
DEVICE u32 float_of_double(u64 x, u32 odd, u32 excess) {
	const u32 high = (u32)(x >> 32), sign = high & 0x80000000, exponent = high >> 20 & 2047;
	const u64 a = x & 0x7fffffffffffffff;
	if (a > 0x7ff0000000000000) {
		return sign | 0x7fc00000;
	}
	if (exponent > 1150) {
		return sign | (exponent < 2047 ? excess : 0x7f800000);
	}
	// A significand of 24 bits, and the bits below it: fewer for subnormal floats.
	const u64 m = (a & 0x000fffffffffffff) << 3 | (u64)(exponent != 0) << 55;
	const u32 first = MAX(exponent, 897), drop = MIN(first - exponent, 26);
	const u64 kept = m >> drop;
	const u32 rest = (u32)kept | ((kept << drop) != m), r = (u32)(kept >> 32);
	const u32 up = odd ? (rest != 0 && (r & 1) == 0) : rest > 0x80000000 || (rest == 0x80000000 && (r & 1));
	return (r + up + ((first - 897) << 23)) | sign;
}

// whole makes an integer of m * 2^power, as to_integer does. infinite, or not a number: m is.
DEVICE u64 whole(u64 m, i32 power, u32 negative, u32 infinite, u32 bits, const Number to) {
	const i32 length = 64 - (i32)LEADING64(m | 1) + power;
	u64 v = power >= 0 ? m << MIN(power, 63) : m >> MIN(-power, 63);
	if (bits < 8 && power < 0) {
		const u64 middle = (u64)1 << (MIN(-power, 63) - 1), rest = m & (middle + middle - 1);
		v += rest > middle || (rest == middle && (v & 1));
	}
	if (bits < 8 && !to.legacy) {
		v = infinite || power > 63 ? 0 : v;
	} else {
		const u64 all = ~(u64)0 >> (64 - bits), most = to.kind == KIND_INT ? (all >> 1) + negative : negative ? 0 : all;
		v = infinite || length > (i32)bits || v > most ? most : v;
	}
	return negative ? 0 - v : v;
}

// whole_of_double and whole_of_float convert to integers of some bits; 0 for NaN.
DEVICE u64 whole_of_double(u64 x, u32 bits, const Number to) {
	const u32 exponent = (u32)(x >> 52) & 2047, negative = (u32)(x >> 63);
	const u64 a = x & 0x7fffffffffffffff, m = (x & 0x000fffffffffffff) | (u64)(exponent != 0) << 52;
	return a > 0x7ff0000000000000 ? 0 : whole(m, (i32)exponent - 1075, negative, exponent == 2047, bits, to);
}

DEVICE u64 whole_of_float(u32 x, u32 bits, const Number to) {
	const u32 exponent = x >> 23 & 255, m = (x & 0x007fffff) | (exponent != 0) << 23;
	return is_nan(x) ? 0 : whole(m, (i32)exponent - 150, x >> 31, exponent == 255, bits, to);
}

// narrowed rounds an odd float to a float of up to 16 bits.
DEVICE u32 narrowed(u32 x, u32 bits, const Number to) {
	if (bits == 16) {
		return to.mantissa == 10 ? half_of_float(x, fit_of(to)) : bfloat_of_float(x, to.truncate);
	}
	const Fit fit = fit_of(to);
	const u32 a = x & 0x7fffffff;
	if (is_nan(x) && (to.scale || to.special == SPECIAL_FINITE)) {
		return fit.nan;
	}
	if (to.scale) {
		return to.excess == EXCESS_NAN ? exact_scale(a, scale_up(to)) : scale_of_float(a, scale_up(to));
	}
	const u32 r = is_nan(x) ? fit.nan : fitted(a, fit) & (bits == 8 ? 0xff : 7);
	const u32 sign = to.special == SPECIAL_NEGATIVE_ZERO && (r & 0x7f) == 0 ? 0 : x >> 31; // neither zero nor NaN has one
	return r | sign << (bits - 1);
}
