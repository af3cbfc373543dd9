// pick: elements of src whose positions depend on indices in memory, of each element
// other ones. lo is the base of at.

ENTRY {
	GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = {dBase, sBase, (i64)lo};
		const u32 cuts = cuts_of(params, position_of(params, block, &begin));
		const u32 apart = APART(cuts), items = apart * params->flat;
		const i64 dApart = apart * params->d, sApart = apart * params->s, aApart = apart * params->sa;
		for (u32 item = LOCAL_ID; item < items; item += GROUP) {
			Position p = begin;
			u32 x = item;
			ROLLED
			for (u32 k = params->outer; k < params->outer + params->inner; k++) {
				step_to(&p, params, k, digit(&x, AXES(params) + k));
			}
			step_cut(&p, params, x);
			i64 s[ITEMS];
			WORD value[ITEMS];
			u32 there = 0;
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				s[j] = p.s + j * sApart;
				there |= (x + j * apart < cuts) << j;
			}
			ROLLED
			for (u32 k = 0; k < params->na; k++) {
				const i64 a = p.a + INDICES(params)[k].offset;
				i64 index[ITEMS];
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
					if (there >> j & 1) {
						index[j] = index_at(at, a + j * aApart, ABITS);
					}
				}
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) {
					if ((there >> j & 1) && !add_index(params, k, index[j], &s[j], status)) {
						there &= ~(1u << j);
					}
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (there >> j & 1) {
					value[j] = from[s[j]];
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (there >> j & 1) {
					to[p.d + j * dApart] = value[j];
				}
			}
		}
	}
}
