// scaling: (src - zero) * scale + add of any elements of up to 32 bits, or (QUANTIZE) round(src
// / scale) + zero, as device.Scaling and device.Quantization define it. An item is an element;
// or below a byte a word of dst, as in pack.h.

#include "kernel.h"
#include "conversions.h"
#include "arithmetic.h"
#include "terms.h"
#include "float32.h"

#if QUANTIZE

// precise rounds to the precision of a quotient.
INLINED u32 PASTE(NAME, _precise)(u32 x, u64 precision) {
	if (precision == 0) {
		return x;
	}
	const Number p = number_of(precision);
	return (u32)PASTE(NAME, _cast)((u32)PASTE(NAME, _cast)(x, number_of(SINGLE), p), p, number_of(SINGLE));
}

// of computes an element of dst.
INLINED u32 PASTE(NAME, _of)(CONSTANT Params *params, GLOBAL const u8 *src, GLOBAL const u8 *scale, GLOBAL const u8 *zero, GLOBAL const u8 *add, const Spot p) {
	CONSTANT Meanings *meanings = MEANINGS(params);
	const u64 precision = meanings->precision;
	const u32 a = PASTE(NAME, _precise)(PASTE(NAME, _single)(src, p.s, number_of(meanings->src)), precision);
	const u32 b = PASTE(NAME, _precise)(PASTE(NAME, _single)(scale, p.scale, number_of(meanings->scale)), precision);
	const u32 q = PASTE(NAME, _precise)(QUOTIENT_OF(a, b), precision);
	const Number to = number_of(meanings->dst);
	if (to.kind == KIND_FLOAT) {
		const u32 v = meanings->zero == 0 ? q : SUM_OF(q, PASTE(NAME, _single)(zero, p.zero, number_of(meanings->zero)));
		return (u32)PASTE(NAME, _cast)(is_nan(v) ? FLOAT_NAN : v, number_of(SINGLE), to);
	}
	i64 v = rounded_integer(q);
	if (meanings->zero != 0) {
		const Number is = number_of(meanings->zero);
		v += whole_of(PASTE(NAME, _bits)(zero, p.zero, is.bits), is);
	}
	const i64 most = (1 << (to.bits - (to.kind == KIND_INT))) - 1, least = to.kind == KIND_INT ? -most - 1 : 0;
	return (u32)MIN(MAX(v, least), most);
}

#else

// of computes an element of dst.
INLINED PASTE(u, DBITS) PASTE(NAME, _of)(CONSTANT Params *params, GLOBAL const u8 *src, GLOBAL const u8 *scale, GLOBAL const u8 *zero, GLOBAL const u8 *add, const Spot p) {
	CONSTANT Meanings *meanings = MEANINGS(params);
	const Number is = number_of(meanings->src), z = number_of(meanings->zero);
	u32 v = 0;
	if (meanings->zero != 0 && is.kind <= KIND_INT && z.kind <= KIND_INT) {
		// Unsigned differences: Oclgrind does not track signed ones.
		const i64 a = whole_of(PASTE(NAME, _bits)(src, p.s, is.bits), is), b = whole_of(PASTE(NAME, _bits)(zero, p.zero, z.bits), z);
		v = nearest_float(a < b ? (u64)b - (u64)a : (u64)a - (u64)b, 0, a < b ? FLOAT_SIGN : 0);
	} else {
		v = PASTE(NAME, _single)(src, p.s, is);
		if (meanings->zero != 0) {
			v = SUM_OF(v, PASTE(NAME, _single)(zero, p.zero, z) ^ FLOAT_SIGN);
		}
	}
	v = PRODUCT_OF(v, PASTE(NAME, _single)(scale, p.scale, number_of(meanings->scale)));
	if (meanings->add != 0) {
		v = SUM_OF(v, PASTE(NAME, _single)(add, p.add, number_of(meanings->add)) ^ (u32)meanings->sign);
	}
	return (PASTE(u, DBITS))PASTE(NAME, _cast)(is_nan(v) ? FLOAT_NAN : v, number_of(SINGLE), number_of(meanings->dst));
}

#endif

ENTRY {
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Spot begin = {dBase, sBase, (i64)lo, (i64)hi, addBase};
		const u32 first = spot_of(params, block, &begin), left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Spot p = begin;
			u32 rest = item, word = 0;
			ROLLED
			for (u32 k = 0; k < params->inner; k++) {
				const u32 i = digit(&rest, AXES(params) + params->outer + k);
				word = k == 0 ? i : word;
				move_to(&p, params, params->outer + k, i);
			}
			move_cut(&p, params, rest);
#if DBITS < 8
			const i64 number = params->words == 0 ? (i64)first * params->cut + item : (i64)word;
			const i64 from = number * (32 / DBITS) - p.d % (32 / DBITS); // the word's first element, by its index in the run
			u32 value = 0, mask = 0;
			ROLLED
			for (u32 j = 0; j < 32 / DBITS; j++) {
				const i64 e = from + j;
				if (e < 0 || e >= params->length) {
					continue;
				}
				Spot each = p;
				if (params->run <= 1) {
					const u32 all = ALL_AXES(params), k = params->outer + params->inner;
					each.s += e * AXES(params)[k].s;
					each.scale += e * AXES(params)[k + all].d;
					each.zero += e * AXES(params)[k + all].s;
				} else {
					u32 x = (u32)e;
					ROLLED
					for (u32 k = params->outer + params->inner; k < ALL_AXES(params); k++) {
						move_to(&each, params, k, digit(&x, AXES(params) + k));
					}
				}
				const u32 ones = (1 << DBITS) - 1;
				value |= (PASTE(NAME, _of)(params, src, scale, zero, add, each) & ones) << (j * DBITS);
				mask |= ones << (j * DBITS);
			}
			if (mask != 0) {
				merge_bits((GLOBAL u32 *)dst + (p.d + from) / (32 / DBITS), value, mask);
			}
#else
			((GLOBAL WORD *)dst)[p.d] = (WORD)PASTE(NAME, _of)(params, src, scale, zero, add, p);
#endif
		}
	}
}
