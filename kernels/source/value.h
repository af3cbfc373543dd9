// value: casts from elements of 16 or 32 bits. It goes before dense.h. Values of any type
// pass through a float of 32 bits, or an integer of 32 where both sides are integers;
// what the types are is the same for all work-items.

#define COUNT (128 / MAX(DBITS, SBITS)) // elements of an item, see dense.h
#define EVERY UNROLL for (u32 k = 0; k < COUNT; k++)

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
			v[k] = float_of_half(raw[k / 2] >> (k % 2 * 16) & 0xffff);
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

#if DBITS <= 8
// gather puts the low bits of four elements together.
DEVICE u32 PASTE(NAME, _gather)(u32 bytes) {
#if DBITS == 8
	return bytes;
#elif DBITS == 4
	bytes |= bytes >> 4;
	return (bytes & 0xff) | (bytes >> 8 & 0xff00);
#else
	bytes |= bytes >> 6;
	return (bytes & 0xf) | (bytes >> 12 & 0xf0);
#endif
}
#endif

INLINED void PASTE(NAME, _convert)(u32 *out, const u32 *raw, const Number from, const Number to, const Fit fit) {
	const u32 real = from.kind == KIND_FLOAT;
	u32 v[COUNT];
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
	for (u32 k = 0; k < COUNT; k += 2) {
		out[k / 2] = pack_halves(v[k], v[k + 1]);
	}
#else
	u32 bytes[COUNT / 4];
#if DBITS > 2
	if (to.kind == KIND_FLOAT && !to.scale) {
		UNROLL
		for (u32 k = 0; k < COUNT; k += 4) {
			bytes[k / 4] = floats_of_four(v + k, to, fit, DBITS);
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
		for (u32 k = 0; k < COUNT; k += 4) {
			bytes[k / 4] = pack_bytes(v[k], v[k + 1], v[k + 2], v[k + 3]) & (0x01010101 * ((1u << DBITS) - 1));
		}
	}
	out[0] = 0;
	UNROLL
	for (u32 k = 0; k < COUNT / 4; k++) {
		const u32 four = PASTE(NAME, _gather)(bytes[k]);
#if DBITS == 8
		out[k] = four;
#else
		out[0] |= four << (4 * DBITS * k);
#endif
	}
#endif
}

#undef COUNT
#undef EVERY
