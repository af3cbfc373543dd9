// chunks: the frame of forms on parallel targets whose items are chunks: 16 aligned
// bytes of dst, in a run of elements that are dense in dst. The first and the last one
// of a run may be the run's only in part.
//
// A form goes before it (files in source.go) and defines
//
//	LOADED      a type: what is read of src for a chunk
//	LOAD(c)     reads it, of a Chunk c (words.h), slots [c.a, c.b) of which are the run's
//	MAKE(c, x)  makes a u128 of it; what is in other slots does not matter
//	ITEMS       how many chunks a work-item reads at a time
//
// They see src, params, lo and hi. A 16-byte word of src is read only if one of its bits is
// needed. The plan is planChunks'.

#define PER (128 / DBITS)

// store writes bits [a, b) of a chunk.
INLINED void PASTE(NAME, _store)(GLOBAL u128 *to, u128 value, u32 a, u32 b) {
	if (b - a == 128) {
		*to = value;
		return;
	}
#define EDGE(k, v) \
	{ \
		const u32 begin = MAX(a, k * 32), end = MIN(b, k * 32 + 32); \
		if (begin < end) { \
			MERGE((GLOBAL u32 *)to + k, v, bits_between(begin - k * 32, end - k * 32)); \
		} \
	}
	EDGE(0, value.x)
	EDGE(1, value.y)
	EDGE(2, value.z)
	EDGE(3, value.w)
#undef EDGE
}

ENTRY {
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Part part = part_of(params, block, dBase, sBase, PER);
		for (u32 item = LOCAL_ID; item < part.items; item += ITEMS * GROUP) {
			Chunk chunk[ITEMS];
			LOADED loaded[ITEMS];
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
				chunk[j].a = chunk[j].b = 0;
				if (item + j * GROUP < part.items) {
					chunk[j] = chunk_of(params, part, item + j * GROUP, PER);
				}
				if (chunk[j].a < chunk[j].b) {
					loaded[j] = LOAD(chunk[j]);
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (chunk[j].a < chunk[j].b) {
					const u128 value = MAKE(chunk[j], loaded[j]);
					PASTE(NAME, _store)((GLOBAL u128 *)dst + chunk[j].d, value, (u32)chunk[j].a * DBITS, (u32)chunk[j].b * DBITS);
				}
			}
		}
	}
}

#undef PER
#undef LOADED
#undef LOAD
#undef MAKE
#undef ITEMS
