// value: casts from elements of 16 or 32 bits. Values of any type pass through a float of 32
// bits, or an integer of 32 where both sides are integers; the types are the same for all
// work-items.

#include "kernel.h"
#include "conversions.h"

#define ITEMS 2
#define TOGETHER 2
#define ALL (TOGETHER * EACH)
#define EVERY UNROLL for (u32 k = 0; k < ALL; k++)

#define PREPARE \
	const Number is = number_of(lo), becomes = number_of(hi); \
	const Fit fit = fit_of(becomes);
#define CONVERT(out, raw) PASTE(NAME, _convert)(out, raw, is, becomes, fit)
#define KNOWN , const Number is, const Number becomes, const Fit fit
#define KNOWS , is, becomes, fit

// decode converts items' elements to floats of 32 bits, or to integers.
INLINED void PASTE(NAME, _decode)(u32 *v, const u32 *raw, const Number from) {
#if SBITS == 32
	EVERY {
		v[k] = raw[k];
	}
#else
	if (from.kind != KIND_FLOAT) {
		const u32 sign = from.kind == KIND_INT ? 0x8000 : 0;
		EVERY {
			v[k] = ((raw[k / 2] >> (k % 2 * 16) & 0xffff) ^ sign) - sign;
		}
	} else if (from.mantissa == 10) {
		EVERY {
			v[k] = float_of_half(raw[k / 2] >> (k % 2 * 16) & 0xffff, DBITS);
		}
	} else {
		EVERY {
			v[k] = k % 2 == 0 ? raw[k / 2] << 16 : raw[k / 2] & 0xffff0000;
#if DBITS == 32
			v[k] = is_nan(v[k]) ? (v[k] & 0x80000000) | 0x7fc00000 : v[k];
#endif
		}
	}
#endif
}

// integers converts items' integers to floats.
INLINED void PASTE(NAME, _integers)(u32 *v, const Number from) {
	EVERY {
#if SBITS == 16
		v[k] = AS_BITS((float)(i32)v[k]);
#else
		v[k] = float_of_integer(v[k], from.kind == KIND_INT, DBITS < 32);
#endif
	}
}

#if DBITS == 4 || DBITS == 8
#if SBITS == 32
#define UNSIGNED 0x7fffffff
#else
#define UNSIGNED 0x7fff7fff
#endif

// signs is the top bits of four elements, each repeated eight times.
DEVICE u32 PASTE(NAME, _signs)(const u32 *raw) {
#if SBITS == 32
	return signs_of(bytes_of(raw[0], raw[1], 0x0073), bytes_of(raw[2], raw[3], 0x0073), 0x5410);
#else
	return signs_of(raw[0], raw[1], 0x7531);
#endif
}

// nans has ones in the bytes of those of four magnitudes that are NaN.
INLINED u32 PASTE(NAME, _nans)(const u32 *magnitudes, const Number from) {
	u32 v[4 * SBITS / 32];
#if SBITS == 32
	const u32 finite = 0x007fffff; // up to infinity
#else
	const u32 finite = from.mantissa == 10 ? 0x03ff03ff : 0x007f007f;
#endif
	UNROLL
	for (u32 k = 0; k < 4 * SBITS / 32; k++) {
		v[k] = magnitudes[k] + finite;
	}
	return PASTE(NAME, _signs)(v);
}

// floats rounds items' elements to a format of that many bits, a byte each.
INLINED void PASTE(NAME, _floats)(u32 *bytes, const u32 *raw, const Number from, const Number to, const Fit fit) {
	const u32 real = from.kind == KIND_FLOAT, mask = real ? UNSIGNED : 0xffffffff;
	const u32 sign = from.kind == KIND_UINT || to.scale ? 0 : 0x01010101 << (DBITS - 1);
	u32 magnitudes[ALL * SBITS / 32], v[ALL];
	UNROLL
	for (u32 k = 0; k < ALL * SBITS / 32; k++) {
		magnitudes[k] = raw[k] & mask;
	}
	PASTE(NAME, _decode)(v, magnitudes, from);
	if (!real) {
		PASTE(NAME, _integers)(v, from);
		EVERY {
			v[k] &= 0x7fffffff;
		}
	}
#if DBITS == 8
	const u32 up = scale_up(to);
	if (to.scale && to.excess == EXCESS_NAN) {
		EVERY {
			v[k] = exact_scale(v[k], up);
		}
	} else if (to.scale) {
		EVERY {
			v[k] = scale_of_float(v[k], up);
		}
	} else
#endif
	{
		EVERY {
			v[k] = fitted(v[k], fit);
		}
	}
	UNROLL
	for (u32 k = 0; k < ALL / 4; k++) {
		u32 four = four_bytes(v + 4 * k), signs = PASTE(NAME, _signs)(raw + k * SBITS / 8);
#if DBITS == 4
		four = choose(sign, signs, four & 0x07070707);
#endif
		if (real) {
			four = choose(PASTE(NAME, _nans)(magnitudes + k * SBITS / 8, from), fit.nan * 0x01010101, four);
		}
#if DBITS == 8
		if (to.special == SPECIAL_NEGATIVE_ZERO) { // neither zero nor NaN has a sign
			signs &= (four & 0x7f7f7f7f) + 0x7f7f7f7f;
		}
		four |= signs & sign;
#endif
		bytes[k] = four;
	}
}

#undef UNSIGNED
#endif

INLINED void PASTE(NAME, _convert)(u32 *out, const u32 *raw, const Number from, const Number to, const Fit fit) {
	const u32 real = from.kind == KIND_FLOAT;
	u32 v[ALL];
#if DBITS <= 8
	u32 bytes[ALL / 4];
#if DBITS > 2
	if (to.kind == KIND_FLOAT) {
		PASTE(NAME, _floats)(bytes, raw, from, to, fit);
	} else
#endif
#endif
	{
		PASTE(NAME, _decode)(v, raw, from);
		if (to.kind == KIND_BOOL) {
			const u32 mask = real ? 0x7fffffff : 0xffffffff;
			EVERY {
				v[k] = (v[k] & mask) != 0;
			}
		} else if (to.kind != KIND_FLOAT && real) {
			EVERY {
				v[k] = integer_of(v[k], to, DBITS);
			}
		}
#if DBITS <= 8
		UNROLL
		for (u32 k = 0; k < ALL / 4; k++) {
			bytes[k] = four_bytes(v + 4 * k) & (0x01010101 * ((1u << DBITS) - 1));
		}
#else
		else if (to.kind == KIND_FLOAT && !real) {
			PASTE(NAME, _integers)(v, from);
		}
#endif
	}
#if DBITS == 32
	EVERY {
		out[k] = v[k];
	}
#elif DBITS == 16
	if (to.kind == KIND_FLOAT && to.mantissa == 10) {
		EVERY {
			v[k] = half_of_float(v[k], fit);
		}
	} else if (to.kind == KIND_FLOAT) {
		EVERY {
			v[k] = bfloat_of_float(v[k], to.truncate);
		}
	}
	UNROLL
	for (u32 k = 0; k < ALL; k += 2) {
		out[k / 2] = pack_halves(v[k], v[k + 1]);
	}
#elif DBITS == 8
	UNROLL
	for (u32 k = 0; k < ALL / 4; k++) {
		out[k] = bytes[k];
	}
#elif EACH == 8
	UNROLL
	for (u32 j = 0; j < TOGETHER; j++) {
		out[j] = PASTE(joined_, DBITS)(bytes[2 * j], bytes[2 * j + 1]);
	}
#else
	out[0] = PASTE(joined_, DBITS)(bytes[0], bytes[1]);
	out[1] = out[0] >> (4 * DBITS);
#endif
}

#undef ALL
#undef EVERY
