// chunks: the frame of forms on parallel targets whose items are chunks (parts.h). The
// first and the last one of a run may be the run's only in part.
//
// A form goes before it (files in source.go) and defines
//
//	LOADED      a type: what is read of src for a chunk
//	LOAD(c)     reads it: slots [c.a, c.b) are wanted
//	MAKE(c, x)  makes a u128 of it; what is in other slots does not matter
//	ROWS        1: a chunk is put together from rows, each by LOAD and MAKE; 0: the form
//	            itself knows where the elements of runs of several axes are
//
// They see src, params, lo and hi. A 16-byte word of src is read only if one of its bits is
// needed. The plan is planChunks'.

#define PER (128 / DBITS)

// store writes bits [a, b) of a chunk.
INLINED void PASTE(NAME, _store)(GLOBAL u128 *to, u128 v, u32 a, u32 b) {
	if (b - a == 128) {
		*to = v;
		return;
	}
	GLOBAL u32 *words = (GLOBAL u32 *)to;
#define WHOLE(k, v) \
	if (a <= 32 * k && b >= 32 * k + 32) { \
		words[k] = v; \
	}
	WHOLE(0, v.x)
	WHOLE(1, v.y)
	WHOLE(2, v.z)
	WHOLE(3, v.w)
#undef WHOLE
	const u32 first = a / 32, last = b / 32;
	if (a % 32 > 0) {
		MERGE(words + first, word_of(v, first), bits_between(a % 32, MIN(b - first * 32, 32)));
	}
	if (b % 32 > 0 && (a % 32 == 0 || last > first)) {
		MERGE(words + last, word_of(v, last), bits_between(0, b % 32));
	}
}

ENTRY {
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Part part = part_of(params, block, dBase, sBase, PER);
		for (u32 item = LOCAL_ID; item < part.items; item += GROUP) {
			Chunk c = chunk_of(params, part, item, PER);
			GLOBAL u128 *to = (GLOBAL u128 *)dst + c.d;
#if ROWS
			i32 from = c.a, next = c.b;
			u128 value;
			while (c.a < c.b) {
				const Chunk row = params->run > 1 ? row_of(params, c, &next) : c;
				if (row.a < row.b) {
					const LOADED x = LOAD(row);
					LOADED_WHOLE();
					const u128 v = MAKE(row, x);
					value = c.a == from ? v : with_above(value, v, (u32)c.a * DBITS);
					if (row.b < next || next == c.b) {
						PASTE(NAME, _store)(to, value, (u32)from * DBITS, (u32)row.b * DBITS);
						from = next;
					}
				} else {
					from = next;
				}
				c.a = next;
			}
#else
			if (c.a < c.b) {
				const LOADED x = LOAD(c);
				LOADED_WHOLE();
				PASTE(NAME, _store)(to, MAKE(c, x), (u32)c.a * DBITS, (u32)c.b * DBITS);
			}
#endif
		}
	}
}

#undef PER
#undef LOADED
#undef LOAD
#undef MAKE
#undef ROWS
