// run: words of elements that are dense on both sides but do not begin at the
// same bit of a word: a word of dst is cut from two neighbours in src.

#include "kernel.h"

#if SERIAL

#define PER (32 / DBITS)

ENTRY {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 first = block_of(params, block, &d0, &s0);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			const Run r = item_of(params, inner, first, item, d0, s0);
			const u32 phase = (u32)(r.d % PER);
			// Word w of the run is to[w], and begins at bit shift of from[w]:
			// from may lie a word before src, and is not read there.
			GLOBAL u32 *to = (GLOBAL u32 *)dst + r.d / PER;
			const i64 start = r.s + PER - phase;
			const u32 shift = (u32)(start % PER) * DBITS;
			GLOBAL const u32 *from = (GLOBAL const u32 *)src + (start / PER - 1);
			// The number of words, and of full words.
			const i64 bits = (phase + params->length) * DBITS;
			const i64 end = MIN(r.word + params->span, (bits + 31) / 32);
			const i64 fullEnd = MIN(end, bits / 32);
			i64 w = r.word;
			if (w < end && w == 0 && (phase > 0 || fullEnd == 0)) {
				const u32 a = phase * DBITS, b = (u32)MIN(bits, 32);
				u32 value = 0;
				if (a + shift < 32) {
					value = from[0] >> shift;
				}
				if (b + shift > 32) {
					value |= from[1] << (32 - shift);
				}
				MERGE(to, value, bits_between(a, b));
				w = 1;
			}
			if (shift == 0) {
				for (; w < fullEnd; w++) {
					to[w] = from[w];
				}
			} else {
				for (; w < fullEnd; w++) {
					to[w] = from[w] >> shift | from[w + 1] << (32 - shift);
				}
			}
			if (w < end) { // the last word is partial
				const u32 b = (u32)(bits % 32);
				u32 value = from[w] >> shift;
				if (b + shift > 32) {
					value |= from[w + 1] << (32 - shift);
				}
				MERGE(to + w, value, bits_between(0, b));
			}
		}
	}
}

#undef PER

#else
#define OF_BITS(v) v
#endif
