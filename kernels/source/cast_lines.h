// cast_lines: how squares.h reads lines where a cast is a transposition. CONVERTER, lookup.h or
// value.h, defines PREPARE, CONVERT(out, words) of TOGETHER items of EACH elements, and their
// state: KNOWN and KNOWS. Elements are converted as they are read, so registers and local
// memory hold elements of dst.

#include "kernel.h"
#include "conversions.h"
#include CONVERTER

// SPREAD: lines of words begin anywhere. Then adjacent work-items read adjacent words, and each
// reads others as many words further on as there are work-items side by side.
#define SPREADS (SBITS == 32)
#define SPREAD(params) (SPREADS && (params)->length)

// Codes of 4 bits have more lines than compilers unroll by themselves; and a table occupies a
// part of the 32 KiB of local memory that every device has.
#define SLOTS_LOG (DBITS == 4 || SBITS <= 8 ? 10 : 11)
#define LINES ((1 << SLOTS_LOG) / 2 / DBITS >> ACROSS_LOG) // of src that a work-item reads
#define ALONG ((1 << ACROSS_LOG) / EACH)    // items of a line
#define RAW (PIECE_S < 32 ? 1 : PIECE_S / 32) // words of a piece
#define PART (PIECE_S / SBITS)              // its elements
#define PARTS ((1 << ACROSS_LOG) / PART)    // of a line
#define HAS (PART / EACH)                   // its items
#define OUT (EACH * DBITS < 32 ? 1 : EACH * DBITS / 32) // words of an item in dst
#if !SPREADS
#define READ (UNIT_S / SBITS)               // elements in one load, where lines begin anywhere
#define SHIFT_OF(n) ((n) == 4 ? 2 : (n) == 8 ? 3 : (n) == 16 ? 4 : 5)
#endif
#define ROUND (8 / RAW > LINES * PARTS ? LINES * PARTS : 8 / RAW) // pieces that are read before others are converted

// lines reads and converts elements of LINES lines. The first line's are at at, the next ones'
// each sb further on; at most left elements along a line and most lines along the other axis
// exist. full: all exist; aligned: lines begin at multiples of a work-item's elements. Else
// elements of a line are 1<<side apart.
INLINED void PASTE(NAME, _lines)(u32 *r, GLOBAL const u8 *src, i64 at, i64 sb, u32 side, i32 left, i32 most, u32 full, u32 aligned KNOWN) {
	const u32 end = (u32)MIN(left, 1 << ACROSS_LOG); // wanted elements of a line
	at += MIN(most - 1, 0) * sb; // for absent lines, the last one is read
#if SPREADS
	u32 further[1 << ACROSS_LOG]; // bytes
	UNROLL
	for (u32 i = 0; i < 1 << ACROSS_LOG; i++) {
		further[i] = (i32)(i << side) < left ? (i << side) * (SBITS / 8) : 0;
	}
#endif
	UNROLL
	for (u32 n = 0; n < LINES * PARTS; n += ROUND) {
		u32 raw[ROUND * RAW];
		i64 from[ROUND]; // the begins of pieces, or of their lines
		UNROLL
		for (u32 k = 0; k < ROUND; k++) { // where nothing is wanted, something else is read
			const u32 line = (n + k) / PARTS, skip = (n + k) % PARTS * PART;
#if SPREADS
			from[k] = at + (aligned && skip < end ? skip : 0);
#else
			from[k] = at + (skip < end ? skip : 0);
#endif
			if ((n + k + 1) % PARTS == 0) {
				at += (i32)line + 1 < most ? sb : 0;
			}
		}
		if (aligned) {
			PASTE(Piece, PIECE_S) piece[ROUND];
			UNROLL
			for (u32 k = 0; k < ROUND; k++) { // loads first: they overlap
				piece[k] = *(GLOBAL const PASTE(Piece, PIECE_S) *)(src + (from[k] * SBITS >> 3));
			}
			LOADED_WHOLE();
			UNROLL
			for (u32 k = 0; k < ROUND; k++) {
				PASTE(words_, PIECE_S)(raw + k * RAW, piece[k]);
			}
		} else {
#if SPREADS
			UNROLL
			for (u32 k = 0; k < ROUND; k++) {
				GLOBAL const u8 *line = src + from[k] * (SBITS / 8);
				UNROLL
				for (u32 j = 0; j < PART; j++) {
					raw[k * PART + j] = *(GLOBAL const u32 *)(line + further[(n + k) % PARTS * PART + j]);
				}
			}
#else
			PASTE(Piece, UNIT_S) lo[ROUND], hi[ROUND];
			UNROLL
			for (u32 k = 0; k < ROUND; k++) {
				const u32 skip = (n + k) % PARTS * PART, last = MIN(end - (skip < end ? skip : 0), PART) - 1;
				GLOBAL const PASTE(Piece, UNIT_S) *units = (GLOBAL const PASTE(Piece, UNIT_S) *)src + ((u64)from[k] >> SHIFT_OF(READ));
				lo[k] = units[0];
				hi[k] = units[((u32)from[k] % READ + last) / READ];
			}
			LOADED_WHOLE();
			UNROLL
			for (u32 k = 0; k < ROUND; k++) {
				PASTE(across_, UNIT_S)(raw + k * RAW, lo[k], hi[k], (u32)from[k] % READ * SBITS);
			}
#endif
		}
		UNROLL
		for (u32 k = 0; k < ROUND * HAS; k += TOGETHER) {
			u32 out[TOGETHER * OUT];
#if ITEM_S < 32
			const u32 some = raw[k / HAS * RAW + k % HAS * ITEM_S / 32] >> (k % HAS * ITEM_S % 32);
			CONVERT(out, &some);
#else
			CONVERT(out, raw + k * ITEM_S / 32);
#endif
			UNROLL
			for (u32 j = 0; j < TOGETHER; j++) {
				const u32 item = n * HAS + k + j;
				const u32 wanted = full || (i32)(item / ALONG) < most;
#if EACH * DBITS >= 32
				UNROLL
				for (u32 i = 0; i < OUT; i++) {
					r[item * OUT + i] = wanted ? out[j * OUT + i] : 0;
				}
#else
				const u32 before = item * EACH * DBITS % 32; // in a word
				const u32 piece = wanted ? (out[j] & ((1u << EACH * DBITS) - 1)) << before : 0;
				r[item * EACH * DBITS / 32] = before > 0 ? r[item * EACH * DBITS / 32] | piece : piece;
#endif
			}
		}
	}
}

#undef ALONG
#undef RAW
#undef PART
#undef PARTS
#undef HAS
#undef OUT
#undef READ
#undef ROUND
#undef SHIFT_OF
