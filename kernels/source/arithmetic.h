// Arithmetic on floats of 32 bits, as their bits: one operation, rounded once, to the nearest
// float, ties to even. Devices may flush subnormal numbers to zero, and compilers may fuse a
// product and a sum; integer code avoids both. A NaN result may have the bits of any NaN.

#pragma once
#include "floats.h"

#define FLOAT_SIGN 0x80000000
#define FLOAT_INFINITY 0x7f800000
#define FLOAT_NAN 0x7fc00000

// nearest_float is the float nearest to m * 2^e.
DEVICE u32 nearest_float(u64 m, i32 e, u32 sign) {
	if (m == 0) {
		return sign;
	}
	const i32 zeros = LEADING64(m), power = e + 63 - zeros + 127;
	if (power >= 255) {
		return sign | FLOAT_INFINITY;
	}
	const i32 drop = 40 + (power < 1 ? 1 - power : 0); // bits that are dropped
	const u64 all = m << zeros, middle = (u64)1 << (MIN(drop, 64) - 1), rest = all & (middle + middle - 1);
	u32 r = drop < 64 ? (u32)(all >> drop) : 0;
	r += drop <= 64 && (rest > middle || (rest == middle && (r & 1)));
	return (r + (power > 1 ? (u32)(power - 1) << 23 : 0)) | sign;
}

// significand and exponent_of split a finite float: its magnitude is significand * 2^exponent.
DEVICE u32 significand(u32 x) { return (x & 0x7fffff) | ((x & FLOAT_INFINITY) != 0) << 23; }

DEVICE i32 exponent_of(u32 x) { return MAX((i32)(x >> 23 & 255), 1) - 150; }

DEVICE u32 is_finite(u32 x) { return (x & FLOAT_INFINITY) != FLOAT_INFINITY; }
DEVICE u32 is_zero(u32 x) { return (x & ~FLOAT_SIGN) == 0; }

#ifndef SUM_OF
DEVICE u32 product_of(u32 a, u32 b) {
	const u32 sign = (a ^ b) & FLOAT_SIGN;
	if (is_finite(a) && is_finite(b)) {
		return nearest_float((u64)significand(a) * significand(b), exponent_of(a) + exponent_of(b), sign);
	}
	return is_nan(a) || is_nan(b) || is_zero(a) || is_zero(b) ? FLOAT_NAN : sign | FLOAT_INFINITY;
}

DEVICE u32 sum_of(u32 a, u32 b) {
	if (!is_finite(a) || !is_finite(b)) {
		return is_nan(a) || is_nan(b) || (!is_finite(a) && !is_finite(b) && a != b) ? FLOAT_NAN : is_finite(a) ? b : a;
	}
	// The larger one has spare low bits for the bits shifted out of the other; below these, any
	// bit will do.
	const u32 x = (a & ~FLOAT_SIGN) < (b & ~FLOAT_SIGN) ? b : a, y = x == a ? b : a;
	const i32 e = exponent_of(x), apart = e - exponent_of(y);
	const u64 large = (u64)significand(x) << 38, small = (u64)significand(y) << 38;
	const u64 kept = apart < 64 ? small >> apart : 0, lost = apart < 64 ? (kept << apart) != small : small != 0;
	if (((x ^ y) & FLOAT_SIGN) == 0) {
		return nearest_float(large + (kept | lost), e - 38, x & FLOAT_SIGN);
	}
	const u64 m = large - kept - lost;
	return nearest_float(m | lost, e - 38, m == 0 ? 0 : x & FLOAT_SIGN);
}

#define SUM_OF(a, b) sum_of(a, b)
#define PRODUCT_OF(a, b) product_of(a, b)
#endif

#ifndef QUOTIENT_OF
DEVICE u32 quotient_of(u32 a, u32 b) {
	const u32 sign = (a ^ b) & FLOAT_SIGN;
	if (is_nan(a) || is_nan(b) || (is_zero(a) && is_zero(b)) || !(is_finite(a) || is_finite(b))) {
		return FLOAT_NAN;
	}
	if (is_zero(a) || !is_finite(b)) {
		return sign;
	}
	if (is_zero(b) || !is_finite(a)) {
		return sign | FLOAT_INFINITY;
	}
	// With their highest bits aligned, the quotient has at least 39 bits.
	const u32 up = LEADING32(significand(a)) - 8, down = LEADING32(significand(b)) - 8;
	const u64 n = (u64)(significand(a) << up) << 39, m = significand(b) << down;
	const u64 q = n / m;
	return nearest_float(q << 1 | (q * m != n), exponent_of(a) - exponent_of(b) - 40 - (i32)up + (i32)down, sign);
}

#define QUOTIENT_OF(a, b) quotient_of(a, b)
#endif
