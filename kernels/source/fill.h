// fill: elements as in element.h, all of them the pattern (lo, hi).

#include "kernel.h"

// STORE stores the existing elements of an item.
#define STORE(there) \
	UNROLL \
	for (u32 j = 0; j < ITEMS; j++, first += dApart) { \
		if (there) { \
			*first = value; \
		} \
	}

ENTRY {
	GLOBAL WORD *to = (GLOBAL WORD *)dst;
	CONSTANT Axis *inner = AXES(params) + params->outer;
#if DBITS == 128
	WORD value;
	value.x = (u32)lo;
	value.y = (u32)(lo >> 32);
	value.z = (u32)hi;
	value.w = (u32)(hi >> 32);
#else
	const WORD value = (WORD)lo;
#endif
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, unused = 0;
		const u32 cuts = cuts_of(params, block_of(params, block, &d0, &unused));
#if SERIAL
		if (params->inner == 0) { // in order: four places at a time are slower
			for (u32 x = 0; x < cuts; x++) {
				to[d0 + (INDEX)x * (INDEX)params->d] = value;
			}
			continue;
		}
#endif
		const u32 apart = APART(cuts), items = apart * params->flat;
		const i64 dApart = apart * params->d;
		for (u32 item = LOCAL_ID; item < items; item += GROUP) {
			u32 x = item;
			INDEX d = 0;
			ROLLED
			for (u32 k = 0; k < params->inner; k++) {
				d += (INDEX)digit(&x, inner + k) * (INDEX)inner[k].d;
			}
			GLOBAL WORD *first = to + (d0 + (d + (INDEX)x * (INDEX)params->d));
			if (x + (ITEMS - 1) * apart < cuts) { // without conditions, too
				STORE(1)
			} else {
				STORE(x + j * apart < cuts)
			}
		}
	}
}

#undef STORE
