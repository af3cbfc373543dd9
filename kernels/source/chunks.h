// chunks: a frame for parallel targets whose items are chunks (parts.h). The first and last
// chunk of a run may be partial. planChunks makes the plan.

#include "chunk_loads.h"

#ifdef OF_BITS

// Words of src from a work-item's chunk to its next one.
#define AHEAD ((STEP < 0 ? -GROUP : GROUP) * PER * SBITS / 128)

// inside writes the whole chunks of a block's part of one run, and returns the first chunk and
// the one behind the last.
INLINED u32 PASTE(NAME, _inside)(GLOBAL u8 *dst, GLOBAL const u8 *src, CONSTANT Params *params, const Part part, u32 *after) {
	const u32 phase = (u32)part.d & (PER - 1), first = phase > 0;
	// A pass begins with a sector: a sector that two passes write in part would cost memory
	// twice the traffic.
	const u32 before = (u32)((u64)part.d / PER) & (256 / CHUNK - 1);
	Chunk c = chunk_of(params, part, LOCAL_ID, PER);
	c.d -= before;
	c.e -= (i32)(before * PER);
	GLOBAL u32 *to = (GLOBAL u32 *)dst + c.d * (CHUNK / 32);
	Place p = PASTE(NAME, _place)(src, c, 0, PER);
	*after = MAX(MIN((part.length + phase) / PER, part.items), first);
	for (i32 item = (i32)(LOCAL_ID - before); item < (i32)*after; item += GROUP) {
		if (item >= (i32)first) {
			const Pair x = pair_at(p);
			LOADED_WHOLE();
			PASTE(NAME, _store)(to, OF_BITS(shifted(x)), 0, CHUNK);
		}
		p.from += AHEAD;
		to += GROUP * (CHUNK / 32);
	}
	return first;
}

#undef AHEAD
#endif

ENTRY {
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Part part = part_of(params, block, dBase, sBase, PER);
		u32 done = 0, after = 0; // chunks from done to after are written
#ifdef OF_BITS
		if (params->words == 0 && params->run <= 1) {
			done = PASTE(NAME, _inside)(dst, src, params, part, &after);
		}
#endif
		const u32 skip = after - done, left = part.items - skip;
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Chunk c = chunk_of(params, part, item < done ? item : item + skip, PER);
			GLOBAL u32 *to = (GLOBAL u32 *)dst + c.d * (CHUNK / 32);
			const u32 from = (u32)c.a * DBITS, end = (u32)c.b * DBITS;
			if (c.a >= c.b) {
				continue;
			}
#if ROWS
			u128 value;
			value.x = value.y = value.z = value.w = 0;
			while (c.a < c.b) {
				const Chunk row = params->run > 1 ? row_of(params, c) : c;
				const LOADED x = LOAD(row);
				LOADED_WHOLE();
				const u128 v = MAKE(row, x);
				const u32 a = (u32)row.a * DBITS;
				value = a == from ? v : with_above(value, v, a);
				c.a = row.b;
			}
#else
			const LOADED x = LOAD(c);
			LOADED_WHOLE();
			const u128 value = MAKE(c, x);
#endif
			PASTE(NAME, _store)(to, value, from, end);
		}
	}
}

#include "undefs.h"
