// spread: src repeats its elements along an axis. A work-item loads an element once
// and stores it along a part of that axis: na indices in all, ta of them in a block
// (outer axis 1), da the step.

#define ITEMS 4

ENTRY {
	GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 left = items_of(params, block_of(params, block, &d0, &s0));
		u32 part = quotient(block, AXES(params));
		part = digit(&part, AXES(params) + 1);
		const u32 copies = MIN(params->ta, params->na - part * params->ta);
		for (u32 item = LOCAL_ID; item < left; item += ITEMS * GROUP) {
			INDEX at[ITEMS];
			WORD value[ITEMS];
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
					value[j] = from[s0 + s + (INDEX)x * (INDEX)params->s];
				}
			}
			i64 d = d0;
			for (u32 i = 0; i < copies; i++, d += params->da) {
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) {
					if (item + j * GROUP < left) {
						to[d + at[j]] = value[j];
					}
				}
			}
		}
	}
}

#undef ITEMS
