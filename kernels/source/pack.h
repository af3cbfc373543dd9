// pack: one 32-bit word of dst per item, or a span of them (SPANS), assembled from elements
// anywhere in src. It copies elements narrower than a word (DBITS equals SBITS), converts
// between a type below a byte and its container, and fills (SBITS is 0: lo holds the pattern,
// repeated). ELEMENTS defines how an element is loaded and converted: narrow.h, cast.h or
// map.h.

#include "kernel.h"
#include ELEMENTS

#define PER (32 / DBITS) // elements in a word
#define UNROLLED (!CAST || DBITS >= 8) // a conversion is much code
#define SPANS (PAIR && SERIAL)
#define DMASK (0xffffffff >> (32 - DBITS))

#if SBITS > 0
// word assembles the elements [from, end) of a run; element begin is the first of the word; s
// is where the run begins in src.
INLINED u32 PASTE(NAME, _word)(GLOBAL const u8 *src, CONSTANT Axis *run, u32 axes, i64 s, i64 begin, i64 from, i64 end, ARGUMENTS) {
	SETUP
	u32 value = 0, i = 0;
	i64 e = from, at = 0;
	while (e < end) {
		// Elements up to the end of the run's innermost axis.
		i64 stop = end;
		if (axes <= 1) {
			at = s + e * run[0].s;
		} else {
			u32 x = (u32)e;
			i = digit(&x, run);
			at = s + i * run[0].s;
			ROLLED
			for (u32 k = 1; k < axes; k++) {
				at += digit(&x, run + k) * run[k].s;
			}
			stop = MIN(end, e + (run[0].n - i));
		}
		if (UNROLLED && stop - e == PER) {
			LOADED loaded[PER];
			UNROLL
			for (u32 j = 0; j < PER; j++) { // loads first: they overlap
				loaded[j] = LOAD(at + j * run[0].s);
			}
			UNROLL
			for (u32 j = 0; j < PER; j++) {
				value |= ((u32)CONVERT(loaded[j]) & DMASK) << (j * DBITS);
			}
			e = stop;
		} else if (SPANS && stop - e == PER && run[0].s == 1) {
			u32 each[PER];
			ROLLED
			for (u32 j = 0; j < PER; j++) { // a loop that compilers vectorize
				each[j] = ((u32)CONVERT(LOAD(at + j)) & DMASK) << (j * DBITS);
			}
			UNROLL
			for (u32 j = 0; j < PER; j++) {
				value |= each[j];
			}
			e = stop;
		} else {
			for (; e < stop; e++, at += run[0].s) {
				value |= ((u32)CONVERT(LOAD(at)) & DMASK) << ((u32)(e - begin) * DBITS);
			}
		}
	}
	return value;
}
#endif

ENTRY {
	GLOBAL u32 *to = (GLOBAL u32 *)dst;
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 first = block_of(params, block, &d0, &s0);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			const Run r = item_of(params, inner, first, item, d0, s0);
			for (i64 w = r.word; w < r.word + (SPANS ? params->span : 1); w++) {
				const i64 begin = w * PER - r.d % PER; // the word's first element, by its index in the run
				const i64 from = MAX(begin, 0), end = MIN(begin + PER, params->length);
				if (from >= end) {
					continue;
				}
#if SBITS > 0
				const u32 value = PASTE(NAME, _word)(src, inner + params->inner, params->run, r.s, begin, from, end, NAMED);
#else
				const u32 value = (u32)lo;
#endif
				const u32 mask = bits_between((u32)(from - begin) * DBITS, (u32)(end - begin) * DBITS);
				MERGE(to + (r.d + begin) / PER, value, mask);
			}
		}
	}
}

#undef DMASK
#undef UNROLLED
#undef SPANS

#include "undefs.h"
