// gather: one element per item. Neighbouring work-items write neighbouring
// elements of dst's innermost axis.

#define ITEMS 4

ENTRY {
	GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
	CONSTANT Axis *inner = AXES(desc) + desc->outer;
	for (u32 block = GROUP_ID; block < desc->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 left = items_of(desc, block_of(desc, block, &d0, &s0));
		for (u32 item = LOCAL_ID; item < left; item += ITEMS * GROUP) {
			INDEX at[ITEMS];
			WORD value[ITEMS];
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
				u32 x = item + j * GROUP;
				if (x < left) {
					INDEX d = 0, s = 0;
					ROLLED
					for (u32 k = 0; k < desc->inner; k++) {
						const u32 i = digit(&x, inner + k);
						d += (INDEX)i * (INDEX)inner[k].d;
						s += (INDEX)i * (INDEX)inner[k].s;
					}
					at[j] = d + (INDEX)x * (INDEX)desc->d;
					value[j] = from[s0 + s + (INDEX)x * (INDEX)desc->s];
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (item + j * GROUP < left) {
					to[d0 + at[j]] = value[j];
				}
			}
		}
	}
}

#undef ITEMS
