// take: elements of src whose positions depend on indices in memory, or, for a put, elements of
// src that go to such positions in dst. For a put d is src's side, and s dst's. Below a byte,
// which is for CPUs only, an item is a 32-bit word of dst, otherwise elements. The elements of
// a row have the same indices, which are looked up once: kernels for CPUs do one row after the
// other, others first find the rows of a block. pick is for rows too short for that. lo is the
// base of at.
//
// Where the cut axis is the innermost one, and the only one with steps in at (columns), blocks
// have up to params->tb of the params->span indices of inner axis 0, which outer axis 1 counts,
// one after the other: a row of src is then read while the caches have all of it.

#include "kernel.h"

#if PUT
#define READ(d, s) from[d]
#define WRITTEN(d, s) to[s]
#define BEGIN {sBase, dBase, (i64)lo}
#else
#define READ(d, s) from[s]
#define WRITTEN(d, s) to[d]
#define BEGIN {dBase, sBase, (i64)lo}
#endif

#if DBITS < 8

#define PER (32 / DBITS) // elements in a word

ENTRY {
	GLOBAL u32 *to = (GLOBAL u32 *)dst;
	CONSTANT Axis *inner = AXES(params) + params->outer, *run = inner + params->inner, *runAt = at_axes(params) + params->outer + params->inner;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = BEGIN;
		const u32 first = position_of(params, block, &begin);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Position r = begin; // element 0 of the run
			u32 rest = item, word = 0;
			ROLLED
			for (u32 k = 0; k < params->inner; k++) {
				const u32 i = digit(&rest, inner + k);
				word = k == 0 ? i : word;
				step_to(&r, params, params->outer + k, i);
			}
			step_cut(&r, params, rest);
			const i64 number = params->words == 0 ? (i64)first * params->cut + item : (i64)word;
			const i64 from = number * PER - r.d % PER; // the word's first element, by its index in the run
			u32 value = 0, mask = 0;
			for (u32 j = 0; j < PER; j++) {
				const i64 e = from + j;
				if (e < 0 || e >= params->length) {
					continue;
				}
				i64 s = r.s, a = r.a;
				if (params->run <= 1) {
					s += e * run[0].s;
					a += e * runAt[0].s;
				} else {
					u32 x = (u32)e;
					ROLLED
					for (u32 k = 0; k < params->run; k++) {
						const u32 i = digit(&x, run + k);
						s += i * run[k].s;
						a += i * runAt[k].s;
					}
				}
				if (find(params, at, ABITS, a, &s, status)) {
					const u32 v = src[s / (8 / DBITS)] >> (s % (8 / DBITS) * DBITS) & ((1 << DBITS) - 1);
					value |= v << (j * DBITS);
					mask |= ((1u << DBITS) - 1) << (j * DBITS);
				}
			}
			if (mask != 0) {
				merge_bits(to + (r.d + from) / PER, value, mask);
			}
		}
	}
}

#undef PER

#elif SERIAL

ENTRY {
	GLOBAL WORD *to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *from = (GLOBAL const WORD *)src;
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = BEGIN;
		const u32 left = items_of(params, position_of(params, block, &begin));
		// A row is the innermost axis, or a part of it where that is cut.
		const u32 whole = params->inner > 0, n = whole ? inner[0].n : left;
		const i64 d = whole ? inner[0].d : params->d, s = whole ? inner[0].s : params->s;
		const i64 a = whole ? at_axes(params)[params->outer].s : params->sa;
		u32 row = 0;
		for (u32 item = 0; item < left; item += n, row++) {
			Position p = begin;
			u32 rest = row;
			if (whole) {
				ROLLED
				for (u32 k = 1; k < params->inner; k++) {
					step_to(&p, params, params->outer + k, digit(&rest, inner + k));
				}
				step_cut(&p, params, rest);
			}
			if (a != 0) {
				for (u32 i = 0; i < n; i++) {
					i64 x = p.s + i * s;
					if (find(params, at, ABITS, p.a + i * a, &x, status)) {
						WRITTEN(p.d + i * d, x) = READ(p.d + i * d, x);
					}
				}
			} else if (find(params, at, ABITS, p.a, &p.s, status)) {
				if (d == 1 && s == 1) {
					for (u32 i = 0; i < n; i++) {
						WRITTEN(p.d + i, p.s + i) = READ(p.d + i, p.s + i);
					}
				} else {
					for (u32 i = 0; i < n; i++) {
						WRITTEN(p.d + i * d, p.s + i * s) = READ(p.d + i * d, p.s + i * s);
					}
				}
			}
		}
	}
}

#else

#define LOOKS 2 // rows in one pass, at most
#define SIZE (DBITS / 8)
#define AT(type, from, bytes) ((type *)((from) + (bytes)))

// look finds where rows begin, in bytes, on the side that indices move; below 0: nowhere. A
// work-item looks up one row, or LOOKS rows, per pass.
INLINED void PASTE(NAME, _look)(u32 looks, SHARED_POINTER i64 *found, CONSTANT Params *params, i64 s0, i64 a0, u32 rows, GLOBAL const u8 *at, GLOBAL u32 *status) {
	for (u32 row = LOCAL_ID; row < rows; row += looks * GROUP) {
		i64 s[LOOKS], a[LOOKS], index[LOOKS];
		u32 missing = 0;
		UNROLL
		for (u32 j = 0; j < LOOKS; j++) {
			s[j] = s0;
			a[j] = row_at(params, MIN(row + j * GROUP, rows - 1), a0);
		}
		ROLLED
		for (u32 k = 0; k < params->na; k++) {
			UNROLL
			for (u32 j = 0; j < LOOKS; j++) { // loads first: they overlap
				index[j] = j < looks ? index_at(at, a[j] + INDICES(params)[k].offset, ABITS) : 0;
			}
			UNROLL
			for (u32 j = 0; j < LOOKS; j++) {
				if (j < looks) {
					missing |= (1 - add_index(params, k, index[j], &s[j], status)) << j;
				}
			}
		}
		UNROLL
		for (u32 j = 0; j < LOOKS; j++) {
			if (j < looks && row + j * GROUP < rows) {
				found[row + j * GROUP] = missing >> j & 1 ? -1 : s[j] * SIZE;
			}
		}
	}
}

#define COLUMNS (DBITS < 128)
#if COLUMNS
// Where a work-item's elements are contiguous: a word of them.
#define SIDE (DBITS < 32 ? 32 / DBITS : 1)
#define COLUMN(j, id) (((j) / SIDE * GROUP + (id)) * SIDE + (j) % SIDE)

// columns moves the elements of a block of columns, ITEMS for each work-item, from position d
// on the side that indices do not move, which is dense, and s on the other.
INLINED void PASTE(NAME, _columns)(GLOBAL u8 *dst, GLOBAL const u8 *src, SHARED_POINTER const i64 *found, CONSTANT Params *params, i64 d, i64 s, u32 block, u32 cuts) {
	CONSTANT Axis *axes = AXES(params), *line = axes + params->outer;
	digit(&block, axes);
	const u32 left = params->span - digit(&block, axes + 1) * params->tb, lines = MIN(params->tb, left);
	i32 behind[ITEMS]; // s, in bytes
	u32 there = 0;
	UNROLL
	for (u32 j = 0; j < ITEMS; j++) {
		const u32 column = COLUMN(j, LOCAL_ID);
		const i64 one = column < cuts ? found[column] : -1;
		there |= (u32)(one >= 0) << j;
		behind[j] = (i32)(one + (column * params->s - s) * SIZE);
	}
	const u32 all = there == (1u << ITEMS) - 1;
	d += COLUMN(0, LOCAL_ID);
	for (u32 y = 0; y < lines; y++, d += line->d, s += line->s) {
#if PUT
#define LOADED(j) ((GLOBAL const WORD *)src + d + COLUMN(j, 0))
#define STORED(j) AT(GLOBAL WORD, dst + s * SIZE, behind[j])
#else
#define LOADED(j) AT(GLOBAL const WORD, src + s * SIZE, behind[j])
#define STORED(j) ((GLOBAL WORD *)dst + d + COLUMN(j, 0))
#endif
		WORD value[ITEMS];
		UNROLL
		for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
			if (all || there >> j & 1) {
				value[j] = *LOADED(j);
			}
		}
#if SIDE > 1 && !PUT
		if (all && d % SIDE == 0) {
			UNROLL
			for (u32 j = 0; j < ITEMS; j += SIDE) {
				u32 word = 0;
				UNROLL
				for (u32 i = 0; i < SIDE; i++) {
					word |= (u32)value[j + i] << (i * DBITS);
				}
				*(GLOBAL u32 *)STORED(j) = word;
			}
			continue;
		}
#endif
		UNROLL
		for (u32 j = 0; j < ITEMS; j++) {
			if (all || there >> j & 1) {
				*STORED(j) = value[j];
			}
		}
#undef LOADED
#undef STORED
	}
}
#endif

// MOVE moves the existing elements of an item: loads first, so that they overlap.
#define MOVE(there, row) \
	WORD value[ITEMS]; \
	UNROLL \
	for (u32 j = 0; j < ITEMS; j++) { \
		if (there) { \
			value[j] = *LOADED(j, row); \
		} \
	} \
	UNROLL \
	for (u32 j = 0; j < ITEMS; j++) { \
		if (there) { \
			*STORED(j, row) = value[j]; \
		} \
	}
#if PUT
#define LOADED(j, row) (mine + j * dApart)
#define STORED(j, row) AT(GLOBAL WORD, moved + j * sApart, row)
#else
#define LOADED(j, row) AT(GLOBAL const WORD, moved + j * sApart, row)
#define STORED(j, row) (mine + j * dApart)
#endif

ENTRY {
	SHARED(i64, found, ROWS);
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = BEGIN;
		const u32 first = position_of(params, block, &begin);
		const u32 cuts = cuts_of(params, first);
		u32 rows = params->nb * (params->ta > 0 ? cuts : 1);
		if (block != GROUP_ID) {
			BARRIER();
		}
		if (rows > GROUP) {
			PASTE(NAME, _look)(LOOKS, found, params, begin.s, begin.a, rows, at, status);
		} else {
			PASTE(NAME, _look)(1, found, params, begin.s, begin.a, rows, at, status);
		}
		BARRIER();
#if COLUMNS
		if (params->tb > 0) {
			PASTE(NAME, _columns)(dst, src, found, params, begin.d, begin.s, block, cuts);
			continue;
		}
#endif
		const u32 apart = APART(cuts), items = apart * params->flat, rowApart = apart * params->ta;
		const i64 dApart = apart * params->d, sApart = apart * params->s * SIZE;
		for (u32 item = LOCAL_ID; item < items; item += GROUP) {
			u32 x = item, number = 0;
			Position p = {begin.d, 0, 0};
			ROLLED
			for (u32 k = params->outer; k < params->outer + params->inner; k++) {
				const u32 i = digit(&x, AXES(params) + k);
				p.d += i * AXES(params)[k].d;
				p.s += i * AXES(params)[k].s;
				number += i * (u32)at_axes(params)[k].d;
			}
			p.d += x * params->d;
			p.s += x * params->s;
			SHARED_POINTER const i64 *its = found + number + x * params->ta;
#if PUT
			GLOBAL const WORD *mine = (GLOBAL const WORD *)src + p.d;
			GLOBAL u8 *moved = dst + p.s * SIZE;
#else
			GLOBAL WORD *mine = (GLOBAL WORD *)dst + p.d;
			GLOBAL const u8 *moved = src + p.s * SIZE;
#endif
			const u32 full = x + (ITEMS - 1) * apart < cuts;
			if (full && rowApart == 0) { // all of one row
				const i64 one = *its;
				if (one >= 0) {
					MOVE(1, one)
				}
				continue;
			}
			i64 row[ITEMS];
			u32 missing = 0;
			const u32 last = (cuts - 1 - x) * params->ta; // of its rows
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				row[j] = its[MIN(j * rowApart, last)];
			}
			if (!full) {
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) {
					row[j] |= -(i64)(x + j * apart >= cuts);
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				missing |= (u32)(row[j] >> 32);
			}
			if (LIKELY((i32)missing >= 0)) {
				MOVE(1, row[j])
			} else {
				MOVE(row[j] >= 0, row[j])
			}
		}
	}
}

#undef LOOKS
#undef SIZE
#undef AT
#undef COLUMNS
#undef SIDE
#undef COLUMN
#undef MOVE
#undef LOADED
#undef STORED

#endif

#undef READ
#undef WRITTEN
#undef BEGIN
