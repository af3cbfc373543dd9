// tile: a transposition by way of local memory. src is dense, or nearly, along
// axis a, and dst is along axis b: a block is TILE_A x TILE_B elements, read along
// a and written along b. A line of the tile has one element more than it needs, so
// that neither way of going through it meets a memory bank twice.

#define LINE (TILE_A + 1)
#define LOADS (TILE_A * TILE_B / GROUP) // of a work-item

ENTRY {
	SHARED(WORD, tile, TILE_B * LINE);
	const u32 ax = LOCAL_ID % TILE_A, ay = LOCAL_ID / TILE_A; // to load: along a, along b
	const u32 bx = LOCAL_ID % TILE_B, by = LOCAL_ID / TILE_B; // to store: along b, along a
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Tile t = tile_of(params, block, dBase, sBase);
		const i64 sLines = params->sb * (GROUP / TILE_A), dLines = params->da * (GROUP / TILE_B);
		GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src + (t.s + ax * params->sa + ay * params->sb);
		GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst + (t.d + by * params->da + bx);
		SHARED_POINTER WORD *in = tile + (ay * LINE + ax);
		SHARED_POINTER WORD *out = tile + (bx * LINE + by);
		if (t.na == TILE_A && t.nb == TILE_B) {
			WORD value[LOADS];
			UNROLL
			for (u32 j = 0; j < LOADS; j++) { // loads first: they overlap
				value[j] = from[j * sLines];
			}
			UNROLL
			for (u32 j = 0; j < LOADS; j++) {
				in[j * (GROUP / TILE_A) * LINE] = value[j];
			}
			BARRIER();
			UNROLL
			for (u32 j = 0; j < LOADS; j++) {
				to[j * dLines] = out[j * (GROUP / TILE_B)];
			}
		} else {
			if (ax < t.na) {
				UNROLL
				for (u32 j = 0; j < LOADS; j++) {
					if (ay + j * (GROUP / TILE_A) < t.nb) {
						in[j * (GROUP / TILE_A) * LINE] = from[j * sLines];
					}
				}
			}
			BARRIER();
			if (bx < t.nb) {
				UNROLL
				for (u32 j = 0; j < LOADS; j++) {
					if (by + j * (GROUP / TILE_B) < t.na) {
						to[j * dLines] = out[j * (GROUP / TILE_B)];
					}
				}
			}
		}
		BARRIER(); // before the next block's loads
	}
}

#undef LINE
#undef LOADS
