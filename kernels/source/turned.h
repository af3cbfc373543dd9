// turned: a cast that is a transposition (see squares.h). It goes behind the form that
// converts, lookup or value, which gives it PREPARE, CONVERT(out, words) of TOGETHER items
// of EACH elements, and what that has to know: KNOWN and KNOWS. Elements are converted as
// they are read, so that what is in registers and in local memory is dst's.

#define WAYS 1
#define LINES (512 / DBITS >> ACROSS_LOG) // of src that a work-item reads
#define SLOTS_LOG 10
#define ALONG ((1 << ACROSS_LOG) / EACH)         // items of a line
#define RAW (ITEM_S < 32 ? 1 : ITEM_S / 32)      // words of an item in src
#define OUT (EACH * DBITS < 32 ? 1 : EACH * DBITS / 32) // and in dst
#define READ (UNIT_S / SBITS)                    // elements that are read at once, where lines begin anywhere
#define ROUND (16 / RAW > LINES * ALONG ? LINES * ALONG : 16 / RAW) // items that are read before others are converted
#define SHIFT_OF(n) ((n) == 2 ? 1 : (n) == 4 ? 2 : (n) == 8 ? 3 : (n) == 16 ? 4 : 5)

// lines reads and converts elements of LINES lines, the first of which are at at, and others
// sb further on each: the first left ones along a line, and most along the other axis. full:
// these are all; aligned: lines begin on as many elements as a work-item has.
INLINED void PASTE(NAME, _lines)(u32 *r, GLOBAL const u8 *src, i64 at, i64 sb, i32 left, i32 most, u32 full, u32 aligned KNOWN) {
	UNROLL
	for (u32 n = 0; n < LINES * ALONG; n += ROUND) {
		u32 raw[ROUND * RAW];
		i64 from[ROUND];
		i32 last[ROUND]; // of the elements that are wanted
		UNROLL
		for (u32 k = 0; k < ROUND; k++) { // of what is not wanted, something else is read
			const i32 line = (i32)((n + k) / ALONG), skip = (i32)((n + k) % ALONG * EACH);
			from[k] = at + MIN(line, most - 1) * sb + (skip < left ? skip : 0);
			last[k] = MIN(left - (skip < left ? skip : 0), EACH) - 1;
		}
		if (aligned) {
			PASTE(Piece, ITEM_S) piece[ROUND];
			UNROLL
			for (u32 k = 0; k < ROUND; k++) { // loads first: they overlap
				piece[k] = *(GLOBAL const PASTE(Piece, ITEM_S) *)(src + (from[k] * SBITS >> 3));
			}
			UNROLL
			for (u32 k = 0; k < ROUND; k++) {
				PASTE(words_, ITEM_S)(raw + k * RAW, piece[k]);
			}
		} else {
			PASTE(Piece, UNIT_S) lo[ROUND], hi[ROUND];
			UNROLL
			for (u32 k = 0; k < ROUND; k++) {
				GLOBAL const PASTE(Piece, UNIT_S) *units = (GLOBAL const PASTE(Piece, UNIT_S) *)src + ((u64)from[k] >> SHIFT_OF(READ));
				lo[k] = units[0];
				hi[k] = units[((u32)from[k] % READ + (u32)last[k]) / READ];
			}
			LOADED_WHOLE();
			UNROLL
			for (u32 k = 0; k < ROUND; k++) {
				PASTE(across_, UNIT_S)(raw + k * RAW, lo[k], hi[k], (u32)from[k] % READ * SBITS);
			}
		}
		UNROLL
		for (u32 k = 0; k < ROUND; k += TOGETHER) {
			u32 out[TOGETHER * OUT];
			CONVERT(out, raw + k * RAW);
			UNROLL
			for (u32 j = 0; j < TOGETHER; j++) {
				const i32 line = (i32)((n + k + j) / ALONG);
#if EACH * DBITS >= 32
				UNROLL
				for (u32 i = 0; i < OUT; i++) {
					r[(n + k + j) * OUT + i] = full || line < most ? out[j * OUT + i] : 0;
				}
#else
				const u32 before = (n + k + j) * EACH * DBITS % 32; // in a word
				const u32 piece = full || line < most ? (out[j] & ((1u << EACH * DBITS) - 1)) << before : 0;
				r[(n + k + j) * EACH * DBITS / 32] = before > 0 ? r[(n + k + j) * EACH * DBITS / 32] | piece : piece;
#endif
			}
		}
	}
}

#undef ALONG
#undef RAW
#undef OUT
#undef READ
#undef ROUND
#undef SHIFT_OF
