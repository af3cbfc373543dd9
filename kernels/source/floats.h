// What casts of dense elements do with floats of 32 bits, as their bits. Rounding by
// an addition takes no part in how a device treats subnormal numbers: what counts is
// as large as a normal one.

// is_nan reports whether a float is not a number.
DEVICE u32 is_nan(u32 x) { return (x & 0x7fffffff) > 0x7f800000; }

// Fit is how floats are rounded to a smaller format of up to 16 bits: those that are
// larger than most are taken for it, NaN for nan; both are written as if the format's
// exponents went on. least is the smallest normal number.
typedef struct {
	u32 most, nan, least, drop, addend;
} Fit;

DEVICE Fit fit_of(const Number to) {
	Fit f;
	const u32 mantissa = (u32)to.mantissa & 31;
	const u32 sign = 1u << ((to.exponent + mantissa) & 31);
	const u32 top = to.special == SPECIAL_IEEE ? 1u << mantissa : to.special == SPECIAL_ALL_ONES;
	const u32 first = (u32)(128 - to.bias); // the exponent of least
	f.drop = 23 - mantissa;
	f.least = first << 23;
	const u32 below = f.least - (1u << 23);
	const u32 most = sign - 1 - top + (to.excess != EXCESS_LARGEST);
	const u32 nan = to.special == SPECIAL_NEGATIVE_ZERO ? sign : sign - top + (top >> 1);
	f.most = (most << (f.drop & 31)) + below;
	f.nan = (nan << (f.drop & 31)) + below;
	f.addend = (f.drop << 23) + ((0 - (first << mantissa)) & 0xffff);
	return f;
}

// fitted rounds a magnitude to the nearest number of a smaller format. Only the low bits
// of what it returns count. A format without NaN has the largest number for it.
DEVICE u32 fitted(u32 a, const Fit f, u32 has) {
	a = has && a > 0x7f800000 ? f.nan : MIN(a, f.most);
	const u32 power = MAX(a, f.least) & 0x7f800000;
	return AS_BITS(AS_FLOAT(a) + AS_FLOAT(power + f.addend)) + (power >> f.drop);
}

// four_bytes puts the low bytes of four words together, the first one lowest; four_tops
// the highest.
DEVICE u32 four_bytes(const u32 *v) { return pack_bytes(v[0], v[1], v[2], v[3]); }
DEVICE u32 four_tops(const u32 *v) { return bytes_of(bytes_of(v[0], v[1], 0x0073), bytes_of(v[2], v[3], 0x0073), 0x5410); }

// float_of_integer converts an integer of 32 bits to the nearest float, or, if it is to
// be rounded again, to one that is rounded as the integer would be: odd if not exact.
DEVICE u32 float_of_integer(u32 v, u32 sign, u32 odd) {
	const u32 negative = sign ? v & 0x80000000 : 0;
	u32 m = negative ? 0 - v : v;
	if (odd && m >> 24) {
		m = (m & 0xffffff00) | ((m & 0xff) != 0) << 8;
	}
	return AS_BITS((float)m) | negative;
}

#ifndef INTEGER_OF
// truncated is the integer part of a magnitude, or the largest integer of 32 bits; 0 of NaN.
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

#define INTEGER_OF(x) integer_part(x)
#endif

// integer_of truncates to an integer type of some bits.
DEVICE u32 integer_of(u32 x, const Number to, u32 bits) {
	const u32 signs = to.kind == KIND_INT, all = 0xffffffff >> (32 - bits);
	if (bits == 32) {
		return signs ? (u32)INTEGER_OF(x) : CARDINAL_OF(x);
	}
	const i32 v = INTEGER_OF(x);
	if (bits < 8 && !to.legacy) { // low bits are kept: of what is too large, zeros
		return (x & 0x7fffffff) >= 0x4f000000 ? 0 : (u32)v;
	}
	const i32 most = (i32)(signs ? all >> 1 : all), least = signs ? -most - 1 : 0;
	return (u32)MIN(MAX(v, least), most);
}

// scale_of_float rounds to a power of two, which may be out of range then.
DEVICE u32 scale_of_float(u32 x, const Number to) {
	const u32 a = x & 0x7fffffff, nan = to.excess == EXCESS_NAN;
	const u32 up = to.direction == SCALE_UP ? 0x7fffff : to.direction == SCALE_NEAREST ? 0x400000 : 0;
	const u32 tiny = a < 0x00800000; // subnormal numbers count their unit
	const i32 power = (i32)(((tiny ? AS_BITS((float)a) : a) + up) >> 23) - (tiny ? 149 : 0);
	const u32 beyond = power < 0 ? (nan ? 255 : 0) : 254 + nan;
	return a > 0x7f800000 ? 255 : (u32)power > 254 ? beyond : (u32)power;
}

// bfloat_of_float rounds to the nearest one, or towards zero.
DEVICE u32 bfloat_of_float(u32 x, u32 truncate) {
	const u32 r = truncate ? x : x + 0x7fff + (x >> 16 & 1);
	return is_nan(x) ? (x >> 16 & 0x8000) | 0x7fc0 : r >> 16;
}

// half_of_float rounds to the nearest one.
DEVICE u32 half_of_float(u32 x, const Fit f) {
#ifdef HALF_OF
	return is_nan(x) ? (x >> 16 & 0x8000) | 0x7e00 : HALF_OF(x);
#else
	return (fitted(x & 0x7fffffff, f, 1) & 0x7fff) | (x >> 16 & 0x8000);
#endif
}

// float_of_half is exact. Of NaN, what is to become an element of fewer bits is but NaN,
// below 16 bits without its sign.
DEVICE u32 float_of_half(u32 h, u32 bits) {
	const u32 a = h & 0x7fff, sign = (h & 0x8000) << 16;
#ifdef FLOAT_OF
	const u32 number = FLOAT_OF(h);
	if (bits < 32) {
		return bits < 16 ? number : number | sign;
	}
#else
	const u32 number = sign | (a == 0x7c00 ? 0x7f800000 : a < 0x0400 ? AS_BITS((float)a * 0x1p-24f) : (a << 13) + (112u << 23));
#endif
	return a > 0x7c00 ? sign | 0x7fc00000 : number;
}
