// chunks: the frame of forms on parallel targets whose items are chunks (parts.h). The
// first and the last one of a run may be the run's only in part.
//
// A form goes before it (files in source.go), and says where a chunk's elements are:
//
//	ROWS 1  next to each other in src, too, forwards or (STEP is -1) backwards. The
//	        frame puts a chunk together from parts of rows, each of which MAKE(v) makes
//	        of the bits that it needs, v. Where that would be more than 128 bits, chunks
//	        are as much smaller than 16 bytes.
//	ROWS 0  anywhere: LOADED is a type, LOAD(c) what is read of src for a Chunk c, of
//	        which slots [c.a, c.b) are wanted, and MAKE(c, x) the u128 that it becomes.
//
// What they make of other slots does not matter. They see src, params, lo and hi. A
// 16-byte word of src is read only if one of its bits is wanted. The plan is planChunks'.

#if ROWS && SBITS > DBITS
#define CHUNK (128 * DBITS / SBITS)
#else
#define CHUNK 128
#endif
#define PER (CHUNK / DBITS)

// store writes bits [a, b) of a chunk.
INLINED void PASTE(NAME, _store)(GLOBAL u32 *to, u128 v, u32 a, u32 b) {
	if (b - a == CHUNK) {
#if CHUNK == 128
		*(GLOBAL u128 *)to = v;
#elif CHUNK == 64
		*(GLOBAL u64 *)to = (u64)v.y << 32 | v.x;
#else
		*to = v.x;
#endif
		return;
	}
#define INSIDE(k, v) \
	if (32 * k < CHUNK && a <= 32 * k && b >= 32 * k + 32) { \
		to[k] = v; \
	}
	INSIDE(0, v.x)
	INSIDE(1, v.y)
	INSIDE(2, v.z)
	INSIDE(3, v.w)
#undef INSIDE
	const u32 first = a / 32, last = b / 32;
	if (a % 32 > 0) {
		MERGE(to + first, word_of(v, first), bits_between(a % 32, MIN(b - first * 32, 32)));
	}
	if (b % 32 > 0 && (a % 32 == 0 || last > first)) {
		MERGE(to + last, word_of(v, last), bits_between(0, b % 32));
	}
}

#if ROWS

// Words of src from the place of a work-item's chunk to that of its next one.
#define AHEAD ((STEP < 0 ? -GROUP : GROUP) * PER * SBITS / 128)

// place is where the bits are that make slots [a, b) of a chunk.
DEVICE Place PASTE(NAME, _place)(GLOBAL const u8 *src, const Chunk c, u32 a, u32 b) {
#if STEP < 0
	return place_of(src, (c.s - c.e + 1 - PER) * SBITS, (PER - b) * SBITS, (PER - a) * SBITS);
#else
	return place_of(src, (c.s + c.e) * SBITS, a * SBITS, b * SBITS);
#endif
}

ENTRY {
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Part part = part_of(params, block, dBase, sBase, PER);
		u32 whole = 0, after = 0; // the first of the whole chunks of one run, and the next behind
		if (params->words == 0 && params->run <= 1) {
			const Chunk c = chunk_of(params, part, LOCAL_ID, PER);
			GLOBAL u32 *to = (GLOBAL u32 *)dst + c.d * (CHUNK / 32);
			Place p = PASTE(NAME, _place)(src, c, 0, PER);
			const u32 phase = (u32)part.d & (PER - 1);
			whole = phase > 0;
			after = MAX(MIN((part.length + phase) / PER, part.items), whole);
			for (u32 item = LOCAL_ID; item < after; item += GROUP) {
				if (item >= whole) {
					const Pair x = pair_at(p);
					LOADED_WHOLE();
					PASTE(NAME, _store)(to, MAKE(shifted(x)), 0, CHUNK);
				}
				p.from += AHEAD;
				to += GROUP * (CHUNK / 32);
			}
		}
		const u32 left = part.items - (after - whole);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Chunk c = chunk_of(params, part, item < whole ? item : item + (after - whole), PER);
			GLOBAL u32 *to = (GLOBAL u32 *)dst + c.d * (CHUNK / 32);
			const u32 from = (u32)c.a * DBITS, end = (u32)c.b * DBITS;
			u128 value;
			value.x = value.y = value.z = value.w = 0;
			while (c.a < c.b) {
				const Chunk row = params->run > 1 ? row_of(params, c) : c;
				const u32 a = (u32)row.a * DBITS;
				const Pair x = pair_at(PASTE(NAME, _place)(src, row, row.a, row.b));
				LOADED_WHOLE();
				const u128 v = MAKE(shifted(x));
				value = a == from ? v : with_above(value, v, a);
				c.a = row.b;
			}
			if (from < end) {
				PASTE(NAME, _store)(to, value, from, end);
			}
		}
	}
}

#undef AHEAD

#else

ENTRY {
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Part part = part_of(params, block, dBase, sBase, PER);
		for (u32 item = LOCAL_ID; item < part.items; item += GROUP) {
			const Chunk c = chunk_of(params, part, item, PER);
			if (c.a < c.b) {
				const LOADED x = LOAD(c);
				LOADED_WHOLE();
				PASTE(NAME, _store)((GLOBAL u32 *)dst + c.d * 4, MAKE(c, x), (u32)c.a * DBITS, (u32)c.b * DBITS);
			}
		}
	}
}

#undef LOADED
#undef LOAD
#endif

#undef PER
#undef CHUNK
#undef MAKE
#undef ROWS
