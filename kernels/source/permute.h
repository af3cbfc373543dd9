// permute: a permutation of the bits of elements' indices. A tile has 2^n elements: some low
// bits of the index along each of several axes. On either side, the lowest of these bits in its
// order choose an element in a word, the others a word. A work-item reads WORDS words of src
// such that they, together, are words of dst but for the order of their elements: each bit that
// dst has in a word is in a word already, or is one of the REGISTERS bits that choose among the
// work-item's words. Exchanges move it into place. The words go through local memory to the
// work-items that write them.
//
// A Place describes what one bit does on either side: first for the bits of LOCAL_ID, then for
// those that number a work-item's words.

#include "kernel.h"

#define PER (32 / DBITS) // elements in a word
#define BIT_OF(x, b) ((x) >> (b) & 1)
#define Place PASTE(NAME, _Place)
#define Stage PASTE(NAME, _Stage)
#define Moves PASTE(NAME, _Moves)

// Place is what a bit adds: to the position in src or dst, for bits of LOCAL_ID in elements,
// for the others in words unless that side is LOOSE; to the byte in local memory, by exclusive
// or; and to the indices along the axes a and b.
typedef struct {
	i32 step;
	u32 slot, a, b;
} Place;

// Stage exchanges elements, within words or, if with is below REGISTERS, between words whose
// indices differ in the bit 1<<with: the elements in the mask of the word with that bit, and
// those shift bits above in the other. Where elements are bytes, the halves of bytes select the
// source of each byte of either word.
typedef struct {
	u32 with, shift, mask, bytes;
} Stage;

// Moves are the parameters behind those that all kernels have.
typedef struct {
	u32 stages;    // how many
	u32 late;      // 1: they come after local memory
	u32 slot;      // of src's first word
	u32 load;      // how src's words are read
	u32 store;     // how dst's words are written
	u32 mask;      // of dst's words: the bits that belong to dst
	u32 stored;    // how many of a work-item's words are written: all, a half or a quarter
	u32 unused;
	Place src[8 + REGISTERS], dst[8 + REGISTERS];
	Stage stage[STAGES];
} Moves;

// How words are read or written.
#define VECTORS 0      // by four neighbours
#define ALIGNED 1      // one by one
#define RUNS 2         // at any element: four neighbours as a run, read by words
#define SHIFTED 3      // at any element, which is at the same place in all words of a work-item
#define LOOSE 4        // at any element: steps of registers count elements
#define MASKED 5       // one by one, where STORED, and only the bits that belong to dst
#define JOINED 6       // SHIFTED, and adjacent work-items have four neighbours
#define HALVES 7       // SHIFTED by 16 bits, or not
#define LOOSE_HALVES 8 // LOOSE, but at multiples of 16 bits

#define MOVES ((CONSTANT Moves *)(AXES(params) + OUTER))

// What the bits of a word's index add.
#if REGISTERS == 4
#define FOURTH(k, side, field, op) op (BIT_OF(k, 3) ? MOVES->side[11].field : 0)
#else
#define FOURTH(k, side, field, op)
#endif
#define ADDED(k, side, field, op)                 \
	((BIT_OF(k, 0) ? MOVES->side[8].field : 0) op \
	 (BIT_OF(k, 1) ? MOVES->side[9].field : 0) op \
	 (BIT_OF(k, 2) ? MOVES->side[10].field : 0) FOURTH(k, side, field, op))

// INSIDE reports whether word k of a work-item is in the tile.
#define INSIDE(k, side, i, j) ((i) + ADDED(k, side, a, +) < t.na && (j) + ADDED(k, side, b, +) < t.nb)

// STORED reports whether word k of a work-item is written.
#if DBITS < 8
#define STORED(k) ((k) < WORDS / 4 || MOVES->stored > ((k) < WORDS / 2 ? WORDS / 4 : WORDS / 2))
#else
#define STORED(k) 1
#endif

#define SLOT(at) (*(SHARED_POINTER u32 *)((SHARED_POINTER u8 *)tile + (at)))

// EXCHANGE does a stage for words whose indices differ in a bit.
#define EXCHANGE(bit)                                            \
	UNROLL                                                       \
	for (u32 k = 0; k < WORDS; k++) {                            \
		if ((k & (bit)) == 0) {                                  \
			const u32 x = (r[k] >> shift ^ r[k | (bit)]) & mask; \
			r[k | (bit)] ^= x;                                   \
			r[k] ^= x << shift;                                  \
		}                                                        \
	}
#define EXCHANGE_BYTES(bit)                                        \
	UNROLL                                                         \
	for (u32 k = 0; k < WORDS; k++) {                              \
		if ((k & (bit)) == 0) {                                    \
			const u32 x = r[k];                                    \
			r[k] = bytes_of(x, r[k | (bit)], bytes);               \
			r[k | (bit)] = bytes_of(x, r[k | (bit)], bytes >> 16); \
		}                                                          \
	}
// STAGE does one of any kind.
#if REGISTERS == 4
#define FOURTH_STAGE(exchange) \
	else if (with == 3) {      \
		exchange(8)            \
	}
#else
#define FOURTH_STAGE(exchange)
#endif
#define STAGE(exchange, within)           \
	if (with == 0) {                      \
		exchange(1)                       \
	} else if (with == 1) {               \
		exchange(2)                       \
	} else if (with == 2) {               \
		exchange(4)                       \
	} FOURTH_STAGE(exchange) else {       \
		UNROLL                            \
		for (u32 k = 0; k < WORDS; k++) { \
			within                        \
		}                                 \
	}

// word_at reads a word at any element. A word without any wanted element may lie behind src.
DEVICE u32 PASTE(NAME, _word_at)(GLOBAL const u32 *from, i32 at) {
	const u32 shift = (u32)at % PER * DBITS;
	GLOBAL const u32 *word = from + (at >> LOG);
	return funnel(word[0], word[shift > 0], shift);
}

// put writes the bits of a word that the mask names to any element; by halves where all words
// begin at halves.
DEVICE void PASTE(NAME, _put)(GLOBAL u32 *to, i32 at, u32 value, u32 mask, u32 halves) {
	const u32 shift = (u32)at % PER * DBITS;
	GLOBAL u32 *word = to + (at >> LOG);
	if (shift == 0) {
		MERGE(word, value, mask);
	} else if (halves) {
		GLOBAL u16 *part = (GLOBAL u16 *)word;
		part[1] = (u16)value;
		part[2] = (u16)(value >> 16);
	} else {
		const u32 lower = mask << shift, upper = mask >> (32 - shift);
		if (lower) {
			MERGE(word, value << shift, lower);
		}
		if (upper) {
			MERGE(word + 1, value >> (32 - shift), upper);
		}
	}
}

ENTRY {
	SHARED(u32, tile, GROUP * WORDS);
	const u32 id = LOCAL_ID, load = MOVES->load, store = MOVES->store;
	i32 sAt = 0, dAt = 0;
	u32 in = MOVES->slot, out = 0;
	UNROLL
	for (u32 b = 0; b < 8; b++) {
		sAt += (i32)BIT_OF(id, b) * MOVES->src[b].step;
		dAt += (i32)BIT_OF(id, b) * MOVES->dst[b].step;
		in ^= (0 - BIT_OF(id, b)) & MOVES->src[b].slot;
		out ^= (0 - BIT_OF(id, b)) & MOVES->dst[b].slot;
	}
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Tile t = tile_of(params, block, dBase, sBase);
		const u32 whole = t.na == params->ta && t.nb == params->tb;
		u32 sa = 0, sb = 0, da = 0, db = 0; // indices of the first words along a and b
		if (!whole) {
			UNROLL
			for (u32 b = 0; b < 8; b++) {
				sa += BIT_OF(id, b) * MOVES->src[b].a;
				sb += BIT_OF(id, b) * MOVES->src[b].b;
				da += BIT_OF(id, b) * MOVES->dst[b].a;
				db += BIT_OF(id, b) * MOVES->dst[b].b;
			}
		}
		u32 r[WORDS];

		GLOBAL const u32 *from = (GLOBAL const u32 *)src + (u64)t.s / PER;
		const i32 s = sAt + (i32)((u64)t.s % PER);
		const u32 shift = (u32)s % PER * DBITS, second = shift > 0;
		GLOBAL const u32 *first = from + (s >> LOG);
		if (load == VECTORS && whole) {
			UNROLL
			for (u32 k = 0; k < WORDS; k += 4) {
				const u128 v = *(GLOBAL const u128 *)(first + ADDED(k, src, step, +));
				r[k] = v.x;
				r[k + 1] = v.y;
				r[k + 2] = v.z;
				r[k + 3] = v.w;
			}
		} else if (load == ALIGNED && whole) {
			UNROLL
			for (u32 k = 0; k < WORDS; k++) {
				r[k] = first[ADDED(k, src, step, +)];
			}
		} else if (load == RUNS && whole) {
			UNROLL
			for (u32 k = 0; k < WORDS; k += 4) {
				GLOBAL const u32 *w = first + ADDED(k, src, step, +);
				const u32 x = w[1], y = w[2], z = w[3];
				r[k] = funnel(w[0], x, shift);
				r[k + 1] = funnel(x, y, shift);
				r[k + 2] = funnel(y, z, shift);
				r[k + 3] = funnel(z, (w + 3)[second], shift);
			}
		} else if (load == SHIFTED && whole) {
			UNROLL
			for (u32 k = 0; k < WORDS; k++) {
				GLOBAL const u32 *w = first + ADDED(k, src, step, +);
				r[k] = funnel(w[0], w[second], shift);
			}
		} else {
			const u32 unit = load == LOOSE ? 0 : LOG;
			UNROLL
			for (u32 k = 0; k < WORDS; k++) {
				r[k] = 0;
				if (INSIDE(k, src, sa, sb)) {
					r[k] = PASTE(NAME, _word_at)(from, s + (ADDED(k, src, step, +) << unit));
				}
			}
		}

		ROLLED
		for (u32 pass = 0; pass < 2; pass++) {
			if (pass != MOVES->late) { // through local memory
				UNROLL
				for (u32 k = 0; k < WORDS; k++) {
					SLOT(in ^ ADDED(k, src, slot, ^)) = r[k];
				}
				BARRIER();
				UNROLL
				for (u32 k = 0; k < WORDS; k++) {
					r[k] = SLOT(out ^ ADDED(k, dst, slot, ^));
				}
				continue;
			}
			ROLLED
			for (u32 i = 0; i < MOVES->stages; i++) {
				const u32 with = MOVES->stage[i].with, shift = MOVES->stage[i].shift, mask = MOVES->stage[i].mask;
#if BYTES_OF
				const u32 bytes = MOVES->stage[i].bytes;
				if (bytes) {
					STAGE(EXCHANGE_BYTES, r[k] = bytes_of(r[k], r[k], bytes);)
					continue;
				}
#endif
				STAGE(EXCHANGE, const u32 x = (r[k] >> shift ^ r[k]) & mask; r[k] ^= x ^ x << shift;)
			}
		}

		GLOBAL u32 *to = (GLOBAL u32 *)dst + (u64)t.d / PER;
		const i32 d = dAt + (i32)((u64)t.d % PER);
		GLOBAL u32 *last = to + (d >> LOG);
		if (store == VECTORS && whole) {
			UNROLL
			for (u32 k = 0; k < WORDS; k += 4) {
				u128 v;
				v.x = r[k];
				v.y = r[k + 1];
				v.z = r[k + 2];
				v.w = r[k + 3];
				if (STORED(k)) {
					*(GLOBAL u128 *)(last + ADDED(k, dst, step, +)) = v;
				}
			}
		} else if (store == ALIGNED && whole) {
			UNROLL
			for (u32 k = 0; k < WORDS; k++) {
				last[ADDED(k, dst, step, +)] = r[k];
			}
		} else if (store == MASKED && whole) {
			const u32 mask = MOVES->mask;
			UNROLL
			for (u32 k = 0; k < WORDS; k++) {
				if (STORED(k)) {
					MERGE(last + ADDED(k, dst, step, +), r[k], mask);
				}
			}
		} else if (store == JOINED && whole) {
			// Each joins the end of the previous word, from local memory, with the begin of its
			// own; the first of four writes both ends of the run.
			const u32 place = (u32)d % PER * DBITS, head = place > 0 ? 0xffffffff << place : 0;
			const u32 before = out ^ MOVES->dst[0].slot ^ (BIT_OF(id, 0) ? 0 : MOVES->dst[1].slot);
			GLOBAL u32 *begin = last - (place == 0);
			UNROLL
			for (u32 k = 0; k < WORDS; k++) {
				GLOBAL u32 *word = begin + ADDED(k, dst, step, +);
				const u32 value = funnel(SLOT(before ^ ADDED(k, dst, slot, ^)), r[k], 32 - place);
				if (!STORED(k)) {
				} else if (id % 4 > 0) {
					*word = value;
				} else {
					if (head) {
						MERGE(word, value, head);
					}
					MERGE(word + 4, value, ~head);
				}
			}
		} else if (store == HALVES && whole) {
			GLOBAL u16 *lower = (GLOBAL u16 *)last + ((u32)d / (PER / 2) & 1);
			UNROLL
			for (u32 k = 0; k < WORDS; k++) {
				GLOBAL u16 *part = lower + 2 * ADDED(k, dst, step, +);
				if (STORED(k)) {
					part[0] = (u16)r[k];
					part[1] = (u16)(r[k] >> 16);
				}
			}
		} else {
			const u32 unit = store == LOOSE || store == LOOSE_HALVES ? 0 : LOG;
			UNROLL
			for (u32 k = 0; k < WORDS; k++) {
				if (STORED(k) && INSIDE(k, dst, da, db)) {
					PASTE(NAME, _put)(to, d + (ADDED(k, dst, step, +) << unit), r[k], MOVES->mask, store >= HALVES);
				}
			}
		}
		BARRIER(); // before the next block's words
	}
}

#undef PER
#undef BIT_OF
#undef Place
#undef Stage
#undef Moves
#undef VECTORS
#undef ALIGNED
#undef RUNS
#undef SHIFTED
#undef LOOSE
#undef MASKED
#undef JOINED
#undef HALVES
#undef LOOSE_HALVES
#undef MOVES
#undef FOURTH
#undef ADDED
#undef INSIDE
#undef STORED
#undef SLOT
#undef EXCHANGE
#undef EXCHANGE_BYTES
#undef FOURTH_STAGE
#undef STAGE
