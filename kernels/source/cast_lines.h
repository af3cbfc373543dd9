// cast_lines: what squares.h reads where a cast is a transposition. CONVERTER, lookup.h or
// value.h, defines PREPARE, CONVERT(out, words) of TOGETHER items of EACH elements, and what
// that has to know: KNOWN and KNOWS. Elements are converted as they are read, so that what is in
// registers and in local memory is dst's.

#include "kernel.h"
#include "conversions.h"
#include CONVERTER

// SPREAD: lines of words begin anywhere. Then work-items that are neighbours read words that are,
// and others as many further on as there are work-items side by side.
#define SPREADS (SBITS == 32)
#define SPREAD(params) (SPREADS && (params)->length)

// Codes of 4 bits have more lines than compilers unroll otherwise; and a table takes its part of
// the 32 KiB of local memory that a device has at least.
#define SLOTS_LOG (DBITS == 4 || SBITS <= 8 ? 10 : 11)
#define LINES ((1 << SLOTS_LOG) / 2 / DBITS >> ACROSS_LOG) // of src that a work-item reads
#define ALONG ((1 << ACROSS_LOG) / EACH)    // items of a line
#define RAW (PIECE_S < 32 ? 1 : PIECE_S / 32) // words of what is read at once
#define PART (PIECE_S / SBITS)              // its elements
#define PARTS ((1 << ACROSS_LOG) / PART)    // of a line
#define HAS (PART / EACH)                   // its items
#define OUT (EACH * DBITS < 32 ? 1 : EACH * DBITS / 32) // words of an item in dst
#if !SPREADS
#define READ (UNIT_S / SBITS)               // elements that are read at once, where lines begin anywhere
#define SHIFT_OF(n) ((n) == 4 ? 2 : (n) == 8 ? 3 : (n) == 16 ? 4 : 5)
#endif
#define ROUND (8 / RAW > LINES * PARTS ? LINES * PARTS : 8 / RAW) // pieces that are read before others are converted

// lines reads and converts elements of LINES lines, the first of which are at at, and others
// sb further on each: those among the first left ones along a line, and most along the other axis.
// full: these are all; aligned: lines begin on as many elements as a work-item has. Else elements
// of a line are 1<<side apart.
INLINED void PASTE(NAME, _lines)(u32 *r, GLOBAL const u8 *src, i64 at, i64 sb, u32 side, i32 left, i32 most, u32 full, u32 aligned KNOWN) {
	const u32 end = (u32)MIN(left, 1 << ACROSS_LOG); // of a line's elements that are wanted
	at += MIN(most - 1, 0) * sb; // of lines that are not there, the last one is read
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
		i64 from[ROUND]; // where pieces begin, or their lines
		UNROLL
		for (u32 k = 0; k < ROUND; k++) { // of what is not wanted, something else is read
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
