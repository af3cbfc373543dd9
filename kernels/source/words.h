// Shared by kernels that write elements narrower than a word: an item is a 32-bit word of dst,
// or a span of them, in a run of elements that are dense in dst. A run may begin and end within
// a word.

#pragma once
#include "common.h"

// merge_bits stores the bits of a word that the mask names. The others may belong to other
// work-items, or lie outside dst: they are kept, by atomic operations.
DEVICE void merge_bits(GLOBAL u32 *word, u32 value, u32 mask) {
	if (mask == 0xffffffff) {
		*word = value;
	} else {
		ATOMIC_AND(word, ~mask);
		ATOMIC_OR(word, value & mask);
	}
}

// replace_bits is merge_bits where several work-items may store the same bits: one work-item's
// bits remain.
DEVICE void replace_bits(GLOBAL u32 *word, u32 value, u32 mask) {
	u32 old = 0, now = ATOMIC_CAS(word, old, value);
	while (now != old) {
		old = now;
		now = ATOMIC_CAS(word, old, (old & ~mask) | value);
	}
}

// merge_bytes is merge_bits for a mask of whole bytes.
DEVICE void merge_bytes(GLOBAL u32 *word, u32 value, u32 mask) {
	if (mask == 0xffffffff) {
		*word = value;
	} else {
		for (u32 k = 0; k < 4; k++) {
			if (mask >> (8 * k) & 1) {
				((GLOBAL u8 *)word)[k] = (u8)(value >> (8 * k));
			}
		}
	}
}

// bits_between is the mask of the bits [from, to) of a word; to is above from.
DEVICE u32 bits_between(u32 from, u32 to) {
	return (0xffffffff << from) & (0xffffffff >> (32 - to));
}

// bits_above is the mask of the bits of a word from bit from - begin on.
DEVICE u32 bits_above(u32 from, u32 begin) { return ones_above((u32)MAX((i32)(from - begin), 0)); }

// Run is where an item's words lie: element 0 of its run at dst position d and src position s,
// and the index of its first word in the run.
typedef struct {
	i64 d, s, word;
} Run;

// item_of finds the run and word of an item; d and s are where its block begins,
// first is the block's index along the cut axis.
DEVICE Run item_of(CONSTANT Params *params, CONSTANT Axis *inner, u32 first, u32 item, i64 d, i64 s) {
	Run r;
	r.word = 0;
	ROLLED
	for (u32 k = 0; k < params->inner; k++) {
		const u32 i = digit(&item, inner + k);
		if (k == 0) {
			r.word = i;
		}
		d += i * inner[k].d;
		s += i * inner[k].s;
	}
	if (params->words == 0) {
		r.word = (i64)first * params->cut + item;
	}
	r.d = d + item * params->d;
	r.s = s + item * params->s;
	r.word *= params->span;
	return r;
}
