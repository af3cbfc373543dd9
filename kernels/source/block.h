// block: for processors that run a group as a loop. Each block of dst is assembled in a private
// tile, which stays in the nearest cache, and written by whole cache lines.
//
// A block is made of runs: neighbours in dst that are params->db apart. A run covers the axis
// b, then the inner axes, then the cut axis, whose steps d count elements of the tile; there is
// one for each index of the axis a.
//
// Outer axes 0, 1 and 2 count the blocks along b, along a and along the cut axis.
//
// STEP is src's step along b; 127 for none, 0 for any step, also for blocks that src has dense
// along a.

#include "kernel.h"

#if STEP == 127
#define FACTOR 0
#else
#define FACTOR STEP
#endif
// Compilers generate slow code for other steps within a cache line.
#define DIRECT (STEP == 1 || STEP == -1 || STEP == 127)
#define AHEAD 8 // rows
#define LARGE 64 // blocks: smaller copies stay in the caches, for the next reader
#define LINE (64 / (DBITS / 8)) // elements

#if STEP == 0

#define SIDE 16 // of squares

#if DBITS < 32
// _zip interleaves two halves: log2(SIDE) interleavings transpose a square, by instructions
// that work on many elements.
DEVICE void PASTE(NAME, _zip)(WORD *RESTRICT to, const WORD *RESTRICT from) {
	for (u32 k = 0; k < SIDE * SIDE / 2; k++) {
		to[2 * k] = from[k];
		to[2 * k + 1] = from[k + SIDE * SIDE / 2];
	}
}
#endif

// _square transposes a square: in src its rows are sb apart, in the tile its columns
// become rows of the given size.
DEVICE void PASTE(NAME, _square)(WORD *RESTRICT to, GLOBAL const WORD *RESTRICT from, i64 size, i64 sb) {
#if DBITS < 32
	__attribute__((aligned(64))) WORD p[SIDE * SIDE], q[SIDE * SIDE];
	for (i64 j = 0; j < SIDE; j++) {
		for (i64 i = 0; i < SIDE; i++) {
			p[j * SIDE + i] = from[j * sb + i];
		}
	}
	PASTE(NAME, _zip)(q, p);
	PASTE(NAME, _zip)(p, q);
	PASTE(NAME, _zip)(q, p);
	PASTE(NAME, _zip)(p, q);
	for (i64 i = 0; i < SIDE; i++) {
		for (i64 j = 0; j < SIDE; j++) {
			to[i * size + j] = p[i * SIDE + j];
		}
	}
#else
	for (i64 j = 0; j < SIDE; j++) {
		for (i64 i = 0; i < SIDE; i++) {
			to[i * size + j] = from[j * sb + i];
		}
	}
#endif
}

// WEAVE is for exactly n rows: it interleaves their elements.
#define WEAVE(n, step) \
	case n: \
		for (i64 i = 0; i < na; i++) { \
			UNROLL \
			for (i64 j = 0; j < n; j++) { \
				to[i * n + j] = from[i * step + j * sb]; \
			} \
		} \
		return;

// _transpose reads na by nb elements; columns of src become rows of the given size.
DEVICE void PASTE(NAME, _transpose)(WORD *RESTRICT to, GLOBAL const WORD *RESTRICT from, i64 na, i64 nb, i64 size, i64 sa, i64 sb) {
	if (nb >= 8 && (na < 8 || MAX(sb, -sb) <= MAX(sa, -sa))) {
		for (i64 i = 0; i < na; i++) {
			for (i64 j = 0; j < nb; j++) {
				to[i * size + j] = from[i * sa + j * sb];
			}
		}
		return;
	}
	if (nb == size && sa == 1) {
		switch (nb) {
			WEAVE(2, 1)
			WEAVE(3, 1)
			WEAVE(4, 1)
			WEAVE(5, 1)
			WEAVE(6, 1)
			WEAVE(7, 1)
		}
	} else if (nb == size) {
		switch (nb) {
			WEAVE(2, sa)
			WEAVE(3, sa)
			WEAVE(4, sa)
			WEAVE(5, sa)
			WEAVE(6, sa)
			WEAVE(7, sa)
		}
	}
	i64 j = 0;
	if (sa == 1) {
		for (; j + SIDE <= nb; j += SIDE) {
			for (i64 k = j + SIDE; k < j + 2 * SIDE; k++) { // the next rows: too short for the hardware prefetcher
				const u64 row = (u64)(from + k * sb);
				for (u64 at = row / 64 * 64; at < row + (u64)na * (DBITS / 8); at += 64) {
					PREFETCH(at);
				}
			}
			i64 i = 0;
			for (; i + SIDE <= na; i += SIDE) {
				PASTE(NAME, _square)(to + i * size + j, from + j * sb + i, size, sb);
			}
			for (; i < na; i++) {
				for (i64 k = j; k < j + SIDE; k++) {
					to[i * size + k] = from[k * sb + i];
				}
			}
		}
	}
	for (; j < nb; j++) {
		SCALAR
		for (i64 i = 0; i < na; i++) {
			to[i * size + j] = from[j * sb + i * sa];
		}
	}
}

#undef SIDE
#undef WEAVE
#endif

#if DIRECT
// _row copies a row directly, bypassing the caches or not.
DEVICE void PASTE(NAME, _row)(GLOBAL WORD *RESTRICT to, GLOBAL const WORD *RESTRICT from, u32 n, u32 past) {
	if (!past) {
		for (i64 j = 0; j < n; j++) {
			to[j] = from[j * FACTOR];
		}
		return;
	}
	u32 j = 0;
	const u32 head = (u32)(-(u64)to % 64) / (DBITS / 8);
	for (; j < head; j++) {
		to[j] = from[(i64)j * FACTOR];
	}
	for (; j + LINE <= n; j += LINE) {
		__attribute__((aligned(64))) WORD line[LINE];
		UNROLL
		for (i64 k = 0; k < LINE; k++) {
			line[k] = from[(j + k) * FACTOR];
		}
		STREAM(to + j, line, WORD);
	}
	for (; j < n; j++) {
		to[j] = from[(i64)j * FACTOR];
	}
}

#endif

// _flush writes a run, bypassing the caches or not.
DEVICE void PASTE(NAME, _flush)(GLOBAL WORD *RESTRICT to, const WORD *RESTRICT tile, u32 n, i64 step, u32 past) {
	if (step != 1) {
		for (u32 j = 0; j < n; j++) {
			to[j * step] = tile[j];
		}
		return;
	}
	u32 j = 0;
	if (past && n >= 2 * LINE) {
		const u32 head = (u32)(-(u64)to % 64) / (DBITS / 8);
		for (; j < head; j++) {
			to[j] = tile[j];
		}
		for (; j + LINE <= n; j += LINE) {
			STREAM(to + j, tile + j, WORD);
		}
	}
	for (; j < n; j++) {
		to[j] = tile[j];
	}
}

ENTRY {
	GLOBAL WORD *to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
	CONSTANT Axis *axes = AXES(params), *inner = axes + params->outer;
	__attribute__((aligned(64))) WORD tile[BLOCK_BYTES / (DBITS / 8)];
	const u32 past = params->blocks >= LARGE;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		u32 at[3], rest = block;
		i64 d = dBase, s = sBase;
		for (u32 k = 0; k < params->outer; k++) {
			const u32 i = digit(&rest, axes + k);
			d += i * axes[k].d;
			s += i * axes[k].s;
			if (k < 3) {
				at[k] = i;
			}
		}
		const u32 nb = (u32)MIN((i64)params->tb, params->length - (i64)at[0] * params->tb); // of this block
		const u32 na = MIN(params->ta, params->na - at[1] * params->ta);
		const u32 items = (u32)MIN((i64)params->cut, params->extent - (i64)at[2] * params->cut) * params->flat;
#if STEP != 0
		// Rows too short for the hardware prefetcher are prefetched.
		const i64 ahead = nb >= 16 * LINE ? 0 : AHEAD * (na > 1 ? params->sa : params->s);
#endif
#if DIRECT
		const u32 direct = nb >= 4 * LINE && params->db == 1;
#else
		const u32 direct = 0;
#endif
		// Where the runs of all a are contiguous, they are one.
		const u32 run = nb * items, joined = params->da == params->nb * params->db;
		if (!joined && run >= LINE && params->da % LINE != 0) {
			for (i64 i = 0; i < na; i++) { // runs end in cache lines that later runs complete
				PREFETCH((u64)(to + d + i * params->da + (run - 1) * params->db));
			}
		}
		for (u32 item = 0; item < items; item++) {
			u32 x = item, t = 0;
			i64 f = s;
			for (u32 k = 0; k < params->inner; k++) {
				const u32 i = digit(&x, inner + k);
				t += i * (u32)inner[k].d;
				f += i * inner[k].s;
			}
			t += x * (u32)params->d;
			f += x * params->s;
#if STEP == 0
			PASTE(NAME, _transpose)(tile + t, from + f, na, nb, params->nb, params->sa, params->sb);
#else
			for (i64 i = 0; i < na; i++) {
				GLOBAL const WORD *RESTRICT line = from + f + i * params->sa;
				if (ahead != 0) {
					for (i64 j = 0; j < nb; j += LINE) {
						PREFETCH((u64)(line + ahead + j * FACTOR));
					}
				}
#if DIRECT
				if (direct) {
					PASTE(NAME, _row)(to + d + t + i * params->da, line, nb, past);
					continue;
				}
#endif
				WORD *RESTRICT row = tile + t + i * params->nb;
				for (i64 j = 0; j < nb; j++) {
					row[j] = line[j * FACTOR];
				}
			}
#endif
		}
		if (direct) {
			continue;
		}
		for (u32 i = 0; i < (joined ? 1 : na); i++) {
			PASTE(NAME, _flush)(to + d + i * params->da, tile + i * params->nb, joined ? na * run : run, params->db, past);
		}
	}
}

#undef FACTOR
#undef DIRECT
#undef AHEAD
#undef LARGE
#undef LINE
