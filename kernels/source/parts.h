// Shared by kernels whose items are chunks: 16 aligned bytes of dst, in a run of contiguous
// elements of dst. A chunk's slots are numbered from its first one.

#pragma once
#include "words.h"

// Part is a block's part of one or several runs: where the first run begins on either side, or
// its element skip, and how many elements are in each.
typedef struct {
	i64 d, s;
	u32 skip, length, items;
} Part;

// Chunk is the d-th 16 bytes of dst. Its slots [a, b) are wanted; slot 0 is element e of a run,
// or a row, whose element 0 is at s in src.
typedef struct {
	i64 d, s;
	i32 e, a, b;
} Chunk;

// part_at is the part of a block that begins at d and s. Runs of too many chunks for a
// block (params->words is 0) are cut.
DEVICE Part part_at(CONSTANT Params *params, u32 first, i64 d, i64 s, u32 per) {
	Part p;
	p.items = items_of(params, first);
	p.skip = 0;
	p.length = (u32)params->length;
	if (params->words == 0) {
		const u32 phase = (u32)d & (per - 1);
		const i64 skip = MAX((i64)first * params->cut * per - phase, 0);
		const i64 left = MAX(params->length - skip, 0);
		p.length = (u32)MIN(left, params->cut * per - (first > 0 ? 0 : phase));
		d += skip;
		if (params->run > 1) {
			p.skip = (u32)skip;
		} else {
			s += skip * AXES(params)[params->outer + params->inner].s;
		}
	}
	p.d = d;
	p.s = s;
	return p;
}

// part_of finds a block's part.
DEVICE Part part_of(CONSTANT Params *params, u32 block, i64 d, i64 s, u32 per) {
	const u32 first = block_of(params, block, &d, &s);
	return part_at(params, first, d, s, per);
}

// chunk_of finds an item's chunk.
DEVICE Chunk chunk_of(CONSTANT Params *params, const Part part, u32 item, u32 per) {
	Chunk c;
	i64 d = part.d, s = part.s;
	u32 chunk = item;
	if (params->words > 0) {
		chunk = digit(&item, AXES(params) + params->outer);
		ROLLED
		for (u32 k = params->outer + 1; k < params->outer + params->inner; k++) {
			const u32 i = digit(&item, AXES(params) + k);
			d += i * AXES(params)[k].d;
			s += i * AXES(params)[k].s;
		}
		d += item * params->d;
		s += item * params->s;
	}
	const i32 phase = (i32)(d & (per - 1)), e = (i32)(chunk * per) - phase;
	c.d = (i64)((u64)d / per) + chunk;
	c.s = s;
	c.e = e + (i32)part.skip;
	c.a = MAX(-e, 0);
	c.b = MIN((i32)part.length - e, (i32)per);
	return c;
}

// row_of is the part of a chunk, from slot a on, that lies in one row: run axis 0. (It changes
// a copy: Mesa 22.3 passes a struct by its address, so c would be the caller's.)
DEVICE Chunk row_of(CONSTANT Params *params, const Chunk c) {
	Chunk row = c;
	const u32 axis = params->outer + params->inner, last = axis + params->run - 1;
	u32 rest = (u32)(c.e + c.a);
	const i32 i = (i32)digit(&rest, AXES(params) + axis), begin = c.a - i;
	ROLLED
	for (u32 k = axis + 1; k < last; k++) {
		row.s += digit(&rest, AXES(params) + k) * AXES(params)[k].s;
	}
	row.s += rest * AXES(params)[last].s;
	row.e = -begin;
	row.b = MIN(c.b, begin + (i32)AXES(params)[axis].n);
	return row;
}

// word_of is word k of a chunk. (By masks: a condition makes compilers keep the chunk in
// memory.)
DEVICE u32 word_of(const u128 v, u32 k) {
	const u32 odd = 0 - (k & 1), high = 0 - (k >> 1);
	return choose(high, choose(odd, v.w, v.z), choose(odd, v.y, v.x));
}

// with_above is v with w from bit a on.
DEVICE u128 with_above(u128 v, u128 w, u32 a) {
	v.x = choose(bits_above(a, 0), w.x, v.x);
	v.y = choose(bits_above(a, 32), w.y, v.y);
	v.z = choose(bits_above(a, 64), w.z, v.z);
	v.w = choose(bits_above(a, 96), w.w, v.w);
	return v;
}

// Place is where 128 bits of src begin: at bit shift of a word. The wanted bits are in the
// words from first to last: 0 is the same word, 1 the next.
typedef struct {
	GLOBAL const u128 *from;
	u32 shift, first, last;
} Place;

// place_of finds the place of the bits from the given one on; [a, b) are wanted.
DEVICE Place place_of(GLOBAL const u8 *src, i64 bit, u32 a, u32 b) {
	Place p;
	p.from = (GLOBAL const u128 *)src + (bit >> 7);
	p.shift = (u32)bit & 127;
	p.first = (p.shift + a) >> 7;
	p.last = (p.shift + b - 1) >> 7;
	return p;
}

// Pair is the two words at a place, as far as they have wanted bits.
typedef struct {
	u128 lo, hi;
	u32 shift;
} Pair;

DEVICE Pair pair_at(const Place p) {
	Pair x;
	x.lo = p.from[p.first];
	x.hi.x = x.hi.y = x.hi.z = x.hi.w = 0;
	if (p.last > 0) {
		x.hi = p.from[1];
	}
	x.shift = p.shift;
	return x;
}

// shifted is 128 bits of a pair, from bit shift on.
DEVICE u128 shifted(const Pair p) {
	const u32 two = 0 - (p.shift >> 6 & 1), one = 0 - (p.shift >> 5 & 1);
	const u32 a = choose(two, p.lo.z, p.lo.x), b = choose(two, p.lo.w, p.lo.y), c = choose(two, p.hi.x, p.lo.z);
	const u32 d = choose(two, p.hi.y, p.lo.w), e = choose(two, p.hi.z, p.hi.x), f = choose(two, p.hi.w, p.hi.y);
	const u32 g = choose(one, b, a), h = choose(one, c, b), i = choose(one, d, c), j = choose(one, e, d), k = choose(one, f, e);
	u128 v;
	v.x = funnel(g, h, p.shift);
	v.y = funnel(h, i, p.shift);
	v.z = funnel(i, j, p.shift);
	v.w = funnel(j, k, p.shift);
	return v;
}
