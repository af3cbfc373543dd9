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

// fitted rounds to the nearest number of a smaller format. Only the low bits of what it
// returns count, without the sign.
DEVICE u32 fitted(u32 x, const Fit f) {
	u32 a = x & 0x7fffffff;
	a = a > 0x7f800000 ? f.nan : MIN(a, f.most);
	const u32 power = MAX(a, f.least) & 0x7f800000;
	return AS_BITS(AS_FLOAT(a) + AS_FLOAT(power + f.addend)) + (power >> f.drop);
}

// floats_of_four rounds four floats to a format of up to 8 bits, a byte each.
DEVICE u32 floats_of_four(const u32 *x, const Number to, const Fit f, u32 bits) {
	u32 v[4];
	UNROLL
	for (u32 k = 0; k < 4; k++) {
		v[k] = x[k];
		if (bits == 4) { // has no NaN: it is -0, or the largest number
			v[k] = is_nan(v[k]) ? (to.legacy ? f.most : 0x80000000) : v[k];
		}
	}
	const u32 values = pack_bytes(fitted(v[0], f), fitted(v[1], f), fitted(v[2], f), fitted(v[3], f));
	u32 signs = pack_bytes(v[0] >> 24, v[1] >> 24, v[2] >> 24, v[3] >> 24) & 0x80808080;
	if (bits == 4) {
		return (values & 0x07070707) | signs >> 4;
	}
	if (to.special == SPECIAL_NEGATIVE_ZERO) { // neither zero nor NaN has a sign
		signs &= (values & 0x7f7f7f7f) + 0x7f7f7f7f;
	}
	return values | signs;
}

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

// truncated is the integer part of a float without a sign, or the largest integer of 32
// bits; 0 of NaN.
DEVICE u32 truncated(u32 a) {
#ifdef TRUNCATED
	return TRUNCATED(a);
#else
	const u32 m = (a & 0x007fffff) | 0x00800000, power = a >> 23;
	if (power >= 159) {
		return is_nan(a) ? 0 : 0xffffffff;
	}
	return power >= 150 ? m << (power - 150) : m >> MIN(150 - power, 31);
#endif
}

// integer_of truncates to an integer type of some bits.
DEVICE u32 integer_of(u32 x, const Number to, u32 bits) {
	const u32 wraps = bits < 8 && !to.legacy, negative = x >> 31;
	u32 v = truncated(x & 0x7fffffff);
	if (wraps) { // what is too large ends in zeros
		v = (x & 0x7fffffff) >= 0x4f800000 ? 0 : v;
	} else {
		const u32 all = 0xffffffff >> (32 - bits);
		const u32 most = to.kind == KIND_INT ? (all >> 1) + negative : negative ? 0 : all;
		v = MIN(v, most);
	}
	return negative ? 0 - v : v;
}

// scale_of_float rounds to a power of two, which may be out of range then.
DEVICE u32 scale_of_float(u32 x, const Number to) {
	const u32 nan = to.excess == EXCESS_NAN, a = x & 0x7fffffff;
	const u32 zeros = a < 0x00800000 ? LEADING32(a | 1) - 8 : 0; // of a subnormal number
	const u32 fraction = a << 9 << zeros;
	i32 power = (i32)(a >> 23) - (i32)zeros + (a < 0x00800000);
	power += to.direction == SCALE_UP ? fraction != 0 : to.direction == SCALE_NEAREST ? fraction >> 31 : 0;
	if (a > 0x7f800000) {
		return 255;
	}
	if (a == 0 || power < 0) {
		return nan ? 255 : 0;
	}
	return power > 254 ? 254 + nan : (u32)power;
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
	return (fitted(x, f) & 0x7fff) | (x >> 16 & 0x8000);
#endif
}

// float_of_half is exact.
DEVICE u32 float_of_half(u32 h) {
	const u32 a = h & 0x7fff, sign = (h & 0x8000) << 16;
	if (a > 0x7c00) {
		return sign | 0x7fc00000;
	}
#ifdef FLOAT_OF
	return FLOAT_OF(h);
#else
	return sign | (a == 0x7c00 ? 0x7f800000 : a < 0x0400 ? AS_BITS((float)a * 0x1p-24f) : (a << 13) + (112u << 23));
#endif
}
