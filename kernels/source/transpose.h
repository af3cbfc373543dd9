// transpose: a transposition of elements narrower than a word (see squares.h): a work-item
// reads 16 bytes of a line (2 bits: 8).

#define WAYS 3
#define LINES (DBITS == 2 ? 16 : 8) // of src that a work-item reads
#define ACROSS_LOG (DBITS == 16 ? 3 : DBITS == 8 ? 4 : 5)
#define SLOTS_LOG 11
#define PREPARE
#define KNOWN
#define KNOWS

// lines reads elements of LINES lines, the first of which are at at, and others sb further
// on each: the first left ones along a line, and most along the other axis. full: these are
// all; aligned: lines begin on as many elements as a work-item has.
INLINED void PASTE(NAME, _lines)(u32 *r, GLOBAL const u8 *src, i64 at, i64 sb, i32 left, i32 most, u32 full, u32 aligned) {
	const u32 per = 128 / DBITS, vec = 32 / LINES; // elements in 16 bytes; words of a line
	const u32 need = (u32)MIN(left, 1 << ACROSS_LOG) - 1; // elements behind a line's first one
	GLOBAL const u8 *from = src + (at * DBITS >> 3);
	const i64 step = sb * DBITS >> 3;
	u128 none;
	none.x = none.y = none.z = none.w = 0;
	UNROLL
	for (u32 n = 0; n < LINES; n += aligned ? LINES : 2) { // more would take too many registers
		Pair line[LINES];
		UNROLL
		for (u32 k = n; k < n + (aligned ? LINES : 2); k++) { // loads first: they overlap
			line[k].shift = 0;
			if (!full && (i32)k >= most) {
				line[k].lo = line[k].hi = none;
			} else if (aligned) {
#if DBITS > 2
				line[k].lo = *(GLOBAL const u128 *)(from + k * step);
#else
				const u32x2 words = *(GLOBAL const u32x2 *)(from + k * step);
				line[k].lo.x = words.x;
				line[k].lo.y = words.y;
#endif
			} else {
				const u64 first = (u64)(at + k * sb);
				const u32 phase = (u32)first % per;
				GLOBAL const u128 *words = (GLOBAL const u128 *)src + first / per;
				line[k].lo = words[0];
				line[k].hi = words[(phase + need) / per];
				line[k].shift = phase * DBITS;
			}
		}
		LOADED_WHOLE();
		UNROLL
		for (u32 k = n; k < n + (aligned ? LINES : 2); k++) {
			const u128 words = aligned ? line[k].lo : shifted(line[k]);
			r[k * vec] = words.x;
			r[k * vec + 1] = words.y;
#if DBITS > 2
			r[k * vec + 2] = words.z;
			r[k * vec + 3] = words.w;
#endif
		}
	}
}
