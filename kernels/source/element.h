// element: ITEMS elements per item, which are apart along the cut axis alone, so the other axes
// are decomposed once. Adjacent work-items write adjacent elements of dst's innermost axis.
// ELEMENTS defines how an element is loaded and converted: copy.h; spread.h, which stores each
// several times; or cast.h and map.h, for which blocks that are dense on both sides are a loop
// that CPU compilers vectorize.

#include "kernel.h"
#include ELEMENTS

#ifdef COPIES
#define TWICE 0
#else
#define COPIES(params, block) 1
#define TWICE (!CAST && DBITS < 128)
#endif

// MOVE moves the existing elements of an item: loads first, so that they overlap.
#define MOVE(there) \
	LOADED value[ITEMS]; \
	UNROLL \
	for (u32 j = 0; j < ITEMS; j++) { \
		if (there) { \
			value[j] = LOAD(s0 + s + j * sApart); \
		} \
	} \
	i64 at = d0; \
	for (u32 i = 0; i < copies; i++, at += params->da) { \
		UNROLL \
		for (u32 j = 0; j < ITEMS; j++) { \
			if (there) { \
				to[at + d + j * dApart] = CONVERT(value[j]); \
			} \
		} \
	}

ENTRY {
	GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst;
	SETUP
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 cuts = cuts_of(params, block_of(params, block, &d0, &s0));
#if CAST && SERIAL
		if (params->inner == 0 && params->d == 1 && params->s == 1) {
			const u32 left = cuts;
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
		const u32 apart = APART(cuts), items = apart * params->flat;
		const i64 dApart = apart * params->d, sApart = apart * params->s;
		for (u32 item = LOCAL_ID; item < items; item += GROUP) {
			u32 x = item;
			INDEX d = 0, s = 0;
			ROLLED
			for (u32 k = 0; k < params->inner; k++) {
				const u32 i = digit(&x, inner + k);
				d += (INDEX)i * (INDEX)inner[k].d;
				s += (INDEX)i * (INDEX)inner[k].s;
			}
			d += (INDEX)x * (INDEX)params->d;
			s += (INDEX)x * (INDEX)params->s;
#if TWICE // without conditions, too
			if (x + (ITEMS - 1) * apart < cuts) {
				MOVE(1)
			} else
#endif
			{
				MOVE(x + j * apart < cuts)
			}
		}
	}
}

#undef MOVE
#undef TWICE

#include "undefs.h"
