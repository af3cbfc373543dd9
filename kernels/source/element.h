// element: one element per item. Neighbouring work-items write neighbouring
// elements of dst's innermost axis. Behind spread.h it stores each of them several
// times. Behind cast.h it converts between types; blocks of CPUs that are dense on both
// sides are then a loop that compilers make vectors of.

#define ITEMS (CAST && SERIAL ? 1 : 4)

#ifndef COPIES
#define COPIES(params, block) 1
#endif
#if !CAST
#define SETUP GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
#define LOADED WORD
#define LOAD(at) from[at]
#define CONVERT(x) x
#endif

ENTRY {
	GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst;
	SETUP
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 left = items_of(params, block_of(params, block, &d0, &s0));
#if CAST && SERIAL
		if (params->inner == 0 && params->d == 1 && params->s == 1) {
			u32 x = 0;
#if FBITS == 4
			if (s0 & 1) {
				to[d0] = CONVERT(LOAD(s0));
				x = 1;
			}
			GLOBAL const u8 *bytes = src + ((s0 + x) >> 1);
			GLOBAL WORD *RESTRICT even = to + d0 + x;
			const u32 n = (left - x) / 2;
			for (u32 k = 0; k < n; k++) {
				even[2 * k] = CONVERT(bytes[k] & 15);
				even[2 * k + 1] = CONVERT(bytes[k] >> 4);
			}
			x += 2 * n;
#endif
			for (; x < left; x++) {
				to[d0 + x] = CONVERT(LOAD(s0 + x));
			}
			continue;
		}
#endif
		const u32 copies = COPIES(params, block);
		for (u32 item = LOCAL_ID; item < left; item += ITEMS * GROUP) {
			INDEX at[ITEMS];
			LOADED value[ITEMS];
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
				u32 x = item + j * GROUP;
				if (x < left) {
					INDEX d = 0, s = 0;
					ROLLED
					for (u32 k = 0; k < params->inner; k++) {
						const u32 i = digit(&x, inner + k);
						d += (INDEX)i * (INDEX)inner[k].d;
						s += (INDEX)i * (INDEX)inner[k].s;
					}
					at[j] = d + (INDEX)x * (INDEX)params->d;
					value[j] = LOAD(s0 + s + (INDEX)x * (INDEX)params->s);
				}
			}
			i64 d = d0;
			for (u32 i = 0; i < copies; i++, d += params->da) {
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) {
					if (item + j * GROUP < left) {
						to[d + at[j]] = CONVERT(value[j]);
					}
				}
			}
		}
	}
}

#undef ITEMS
#undef SETUP
#undef LOADED
#undef LOAD
#undef CONVERT
#undef COPIES
