// batched_cast: a cast of contiguous matrices that are transposed on one side. A tile holds
// whole matrices as they lie in src. A work-item gathers the elements of 16 aligned bytes of
// dst from the tile and converts them, as in column_cast.h. CONVERTER is lookup.h or value.h.
//
// A block has up to params->cut of params->extent matrices of params->span elements: params->nb
// in a line of dst, at least 16 bytes, and na in a line of src. Inner axes 0 and 1 have these
// extents.

#include "kernel.h"
#include "conversions.h"
#include CONVERTER

#define UNIT (128 / DBITS)  // elements in 16 bytes of dst
#define PIECE (128 / SBITS) // and of src
#define PIECE_LOG (SBITS == 16 ? 3 : 4)
#define TOOK (TOGETHER * EACH / UNIT) // units of 16 bytes that a work-item converts in one pass

// run reads count elements from position s on.
INLINED void PASTE(NAME, _run)(SHARED_POINTER u128 *tile, GLOBAL const u8 *src, i64 s, u32 count) {
	GLOBAL const u128 *from = (GLOBAL const u128 *)src + ((u64)s >> PIECE_LOG);
	const u32 pieces = ((u32)s % PIECE + count - 1) / PIECE + 1;
	for (u32 i = LOCAL_ID; i < pieces; i += AHEAD * GROUP) {
		u128 piece[AHEAD];
		UNROLL
		for (u32 k = 0; k < AHEAD; k++) { // loads first: they overlap
			piece[k] = from[MIN(i + k * GROUP, pieces - 1)];
		}
		LOADED_WHOLE();
		UNROLL
		for (u32 k = 0; k < AHEAD; k++) {
			if (i + k * GROUP < pieces) {
				tile[i + k * GROUP] = piece[k];
			}
		}
	}
}

// turn converts count elements, from element s of the tile on, and writes them to dst from
// position d on.
INLINED void PASTE(NAME, _turn)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, i64 d, u32 s, u32 count KNOWN) {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	const u32 phase = (u32)d % UNIT, units = (phase + count - 1) / UNIT + 1;
	const u32 na = params->na, nb = params->nb, all = params->span;
	GLOBAL u128 *to = (GLOBAL u128 *)dst + (u64)d / UNIT;
	for (u32 i = LOCAL_ID; i < units; i += TOOK * GROUP) {
		u32 raw[TOOK * UNIT * SBITS / 32], out[TOOK * 4];
		UNROLL
		for (u32 n = 0; n < TOOK; n++) {
			const i32 begin = (i32)(MIN(i + n * GROUP, units - 1) * UNIT - phase);
			u32 m = (u32)MAX(begin, 0);
			const u32 b = digit(&m, inner), a = digit(&m, inner + 1);
			// Where a line of dst ends, another line or matrix begins.
			const u32 left = nb - b, jump = a + 1 < na ? 1 - all : 1 - na;
			u32 at = m * all + b * na + a, taken[UNIT];
			UNROLL
			for (u32 j = 0; j < UNIT; j++) {
				const u32 element = MIN(j < left ? at : at + jump, count - 1); // for absent elements, the last one
				taken[j] = LOCAL_VALUE(PASTE(u, SBITS), local_at(local_of(tile), s + element, SBITS / 8), 0);
				at += na;
			}
			UNROLL
			for (u32 k = 0; k < UNIT * SBITS / 32; k++) {
#if SBITS == 16
				raw[n * (UNIT / 2) + k] = pack_halves(taken[2 * k], taken[2 * k + 1]);
#else
				raw[n * (UNIT / 4) + k] = pack_bytes(taken[4 * k], taken[4 * k + 1], taken[4 * k + 2], taken[4 * k + 3]);
#endif
			}
		}
		CONVERT(out, raw);
		UNROLL
		for (u32 n = 0; n < TOOK; n++) {
			const u32 unit = i + n * GROUP;
			const i32 begin = (i32)(unit * UNIT - phase), left = MIN((i32)count - begin, UNIT), skip = MAX(-begin, 0);
			if (unit < units && skip == 0 && left == UNIT) {
				u128 value;
				value.x = out[n * 4];
				value.y = out[n * 4 + 1];
				value.z = out[n * 4 + 2];
				value.w = out[n * 4 + 3];
				to[unit] = value;
			} else if (unit < units) { // a partial unit at an end of the run, by elements
				GLOBAL WORD *part = (GLOBAL WORD *)(to + unit) + skip;
				UNROLL
				for (i32 j = 0; j < UNIT; j++) {
					if (j < left - skip) {
						part[j] = (WORD)(out[n * 4 + j * DBITS / 32] >> (j * DBITS % 32));
					}
				}
			}
		}
	}
}

ENTRY {
	PREPARE
	SHARED(u128, tile, COLUMN_SLOTS);
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const u32 first = block * params->cut;
		const u32 count = (u32)MIN((i64)params->cut, params->extent - (i64)first) * params->span;
		const i64 skip = (i64)first * params->span;
		PASTE(NAME, _run)(tile, src, sBase + skip, count);
		BARRIER();
		PASTE(NAME, _turn)(dst, tile, params, dBase + skip, (u32)(sBase + skip) % PIECE, count KNOWS);
		BARRIER(); // before the next block's matrices
	}
}

#include "undefs.h"
