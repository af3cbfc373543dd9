// value: casts from elements of 16 or 32 bits. It goes before dense.h. Values of any type
// pass through a float of 32 bits, or an integer of 32 where both sides are integers;
// what the types are is the same for all work-items.

#define COUNT (128 / MAX(DBITS, SBITS)) // elements of an item, see dense.h
#define ITEMS 2
#define TOGETHER 2
#define EVERY UNROLL for (u32 k = 0; k < TOGETHER * COUNT; k++)

#define PREPARE \
	const Number is = number_of(lo), becomes = number_of(hi); \
	const Fit fit = fit_of(becomes);
#define CONVERT(out, raw) PASTE(NAME, _convert)(out, raw, is, becomes, fit)

// decode makes floats of 32 bits, or integers, of an item's elements.
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

#if DBITS < 8
// gather puts the low bits of four elements together.
DEVICE u32 PASTE(NAME, _gather)(u32 bytes) {
#if DBITS == 4
	bytes |= bytes >> 4;
	return (bytes & 0xff) | (bytes >> 8 & 0xff00);
#else
	bytes |= bytes >> 6;
	return (bytes & 0xf) | (bytes >> 12 & 0xf0);
#endif
}
#endif

#if DBITS == 4 || DBITS == 8
// floats rounds four floats to a format of that many bits, a byte each.
INLINED u32 PASTE(NAME, _floats)(const u32 *x, const u32 *raw, const Number from, const Number to, const Fit fit) {
	u32 v[4];
	UNROLL
	for (u32 k = 0; k < 4; k++) {
		v[k] = fitted(x[k] & 0x7fffffff, fit, DBITS == 8);
	}
#if SBITS == 32
	u32 signs = four_tops(raw);
#else
	u32 signs = bytes_of(raw[0], raw[1], 0x7531);
#endif
	signs = from.kind == KIND_UINT ? 0 : signs & 0x80808080;
	u32 values = four_bytes(v);
#if DBITS == 4
	if (from.kind == KIND_FLOAT) { // NaN is -0, or the largest number
#if SBITS == 32
		UNROLL
		for (u32 k = 0; k < 4; k++) {
			v[k] = (x[k] & 0x7fffffff) + 0x007fffff;
		}
		const u32 nan = four_tops(v) & 0x80808080;
#else
		const u32 finite = from.mantissa == 10 ? 0x03ff03ff : 0x007f007f; // up to infinity
		const u32 nan = bytes_of((raw[0] & 0x7fff7fff) + finite, (raw[1] & 0x7fff7fff) + finite, 0x7531) & 0x80808080;
#endif
		signs = to.legacy ? signs & ~nan : signs | nan;
		values &= to.legacy ? 0x07070707 : ~((nan >> 4) - (nan >> 7));
	}
	return (values & 0x07070707) | signs >> 4;
#else
	if (to.special == SPECIAL_NEGATIVE_ZERO) { // neither zero nor NaN has a sign
		signs &= (values & 0x7f7f7f7f) + 0x7f7f7f7f;
	}
	return values | signs;
#endif
}
#endif

INLINED void PASTE(NAME, _convert)(u32 *out, const u32 *raw, const Number from, const Number to, const Fit fit) {
	const u32 real = from.kind == KIND_FLOAT;
	u32 v[TOGETHER * COUNT];
	PASTE(NAME, _decode)(v, raw, from);
	if (to.kind == KIND_FLOAT && !real) {
		EVERY {
			v[k] = float_of_integer(v[k], from.kind == KIND_INT, DBITS < 32);
		}
	}
	if (to.kind == KIND_BOOL) {
		const u32 mask = real ? 0x7fffffff : 0xffffffff;
		EVERY {
			v[k] = (v[k] & mask) != 0;
		}
	} else if (to.kind != KIND_FLOAT) {
		if (real) {
			EVERY {
				v[k] = integer_of(v[k], to, DBITS);
			}
		}
	}
#if DBITS == 32
	EVERY {
		out[k] = v[k];
	}
#elif DBITS == 16
	else if (to.mantissa == 10) {
		EVERY {
			v[k] = half_of_float(v[k], fit);
		}
	} else {
		EVERY {
			v[k] = bfloat_of_float(v[k], to.truncate);
		}
	}
	UNROLL
	for (u32 k = 0; k < TOGETHER * COUNT; k += 2) {
		out[k / 2] = pack_halves(v[k], v[k + 1]);
	}
#else
	u32 bytes[TOGETHER * COUNT / 4];
#if DBITS > 2
	if (to.kind == KIND_FLOAT && !to.scale) {
		UNROLL
		for (u32 k = 0; k < TOGETHER * COUNT; k += 4) {
			bytes[k / 4] = PASTE(NAME, _floats)(v + k, raw + k * SBITS / 32, from, to, fit);
		}
	} else
#endif
	{
#if DBITS == 8
		if (to.kind == KIND_FLOAT) {
			EVERY {
				v[k] = scale_of_float(v[k], to);
			}
		}
#endif
		UNROLL
		for (u32 k = 0; k < TOGETHER * COUNT; k += 4) {
			bytes[k / 4] = four_bytes(v + k) & (0x01010101 * ((1u << DBITS) - 1));
		}
	}
#if DBITS == 8
	UNROLL
	for (u32 k = 0; k < TOGETHER * COUNT / 4; k++) {
		out[k] = bytes[k];
	}
#else
	UNROLL
	for (u32 j = 0; j < TOGETHER; j++) {
		out[j] = PASTE(NAME, _gather)(bytes[j * COUNT / 4]);
#if COUNT == 8
		out[j] |= PASTE(NAME, _gather)(bytes[2 * j + 1]) << (4 * DBITS);
#endif
	}
#endif
#endif
}

#undef COUNT
#undef EVERY
