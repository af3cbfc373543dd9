// transpose: a transposition of elements narrower than a word, by words. src is dense
// along axis a, and dst along axis b. A block is TILE_A x TILE_B elements, made of
// squares of PER x PER: a work-item reads a square as PER words from PER lines of src,
// transposes it in registers, and puts the PER words, which now run along b, into local memory.
// From there they are stored, line by line of dst, shifted to the bit at which the line begins.

#include "kernel.h"

#define PER (32 / DBITS)     // elements in a word
#define WIDTH (TILE_A / PER) // of the tile, in squares along a
#define HEIGHT (TILE_B / PER)
#define COLUMN (PER * WIDTH + 1) // words from a square to the next one along b
#define ALONG_B MIN(HEIGHT, GROUP) // work-items side by side, to store

// SWAP exchanges, in pairs of lines whose distance is the number of elements in that many bits,
// the high halves of the first line's fields, which are twice as wide, with the low halves of
// the second line's.
#define SWAP(bits, low)                                        \
	UNROLL                                                     \
	for (u32 k = 0; k < PER; k++) {                            \
		if ((k & (bits) / DBITS) == 0) {                       \
			const u32 other = k + (bits) / DBITS;              \
			const u32 t = (r[k] >> (bits) ^ r[other]) & (low); \
			r[other] ^= t;                                     \
			r[k] ^= t << (bits);                               \
		}                                                      \
	}

// TRANSPOSE transposes a square.
#if DBITS == 16
#define TRANSPOSE SWAP(16, 0x0000ffff)
#elif DBITS == 8
#define TRANSPOSE SWAP(16, 0x0000ffff) SWAP(8, 0x00ff00ff)
#elif DBITS == 4
#define TRANSPOSE SWAP(16, 0x0000ffff) SWAP(8, 0x00ff00ff) SWAP(4, 0x0f0f0f0f)
#else
#define TRANSPOSE SWAP(16, 0x0000ffff) SWAP(8, 0x00ff00ff) SWAP(4, 0x0f0f0f0f) SWAP(2, 0x33333333)
#endif

// load fills the tile with na x nb elements of src from position s on; step is
// from line to line.
DEVICE void PASTE(NAME, _load)(SHARED_POINTER u32 *RESTRICT tile, GLOBAL const u32 *RESTRICT from, i64 s, i64 step, u32 na, u32 nb) {
	const u32 width = (na + PER - 1) / PER;
	// Line by line, and then in place: loops that compilers vectorize.
	for (u32 y = 0; y < nb; y++) {
		const u64 at = (u64)(s + y * step);
		const u32 shift = (u32)(at % PER) * DBITS;
		GLOBAL const u32 *line = from + at / PER;
		SHARED_POINTER u32 *to = tile + (y / PER * COLUMN + y % PER * WIDTH);
		if (shift == 0) {
			for (u32 x = 0; x < width; x++) {
				to[x] = line[x];
			}
			continue;
		}
		for (u32 x = 0; x < width - 1; x++) {
			to[x] = line[x] >> shift | line[x + 1] << (32 - shift);
		}
		const u32 next = shift + (na - (width - 1) * PER) * DBITS > 32;
		to[width - 1] = line[width - 1] >> shift | line[width - 1 + next] << (32 - shift);
	}
	for (u32 y = 0; y * PER < nb; y++) {
		SHARED_POINTER u32 *square = tile + y * COLUMN;
		for (u32 x = 0; x < WIDTH; x++) {
			u32 r[PER];
			UNROLL
			for (u32 k = 0; k < PER; k++) {
				r[k] = square[k * WIDTH + x];
			}
			TRANSPOSE
			UNROLL
			for (u32 k = 0; k < PER; k++) {
				square[k * WIDTH + x] = r[k];
			}
		}
	}
}

// store writes the tile to dst from position d on; step is from line to line.
DEVICE void PASTE(NAME, _store)(GLOBAL u32 *RESTRICT dst, SHARED_POINTER const u32 *RESTRICT tile, i64 d, i64 step, u32 na, u32 nb) {
	for (u32 y = LOCAL_ID / ALONG_B; y < na; y += GROUP / ALONG_B) {
		const u64 at = (u64)(d + y * step);
		const u32 phase = (u32)(at % PER), shift = phase * DBITS;
		SHARED_POINTER const u32 *line = tile + (y % PER * WIDTH + y / PER);
		GLOBAL u32 *to = dst + at / PER;
		if (shift == 0) {
			for (u32 x = LOCAL_ID % ALONG_B; x < nb / PER; x += ALONG_B) {
				to[x] = line[x * COLUMN];
			}
		} else {
			for (u32 x = LOCAL_ID % ALONG_B + 1; x < (phase + nb) / PER; x += ALONG_B) {
				to[x] = line[x * COLUMN] << shift | line[(x - 1) * COLUMN] >> (32 - shift);
			}
		}
	}
	if ((d | step | nb) % PER == 0) {
		return;
	}
	// The partial words at either end of a line.
	for (u32 i = LOCAL_ID; i < 2 * na; i += GROUP) {
		const u32 y = i / 2;
		const u64 at = (u64)(d + y * step);
		const u32 phase = (u32)(at % PER), shift = phase * DBITS;
		const u32 last = (phase + nb) / PER, bits = (phase + nb) % PER * DBITS;
		SHARED_POINTER const u32 *line = tile + (y % PER * WIDTH + y / PER);
		GLOBAL u32 *to = dst + at / PER;
		if (i % 2 == 0) {
			if (phase > 0 || last == 0) {
				MERGE(to, line[0] << shift, bits_between(shift, last == 0 ? bits : 32));
			}
		} else if (last > 0 && bits > 0) {
			u32 value = line[(last - 1) * COLUMN] >> 1 >> (31 - shift);
			if (last * PER < nb) {
				value |= line[last * COLUMN] << shift;
			}
			MERGE(to + last, value, bits_between(0, bits));
		}
	}
}

ENTRY {
	SHARED(u32, tile, HEIGHT * COLUMN);
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Tile t = tile_of(params, block, dBase, sBase);
		PASTE(NAME, _load)(tile, (GLOBAL const u32 *)src, t.s, params->sb, t.na, t.nb);
		BARRIER();
		PASTE(NAME, _store)((GLOBAL u32 *)dst, tile, t.d, params->da, t.na, t.nb);
		BARRIER(); // before the next block's loads
	}
}

#undef PER
#undef WIDTH
#undef HEIGHT
#undef COLUMN
#undef ALONG_B
#undef SWAP
#undef TRANSPOSE
