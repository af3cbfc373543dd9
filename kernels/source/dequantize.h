// dequantize: scaling for codes of 2 to 8 bits that are dense along a row, with the same terms
// along it. An item is two units of 16 bytes of dst, of EACH elements. Between them lie
// params->ta - 1 units of other items, so that adjacent work-items store adjacent units.

#include "kernel.h"
#include "conversions.h"
#include "arithmetic.h"
#include "terms.h"
#include "float32.h"

#define EVERY UNROLL for (u32 k = 0; k < EACH; k++)
#define RAW MAX(1, ITEM_S / 32) // words of a unit in src
#define ONES (0xff >> (8 - SBITS))

// CODE is code k of a unit, with the bits of above over it: by the instruction that extracts
// the code from its word, where the device has one.
#if SBITS == 8 && BYTES_OF
#define CODE(raw, k, above) bytes_of(raw[(k) / 4], above, 0x7650 + (k) % 4)
#else
#define CODE(raw, k, above) ((raw[(k) * SBITS / 32] >> ((k) * SBITS % 32) & ONES) | (above))
#endif

// whole makes floats of integers, less a zero point of at most 16 bits: an integer in the low
// bits of 2^23 is added to it, and all differences are exact.
INLINED void PASTE(NAME, _whole)(u32 *v, const u32 *raw, u32 sign, i32 zero) {
	const float none = 0x1p23f + (float)((i32)sign + zero);
	u32 biased[RAW];
	UNROLL
	for (u32 k = 0; k < RAW; k++) {
		biased[k] = raw[k] ^ sign * (0xffffffff / ONES);
	}
	EVERY {
		v[k] = AS_BITS(AS_FLOAT(CODE(biased, k, 0x4b000000)) - none);
	}
}

// write computes a unit of dst. nans: there may be a NaN among the numbers.
INLINED void PASTE(NAME, _write)(GLOBAL u8 *to, u32 *v, u32 nans, const Number becomes) {
#if DBITS == 32
	if (nans) {
		EVERY {
			v[k] = is_nan(v[k]) ? FLOAT_NAN : v[k];
		}
	}
	const u32 *out = v;
#else
	u32 out[4];
	if (becomes.mantissa == 10) {
		const Fit fit = fit_of(becomes);
		UNROLL
		for (u32 k = 0; k < 4; k++) {
			out[k] = pack_halves(half_of_number(v[2 * k], fit), half_of_number(v[2 * k + 1], fit));
		}
	} else {
		UNROLL
		for (u32 k = 0; k < 4; k++) {
			out[k] = pack_halves(bfloat_of_number(v[2 * k]), bfloat_of_number(v[2 * k + 1]));
		}
	}
	if (nans) {
		const u32 nan = becomes.mantissa == 10 ? 0x7e007e00 : 0x7fc07fc0;
		EVERY {
			out[k / 2] = choose(is_nan(v[k]) ? 0xffffu << (k % 2 * 16) : 0, nan, out[k / 2]);
		}
	}
#endif
	STORE_GLOBAL(u128, to, piece_128(out));
}

ENTRY {
	SHARED(u32, table, 256); // for codes that are not integers: their floats
	CONSTANT Meanings *meanings = MEANINGS(params);
	const Number is = number_of(meanings->src), becomes = number_of(meanings->dst), z = number_of(meanings->zero);
	const u32 integers = is.kind <= KIND_INT, sign = is.kind == KIND_INT ? 1u << (SBITS - 1) : 0;
	const u32 zeros = meanings->zero != 0, adds = meanings->add != 0, folded = zeros && integers && z.kind <= KIND_INT;
	const u32 nones = SBITS == 8 ? !integers : 0; // codes may be NaN or infinite
	if (!integers) {
		table[LOCAL_ID] = (u32)PASTE(NAME, _cast)(LOCAL_ID & ONES, is, number_of(SINGLE));
	}
	BARRIER();
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Spot begin = {dBase, sBase, (i64)lo, (i64)hi, addBase};
		const u32 first = spot_of(params, block, &begin), left = items_of(params, first);
		GLOBAL u8 *to = dst + begin.d * 32;
		GLOBAL const u8 *from = src + begin.s * (ITEM_S / 4);
		const u32 apart = params->ta;
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			const Near p = near_item(params, item);
			const i64 within = (i64)((u32)(begin.d + p.d) & (apart - 1)), d = 2 * (i64)p.d - within, s = 2 * (i64)p.s - within;
			PASTE(Piece, ITEM_S) piece[2];
			UNROLL
			for (u32 u = 0; u < 2; u++) {
				piece[u] = ((GLOBAL const PASTE(Piece, ITEM_S) *)from)[s + u * apart];
			}
			const u32 by = PASTE(NAME, _single)(scale, begin.scale + p.scale, number_of(meanings->scale));
			u32 minus = 0, plus = 0, nans = nones | !is_finite(by);
			i32 whole = 0;
			if (folded) {
				whole = (i32)whole_of(PASTE(NAME, _bits)(zero, begin.zero + p.zero, z.bits), z);
			} else if (zeros) {
				minus = PASTE(NAME, _single)(zero, begin.zero + p.zero, z) ^ FLOAT_SIGN;
				nans |= !is_finite(minus);
			}
			if (adds) {
				plus = PASTE(NAME, _single)(add, begin.add + p.add, number_of(meanings->add)) ^ (u32)meanings->sign;
				nans |= !is_finite(plus);
			}
			UNROLL
			for (u32 u = 0; u < 2; u++) {
				u32 raw[RAW], v[EACH];
				PASTE(words_, ITEM_S)(raw, piece[u]);
				if (integers) {
					PASTE(NAME, _whole)(v, raw, sign, whole);
				} else {
					EVERY {
						v[k] = table[CODE(raw, k, 0)];
					}
				}
				if (zeros && !folded) {
					EVERY {
						v[k] = SUM_OF(v[k], minus);
					}
				}
				EVERY {
					v[k] = PRODUCT_OF(v[k], by);
				}
				if (adds) {
					EVERY {
						v[k] = SUM_OF(v[k], plus);
					}
				}
				PASTE(NAME, _write)(to + (d + u * apart) * 16, v, nans, becomes);
			}
		}
	}
}

#undef EVERY
#undef RAW
#undef ONES
#undef CODE
