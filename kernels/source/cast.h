// cast: elements of any width up to SBITS, 32 or 64, to elements of DBITS bits, by value. It
// gives element.h and pack.h, which determine positions, LOAD and CONVERT; and lookup.h the
// entries of its table.
//
// Arithmetic is on integers, as a device may lack double and may flush subnormal numbers to
// zero; direct uses floats where neither matters.
//
// A kernel for a PAIR of types knows FROM and TO at compile time; little of this code remains
// then, inlined into one function.

#include "kernel.h"
#include "conversions.h"

#if SBITS == 64
#define WIDE_BITS u64
#else
#define WIDE_BITS u32
#endif

#if SBITS <= 32 && DBITS <= 32
#define MAGNITUDE u32
#define WIDTH 32
#define LEADING(x) LEADING32(x)
#else
#define MAGNITUDE u64
#define WIDTH 64
#define LEADING(x) LEADING64(x)
#endif

// CASTING begins each function of a cast.
#if PAIR
#define CASTING INLINED
#else
#define CASTING DEVICE
#endif

#if CAST
#if PAIR
#define SETUP const Number is = number_of(FROM), becomes = number_of(TO);
#else
#define SETUP const Number is = number_of(lo), becomes = number_of(hi);
#endif
#define LOADED PASTE(u, SBITS)
#define LOAD(at) PASTE(NAME, _bits)(src, at, is.bits)
#if SERIAL
#define CONVERT(x) PASTE(NAME, _cast)(x, is, becomes)
#else
#define CONVERT(x) PASTE(NAME, _direct)(x, is, becomes)
#endif
#endif

#if CAST || SCALES
// bits reads the element at a position.
CASTING WIDE_BITS PASTE(NAME, _bits)(GLOBAL const u8 *src, i64 at, u32 bits) {
#if SBITS == 64
	return ((GLOBAL const u64 *)src)[at];
#else
	if (bits == 32) {
		return ((GLOBAL const u32 *)src)[at];
	}
	if (bits == 16) {
		return ((GLOBAL const u16 *)src)[at];
	}
	if (bits == 8) {
		return src[at];
	}
	return bits == 4 ? src[at >> 1] >> (at & 1) * 4 & 15 : src[at >> 2] >> (at & 3) * 2 & 3;
#endif
}
#endif

// to_integer makes an integer of m * 2^e, which is not zero: the nearest one below a byte, else
// the integer part.
CASTING MAGNITUDE PASTE(NAME, _to_integer)(MAGNITUDE m, i32 e, u32 negative, u32 infinite, const Number to) {
	const i32 length = WIDTH - (i32)LEADING(m) + e; // in bits
	MAGNITUDE v = e >= 0 ? (e < WIDTH ? m << e : 0) : (-e < WIDTH ? m >> -e : 0);
	if (DBITS < 8 && e < 0 && -e <= WIDTH) {
		const MAGNITUDE middle = (MAGNITUDE)1 << (-e - 1), rest = m & (middle + middle - 1);
		v += rest > middle || (rest == middle && (v & 1));
	}
	if (DBITS < 8 && !to.legacy) {
		v = infinite ? 0 : v;
	} else {
		const MAGNITUDE all = ~(MAGNITUDE)0 >> (WIDTH - DBITS);
		const MAGNITUDE most = to.kind == KIND_INT ? (all >> 1) + negative : negative ? 0 : all;
		v = infinite || length > DBITS || v > most ? most : v;
	}
	return negative ? 0 - v : v;
}

// to_scale rounds m * 2^e to a power of two, which may be out of range then.
CASTING MAGNITUDE PASTE(NAME, _to_scale)(MAGNITUDE m, i32 e, u32 infinite, const Number to) {
	const i32 most = (1 << to.exponent) - 2;
	const u32 nan = to.excess == EXCESS_NAN;
	if (infinite) {
		return most + nan;
	}
	if (m == 0) {
		return nan ? most + 1 : 0;
	}
	const i32 zeros = (i32)LEADING(m);
	const MAGNITUDE fraction = m << zeros << 1;
	const u32 middle = (u32)(fraction >> (WIDTH - 1));
	const i32 power = e + WIDTH - 1 - zeros + to.bias + (to.direction == SCALE_UP ? fraction != 0 : to.direction == SCALE_NEAREST ? middle : 0);
	if (power < 0) {
		return nan ? most + 1 : 0;
	}
	return power > most ? most + nan : power;
}

// to_float rounds m * 2^e to the nearest float, ties to even, or towards zero.
CASTING MAGNITUDE PASTE(NAME, _to_float)(MAGNITUDE m, i32 e, u32 negative, u32 infinite, u32 nan, const Number to) {
	const MAGNITUDE one = 1;
	const MAGNITUDE sign = one << (to.exponent + to.mantissa);
	const MAGNITUDE top = to.special == SPECIAL_IEEE ? (one << to.mantissa) : to.special == SPECIAL_ALL_ONES;
	const MAGNITUDE most = sign - 1 - top; // the largest finite number
	MAGNITUDE r = 0;
	if (infinite) {
		r = most + 1;
	} else if (m != 0) {
		const i32 zeros = (i32)LEADING(m);
		const i32 power = e + WIDTH - 1 - zeros + to.bias;
		const i32 drop = WIDTH - 1 - to.mantissa + (power < 1 ? 1 - power : 0);
		m <<= zeros;
		if (drop <= WIDTH) {
			const MAGNITUDE middle = one << (drop - 1), rest = m & (middle + middle - 1);
			r = drop < WIDTH ? m >> drop : 0;
			r += !to.truncate && (rest > middle || (rest == middle && (r & 1)));
		}
		if (power > 1) {
			r += (MAGNITUDE)(power - 1) << to.mantissa;
		}
		if (to.truncate && r > most) {
			r = most;
		}
	}
	if (r > most) {
		nan |= to.excess == EXCESS_NAN;
		r = to.excess == EXCESS_LARGEST ? most : most + 1;
	}
	if (nan) {
		if (to.special == SPECIAL_FINITE) {
			return to.legacy ? most : sign;
		}
		if (to.special == SPECIAL_NEGATIVE_ZERO) {
			return sign;
		}
		r = sign - top + (top >> 1); // the quiet NaN
	}
	if (negative && !(r == 0 && to.special == SPECIAL_NEGATIVE_ZERO)) {
		r |= sign;
	}
	return r;
}

// cast converts an element.
CASTING MAGNITUDE PASTE(NAME, _cast)(MAGNITUDE x, const Number from, const Number to) {
	MAGNITUDE m = x;
	i32 e = 0;
	u32 negative = 0, infinite = 0, nan = 0;
	if (from.kind == KIND_FLOAT) {
		const MAGNITUDE one = 1;
		const MAGNITUDE fraction = (one << from.mantissa) - 1;
		const u32 highest = (1u << from.exponent) - 1;
		const u32 exponent = (u32)(x >> from.mantissa) & highest;
		m = x & fraction;
		negative = from.scale ? 0 : (u32)(x >> (from.bits - 1)) & 1;
		if (from.special == SPECIAL_IEEE) {
			infinite = exponent == highest && m == 0;
			nan = exponent == highest && m != 0;
		} else if (from.special == SPECIAL_ALL_ONES) {
			nan = exponent == highest && m == fraction;
		} else if (from.special == SPECIAL_NEGATIVE_ZERO) {
			nan = negative && exponent == 0 && m == 0;
			negative = nan ? 0 : negative;
		}
		e = (exponent == 0 && !from.scale ? 1 : (i32)exponent) - from.bias - from.mantissa;
		m |= exponent == 0 && !from.scale ? 0 : one << from.mantissa;
	} else if (from.kind == KIND_BOOL) {
		m = x != 0;
	} else if (from.kind == KIND_INT) {
		negative = (u32)(x >> (from.bits - 1)) & 1;
		m = negative ? (0 - x) & (~(MAGNITUDE)0 >> (WIDTH - from.bits)) : x;
	}
	if (to.kind == KIND_BOOL) {
		return infinite || nan || m != 0;
	}
	if (to.kind == KIND_FLOAT) {
		if (!to.scale) {
			return PASTE(NAME, _to_float)(m, e, negative, infinite, nan, to);
		}
		return nan ? ~(MAGNITUDE)0 : PASTE(NAME, _to_scale)(m, e, infinite, to);
	}
	if (from.kind != KIND_FLOAT) {
		return negative ? 0 - m : m;
	}
	return nan || (m == 0 && !infinite) ? 0 : PASTE(NAME, _to_integer)(m, e, negative, infinite, to);
}

#if CAST && !SERIAL
// direct is cast in fewer instructions where possible: between integers, which are extended,
// between types one of which has 64 bits, and, for a pair of types, through a float.
INLINED MAGNITUDE PASTE(NAME, _direct)(MAGNITUDE x, const Number from, const Number to) {
	const MAGNITUDE sign = from.kind == KIND_INT ? (MAGNITUDE)1 << (from.bits - 1) : 0;
	const MAGNITUDE extended = (x ^ sign) - sign;
	if (from.kind <= KIND_INT && to.kind <= KIND_INT) {
		return extended;
	}
#if SBITS == 64
	if (from.kind == KIND_FLOAT && to.kind <= KIND_INT) {
		return whole_of_double(x, DBITS, to);
	}
	if (to.kind == KIND_BOOL) {
		return (from.kind == KIND_FLOAT ? x << 1 : x) != 0;
	}
#if DBITS == 64
	if (from.kind <= KIND_INT) {
		return double_of_integer(x, from.kind == KIND_INT);
	}
#elif DBITS == 32
	return from.kind == KIND_FLOAT ? float_of_double(x, 0, 0x7f800000) : from.kind == KIND_INT ? AS_BITS((float)(i64)x) : AS_BITS((float)x);
#else
	const u32 excess = to.truncate ? 0x7f7fffff : 0x7f800000; // becomes finite when rounded towards zero
	return narrowed(from.kind == KIND_FLOAT ? float_of_double(x, 1, excess) : odd_float_of_integer(x, from.kind == KIND_INT), DBITS, to);
#endif
#elif DBITS == 64
	if (from.kind <= KIND_INT) {
		return double_of_integer(extended, 1);
	}
	if (from.kind == KIND_FLOAT && from.bits >= 16) {
		const u32 v = from.bits == 32 ? (u32)x : from.mantissa == 10 ? float_of_half((u32)x, 32) : (u32)x << 16;
		return to.kind == KIND_FLOAT ? double_of_float(v) : whole_of_float(v, 64, to);
	}
#endif
#if PAIR && SBITS == 32
	if (to.bits >= 16) {
		if (from.kind == KIND_INT || from.kind == KIND_UINT) {
			x = AS_BITS((float)(i32)extended); // at most 16 bits
		} else if (from.bits == 16 && from.mantissa == 10) {
			x = float_of_half(x, 32);
		} else if (from.bits == 16) {
			x = is_nan(x << 16) ? (x << 16 & 0x80000000) | 0x7fc00000 : x << 16;
		}
		if (from.kind != KIND_FLOAT || from.bits >= 16) {
			return to.bits == 32 ? x : to.mantissa == 10 ? half_of_float(x, fit_of(to)) : bfloat_of_float(x, to.truncate);
		}
	}
#endif
	return PASTE(NAME, _cast)(x, from, to);
}
#endif

#if !CAST
#define LEARN const Number is = number_of(lo), becomes = number_of(hi);
#define ELEMENT(x) PASTE(NAME, _cast)(x, is, becomes)
#define WHOLE_HALVES (is.kind <= KIND_INT && becomes.kind == KIND_FLOAT && becomes.mantissa == 10) // integers become halves
#endif

#undef WIDE_BITS
#undef MAGNITUDE
#undef WIDTH
#undef LEADING
#undef CASTING
