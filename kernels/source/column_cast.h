// column_cast: a cast that is a transposition, to elements of 16 bits or more. A tile holds
// lines of src unchanged, by aligned pieces of 16 bytes, each of which is read once. A
// work-item then gathers the elements of 16 aligned bytes of dst from as many of these rows,
// wherever they begin, and converts them: nothing is shifted or stored in the tile a second
// time. CONVERTER is lookup.h or value.h.
//
// src is dense along axis a, and dst along axis b. Blocks go in bands (see common.h). The tile has
// ROWS rows of params->span pieces, for ta elements that begin anywhere in the first one, and
// 1<<params->flat work-items read a row. A work-item's 16 bytes are in lines of dst that are
// LINES apart and begin at the same offset, so it locates the rows once.
//
// Where lines of dst do not begin at sectors, blocks overlap along b (step is less than ROWS),
// so that one block writes all of a sector, except at a line's own ends.

#include "kernel.h"
#include "conversions.h"
#include CONVERTER

#define UNIT (128 / DBITS)     // elements in 16 bytes of dst
#define SECTOR (256 / DBITS)   // and in a sector of memory
#define UNIT_LOG (DBITS == 32 ? 2 : DBITS == 16 ? 3 : 4)
#define ROWS (1 << ROWS_LOG)
#define UNITS_LOG (ROWS_LOG - UNIT_LOG) // of 16 bytes in a line
#define LINES (GROUP >> UNITS_LOG)      // lines of dst in one pass
#define NEAR (UNITS_LOG < 3 ? UNITS_LOG : 3) // of 32 work-items, this many are along a line
#define PIECE (128 / SBITS)    // elements in 16 bytes of src
#define PIECE_LOG (SBITS == 16 ? 3 : 4)
#define TOOK (TOGETHER * EACH / UNIT) // lines in which a work-item converts 16 bytes in one pass

// slot is where a row begins: adjacent work-items read elements of rows that are UNIT apart,
// from different banks whatever the size of a row.
DEVICE u32 PASTE(NAME, _slot)(u32 pieces, u32 row) { return row * pieces + (row >> UNIT_LOG); }

// rows reads the pieces of nb lines, which have na elements from position s on. full: every
// work-item has a multiple of AHEAD of them.
INLINED void PASTE(NAME, _rows)(SHARED_POINTER u128 *tile, GLOBAL const u8 *src, CONSTANT Params *params, i64 s, u32 na, u32 nb, u32 full) {
	const u32 width = params->flat, pieces = params->span, step = GROUP >> width;
	const u32 x = LOCAL_ID & ((1 << width) - 1), own = x < pieces ? nb : 0;
	const i64 skip = step * params->sb * (SBITS / 8);
	const u32 slots = PASTE(NAME, _slot)(pieces, step); // it is a multiple of UNIT
	u32 y = LOCAL_ID >> width;
	i64 at = (s + MIN(x * PIECE, na - 1) + y * params->sb) * (SBITS / 8); // byte offset of an element in the piece
	SHARED_POINTER u128 *to = tile + PASTE(NAME, _slot)(pieces, y) + x;
	ROLLED
	while (y < own) {
		u128 piece[AHEAD];
		UNROLL
		for (u32 k = 0; k < AHEAD; k++) { // loads first: they overlap
			piece[k] = *(GLOBAL const u128 *)(src + (at & -16));
			at += full || y + (k + 1) * step < own ? skip : 0; // for absent rows, the last one is read
		}
		LOADED_WHOLE();
		UNROLL
		for (u32 k = 0; k < AHEAD; k++) {
			if (full || y + k * step < own) {
				to[k * slots] = piece[k];
			}
		}
		to += AHEAD * slots;
		y += AHEAD * step;
	}
}

// columns converts the tile's na columns and writes them to dst from position d on. follows:
// the previous block has written the first sector.
INLINED void PASTE(NAME, _columns)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, i64 d, u32 s, u32 na, u32 nb, u32 follows KNOWN) {
	const u32 warp = LOCAL_ID / 32;
	const u32 unit = (LOCAL_ID & ((1 << NEAR) - 1)) | (warp & ((1 << (UNITS_LOG - NEAR)) - 1)) << NEAR;
	const u32 first = (LOCAL_ID % 32 >> NEAR) | warp >> (UNITS_LOG - NEAR) << (5 - NEAR);
	const i64 at = d + first * params->da;
	const u32 phase = (u32)at % SECTOR, pieces = params->span, sb = (u32)params->sb;
	const i32 begin = (i32)(unit * UNIT - phase);
	const i32 from = MAX(-begin, 0), until = MIN((i32)nb - begin, UNIT); // elements in dst
	const u32 end = until > 0 && (unit >= SECTOR / UNIT || !follows) ? na : 0;
	const u32 whole = from == 0 && until == UNIT ? end : 0;
	Local row[UNIT]; // address of a work-item's element in each row
	UNROLL
	for (i32 j = 0; j < UNIT; j++) {
		const u32 y = (u32)MIN(MAX(begin + j, 0), (i32)nb - 1);
		row[j] = local_at(local_of(tile), PASTE(NAME, _slot)(pieces, y), 16);
		row[j] += ((s + y * sb) % PIECE + first) * (SBITS / 8);
		FRESH(row[j]); // in one register
	}
	GLOBAL u8 *to = dst + ((at - phase + unit * UNIT) * DBITS >> 3);
	const i64 step = LINES * params->da * (DBITS / 8);
	ROLLED
	for (u32 line = first; line < end; line += TOOK * LINES) {
		u32 raw[TOOK * UNIT * SBITS / 32], out[TOOK * 4];
		UNROLL
		for (u32 k = 0; k < TOOK * UNIT * SBITS / 32; k++) { // ta is a multiple of TOOK*LINES
#define TAKE(n) LOCAL_VALUE(PASTE(u, SBITS), row[(k * (32 / SBITS) + (n)) % UNIT], (k * (32 / SBITS) + (n)) / UNIT * LINES * (SBITS / 8))
#if SBITS == 16
			raw[k] = pack_halves(TAKE(0), TAKE(1));
#else
			raw[k] = pack_bytes(TAKE(0), TAKE(1), TAKE(2), TAKE(3));
#endif
#undef TAKE
		}
		CONVERT(out, raw);
		UNROLL
		for (u32 k = 0; k < TOOK; k++) {
			if (line + k * LINES < whole) {
				u128 value;
				value.x = out[k * 4];
				value.y = out[k * 4 + 1];
				value.z = out[k * 4 + 2];
				value.w = out[k * 4 + 3];
				STORE_GLOBAL(u128, to, value);
			} else if (line + k * LINES < end) {
				UNROLL
				for (i32 j = 0; j < UNIT; j++) {
					if (from <= j && j < until) {
						STORE_GLOBAL(WORD, (GLOBAL WORD *)to + j, (WORD)(out[k * 4 + j * DBITS / 32] >> (j * DBITS % 32)));
					}
				}
			}
			to += step;
		}
		UNROLL
		for (u32 j = 0; j < UNIT; j++) {
			row[j] += TOOK * LINES * (SBITS / 8);
		}
	}
}

ENTRY {
	PREPARE
	SHARED(u128, tile, COLUMN_SLOTS);
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		u32 row, third;
		const Tile t = banded_of(params, block, dBase, sBase, &row, &third);
		const u32 nb = t.nb;
		if (nb == ROWS && (ROWS << params->flat) % (AHEAD * GROUP) == 0) {
			PASTE(NAME, _rows)(tile, src, params, t.s, t.na, nb, 1);
		} else {
			PASTE(NAME, _rows)(tile, src, params, t.s, t.na, nb, 0);
		}
		BARRIER();
		PASTE(NAME, _columns)(dst, tile, params, t.d, (u32)t.s, t.na, nb, row > 0 && params->step < ROWS KNOWS);
		BARRIER(); // before the next block's rows
	}
}

#undef UNITS_LOG
#undef NEAR

#include "undefs.h"
