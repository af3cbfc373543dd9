// Sums and products of floats of 64 bits, as their bits: like arithmetic.h, for double, which
// devices may lack.

#pragma once
#include "common.h"

#ifndef DOUBLE_SUM_OF

#define DOUBLE_SIGN 0x8000000000000000
#define DOUBLE_INFINITY 0x7ff0000000000000
#define DOUBLE_NAN 0x7ff8000000000000

// nearest_double is the double nearest to m * 2^e.
DEVICE u64 nearest_double(u64 m, i32 e, u64 sign) {
	if (m == 0) {
		return sign;
	}
	const i32 zeros = LEADING64(m), power = e + 63 - zeros + 1023;
	if (power >= 2047) {
		return sign | DOUBLE_INFINITY;
	}
	const i32 drop = 11 + (power < 1 ? 1 - power : 0); // bits that are dropped
	const u64 all = m << zeros, middle = (u64)1 << (MIN(drop, 64) - 1), rest = all & (middle + middle - 1);
	u64 r = drop < 64 ? all >> drop : 0;
	r += drop <= 64 && (rest > middle || (rest == middle && (r & 1)));
	return (r + (power > 1 ? (u64)(power - 1) << 52 : 0)) | sign;
}

// double_significand and double_exponent split a finite double: its magnitude is significand *
// 2^exponent.
DEVICE u64 double_significand(u64 x) { return (x & 0xfffffffffffff) | (u64)((x & DOUBLE_INFINITY) != 0) << 52; }
DEVICE i32 double_exponent(u64 x) { return MAX((i32)(x >> 52 & 2047), 1) - 1075; }

DEVICE u32 is_finite_double(u64 x) { return (x & DOUBLE_INFINITY) != DOUBLE_INFINITY; }

// product_of_doubles and sum_of_doubles exclude NaN, and include infinities.
DEVICE u64 product_of_doubles(u64 a, u64 b) {
	const u64 sign = (a ^ b) & DOUBLE_SIGN;
	if ((a & ~DOUBLE_SIGN) == 0 || (b & ~DOUBLE_SIGN) == 0) {
		return is_finite_double(a) && is_finite_double(b) ? sign : DOUBLE_NAN;
	}
	if (!is_finite_double(a) || !is_finite_double(b)) {
		return sign | DOUBLE_INFINITY;
	}
	// With their highest bits in front, the upper half has the highest bits of the product.
	// Below these, any bit will do.
	const i32 up = LEADING64(double_significand(a)), down = LEADING64(double_significand(b));
	const u64 x = double_significand(a) << up, y = double_significand(b) << down;
	return nearest_double(HIGH64(x, y) | (x * y != 0), double_exponent(a) + double_exponent(b) + 64 - up - down, sign);
}

DEVICE u64 sum_of_doubles(u64 a, u64 b) {
	if (!is_finite_double(a) || !is_finite_double(b)) {
		return !is_finite_double(a) && !is_finite_double(b) && a != b ? DOUBLE_NAN : is_finite_double(a) ? b : a;
	}
	// As for floats of 32 bits.
	const u64 x = (a & ~DOUBLE_SIGN) < (b & ~DOUBLE_SIGN) ? b : a, y = x == a ? b : a;
	const i32 e = double_exponent(x), apart = e - double_exponent(y);
	const u64 large = double_significand(x) << 10, small = double_significand(y) << 10;
	const u64 kept = apart < 64 ? small >> apart : 0, lost = apart < 64 ? (kept << apart) != small : small != 0;
	if (((x ^ y) & DOUBLE_SIGN) == 0) {
		return nearest_double(large + (kept | lost), e - 10, x & DOUBLE_SIGN);
	}
	const u64 m = large - kept - lost;
	return nearest_double(m | lost, e - 10, m == 0 ? 0 : x & DOUBLE_SIGN);
}

#define DOUBLE_SUM_OF(a, b) sum_of_doubles(a, b)
#define DOUBLE_PRODUCT_OF(a, b) product_of_doubles(a, b)
#endif
