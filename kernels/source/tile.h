// tile: a transposition through local memory. src is dense, or nearly, along axis a, and dst is
// along axis b: a block is up to ta x tb elements, read along a and written along b, of cut
// indices of a third axis, c, where a and b are short. A line of the tile has an odd number of
// elements, so that neither direction of access has bank conflicts, or only few.
//
// Where lines of dst do not begin on sectors, blocks may overlap by a sector along b (step is
// less than tb), so that one block writes all of a sector of dst: memory would write a sector
// that two blocks complete twice, and read it in between.
//
// Blocks go in bands (see common.h), and outer axis 3 counts those along c; extent, d and s are those
// of c. Work-items are arranged along a line, then across lines, then along c. Each has some
// lines: d of inner axis 1 when they are read, d of axis 3 when they are written. A block of
// the usual shape, TILE_A x TILE_B, has constants for all of that.

#include "kernel.h"

#define LINE (TILE_A + 1)
#define SECTOR (256 / DBITS) // elements
#define LOADS (TILE_A * TILE_B / GROUP) // of a work-item
#define MOST (DBITS == 32 ? 20 : LOADS) // of one, in a block of another shape

// LINES repeats its argument for j from 0 to n, up to MOST, mostly by fours.
#define LINES(n, does)                              \
	UNROLL                                          \
	for (u32 four = 0; four < MOST; four += 4) {   \
		if (four + 4 <= n) {                        \
			UNROLL                                  \
			for (u32 j = four; j < four + 4; j++) { \
				does;                               \
			}                                       \
		} else if (four < n) {                      \
			UNROLL                                  \
			for (u32 j = four; j < four + 4; j++) { \
				if (j < n) {                        \
					does;                           \
				}                                   \
			}                                       \
		}                                           \
	}

// STORE_OWN stores an element of a line that begins at position at of dst, if it belongs to the
// block: the one at bx of its part. The part begins at the first whole sector, except in the
// first block, and has step elements, except in the last.
#define STORE_OWN(at, offset, element)                                            \
	const i32 begun = (0 - (u32)(at)) % SECTOR, skip = row > 0 ? begun : 0;       \
	if ((i32)bx + skip - (last ? 0 : begun) < most) {                             \
		to[(offset) + skip] = (element)[skip * line];                             \
	}

ENTRY {
	SHARED(WORD, tile, TILE);
	CONSTANT Axis *inner = AXES(params) + params->outer;
	const u32 usual = params->ta == TILE_A && params->tb == TILE_B, overlap = params->step < params->tb;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		u32 row, third;
		const Tile t = banded_of(params, block, dBase, sBase, &row, &third);
		GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src + t.s;
		GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst + t.d;
		const u32 last = row + 1 == params->rows;
		const i32 most = last ? t.nb : params->step;
		if (usual && t.na == TILE_A && t.nb == TILE_B) {
			const u32 ax = LOCAL_ID % TILE_A, ay = LOCAL_ID / TILE_A; // to load: along a, along b
			const u32 bx = LOCAL_ID % TILE_B, by = LOCAL_ID / TILE_B; // to store: along b, along a
			const i64 sLines = params->sb * (GROUP / TILE_A), dLines = params->da * (GROUP / TILE_B);
			SHARED_POINTER WORD *in = tile + (ay * LINE + ax);
			SHARED_POINTER WORD *out = tile + (bx * LINE + by);
			from += ax * params->sa + ay * params->sb;
			to += by * params->da + bx;
			WORD value[LOADS];
			UNROLL
			for (u32 j = 0; j < LOADS; j++) { // loads first: they overlap
				value[j] = from[j * sLines];
			}
			UNROLL
			for (u32 j = 0; j < LOADS; j++) {
				in[j * (GROUP / TILE_A) * LINE] = value[j];
			}
			BARRIER();
			if (overlap) {
				const u32 line = LINE;
				UNROLL
				for (u32 j = 0; j < LOADS; j++) {
					STORE_OWN(t.d + by * params->da + j * dLines, j * dLines, out + j * (GROUP / TILE_B))
				}
			} else {
				UNROLL
				for (u32 j = 0; j < LOADS; j++) {
					to[j * dLines] = out[j * (GROUP / TILE_B)];
				}
			}
		} else {
			const u32 line = params->ta | 1;
			u32 az = LOCAL_ID, bz = LOCAL_ID, nc = params->cut;
			const u32 ax = digit(&az, inner), ay = digit(&az, inner + 1) * (u32)inner[1].d;
			const u32 bx = digit(&bz, inner + 2), by = digit(&bz, inner + 3) * (u32)inner[3].d;
			if (nc > 1) {
				nc = (u32)MIN((i64)nc, params->extent - (i64)third * nc);
			}
			SHARED_POINTER WORD *in = tile + ((az * params->tb + ay) * line + ax);
			SHARED_POINTER const WORD *out = tile + ((bz * params->tb + bx) * line + by);
			from += ax * params->sa + ay * params->sb + az * params->s;
			to += by * params->da + bx + bz * params->d;
			u32 reads = ax < t.na && ay < t.nb && az < nc ? MIN(t.nb - ay, (u32)inner[1].d) : 0;
			u32 writes = bx < t.nb && by < t.na && bz < nc ? MIN(t.na - by, (u32)inner[3].d) : 0;
			FRESH(reads);
			FRESH(writes);
			WORD value[MOST];
			LINES(reads, value[j] = *from; from += params->sb)
			LINES(reads, *in = value[j]; in += line)
			BARRIER();
			if (overlap) {
				u32 at = (u32)(t.d + by * params->da + bz * params->d);
				LINES(writes, STORE_OWN(at, 0, out + j); to += params->da; at += (u32)params->da)
			} else {
				LINES(writes, *to = out[j]; to += params->da)
			}
		}
		BARRIER(); // before the next block's loads
	}
}

#undef LINE
#undef SECTOR
#undef STORE_OWN
#undef LINES
#undef LOADS
#undef MOST
