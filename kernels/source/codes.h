// codes: quantizes elements that are dense along a row, with the same terms along it, to 4 or 8
// bits. An item is ALL elements: floats of 16 or 32 bits.

#include "kernel.h"
#include "conversions.h"
#include "arithmetic.h"
#include "divisor.h"
#include "terms.h"
#include "float32.h"
#include "value.h"

#define ALL (TOGETHER * EACH)
#define EVERY UNROLL for (u32 k = 0; k < ALL; k++)

// number calls number_of anew for each item: keeping all results costs registers.
INLINED Number PASTE(NAME, _number)(u64 meaning) {
	FRESH64(meaning);
	return number_of(meaning);
}

// codes rounds to the nearest integer, ties to even, by an addition: the lowest bit of 1.5 *
// 2^23 is worth 1. A value beyond 2^18 stays out of range with any zero point of 16 bits.
INLINED void PASTE(NAME, _codes)(u32 *v, i32 zero, const Number to) {
	const i32 most = (1 << (to.bits - (to.kind == KIND_INT))) - 1, least = to.kind == KIND_INT ? -most - 1 : 0;
	EVERY {
		const float x = AS_FLOAT(is_nan(v[k]) ? 0 : v[k]), near = MAX(MIN(x, 0x1p18f), -0x1p18f), rounded = near + 0x1.8p23f;
		const i32 code = (i32)(AS_BITS(rounded) - 0x4b400000) + zero;
		v[k] = (u32)MIN(MAX(code, least), most);
	}
}

ENTRY {
	CONSTANT Meanings *meanings = MEANINGS(params);
	const Number is = number_of(meanings->src), becomes = number_of(meanings->dst);
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Spot begin = {dBase, sBase, (i64)lo, (i64)hi, addBase};
		const u32 first = spot_of(params, block, &begin), left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			const Near p = near_item(params, item);
			u32 v[ALL], bytes[ALL / 4];
			PASTE(NAME, _read)(v, (GLOBAL const Piece128 *)src + (begin.s + p.s) * (ALL * is.bits / 128), ALL, is);
			const u32 by = PASTE(NAME, _single)(scale, begin.scale + p.scale, PASTE(NAME, _number)(meanings->scale));
			if (becomes.kind == KIND_FLOAT && meanings->zero != 0) { // adding the zero point may cancel all but the low bits of the quotient
				EVERY {
					v[k] = QUOTIENT_OF(v[k], by);
				}
			} else {
				const Divisor d = divisor_of(by);
				EVERY {
					v[k] = divided(v[k], d);
				}
			}
			const Number z = PASTE(NAME, _number)(meanings->zero);
			if (becomes.kind == KIND_FLOAT) {
				if (meanings->zero != 0) {
					const u32 from = PASTE(NAME, _single)(zero, begin.zero + p.zero, z);
					EVERY {
						v[k] = SUM_OF(v[k], from);
					}
				}
				EVERY {
					v[k] = is_nan(v[k]) ? FLOAT_NAN : v[k];
				}
				PASTE(NAME, _floats)(bytes, v, number_of(SINGLE), becomes, fit_of(becomes));
			} else {
				const i32 from = meanings->zero == 0 ? 0 : (i32)whole_of(PASTE(NAME, _bits)(zero, begin.zero + p.zero, z.bits), z);
				PASTE(NAME, _codes)(v, from, becomes);
				UNROLL
				for (u32 k = 0; k < ALL / 4; k++) {
					bytes[k] = four_bytes(v + 4 * k) & (0x01010101 * ((1u << DBITS) - 1));
				}
			}
#if DBITS == 8
			((GLOBAL Piece128 *)dst)[begin.d + p.d] = piece_128(bytes);
#else
			u32 joined[2];
			joined[0] = joined_4(bytes[0], bytes[1]);
			joined[1] = joined_4(bytes[2], bytes[3]);
			((GLOBAL Piece64 *)dst)[begin.d + p.d] = piece_64(joined);
#endif
		}
	}
}

#include "undefs.h"
