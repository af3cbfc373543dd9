// join: chunks (see parts.h) of dst that are assembled from rows of src, dense on both sides,
// each with its index. A block first looks up the indices of all its rows in parallel, and for
// short rows reads their elements, too. lo is the base of at.
//
// Run axis 0 is a row. The others locate rows: all rows of a block, if it has several runs,
// each of params->nb rows. params->ta is a row's length, params->tb says that rows are shorter
// than a word.

#include "kernel.h"
#include "store.h"

#define PER (128 / DBITS)
#define LOOKS 4 // rows in one pass
#define NOWHERE ((i64)((u64)1 << 63))

// word reads a word of src, of the wanted number of bits, that begins at any element.
DEVICE u32 PASTE(NAME, _word)(GLOBAL const u8 *src, i64 element, u32 bits) {
	const i64 bit = element * DBITS;
	const u32 shift = (u32)bit & 31;
	GLOBAL const u32 *from = (GLOBAL const u32 *)src + (bit >> 5);
	u32 low = from[0], high = 0;
	if (shift + bits > 32) {
		high = from[1];
	}
	return funnel(low, high, shift);
}

// look finds where rows begin in src or, for short rows, their elements.
INLINED void PASTE(NAME, _look)(SHARED_POINTER i64 *found, GLOBAL const u8 *src, CONSTANT Params *params, i64 s0, i64 a0, u32 first, u32 rows, GLOBAL const u8 *at, GLOBAL u32 *status) {
	const u32 run = params->outer + params->inner, last = run + params->run - 1;
	for (u32 row = LOCAL_ID; row < rows; row += LOOKS * GROUP) {
		i64 s[LOOKS], a[LOOKS], index[LOOKS];
		u32 rest[LOOKS], there = 0;
		UNROLL
		for (u32 j = 0; j < LOOKS; j++) {
			rest[j] = row + j * GROUP + first;
			there |= (row + j * GROUP < rows) << j;
			s[j] = s0;
			a[j] = a0;
		}
		ROLLED
		for (u32 k = run + 1; k < last; k++) {
			UNROLL
			for (u32 j = 0; j < LOOKS; j++) {
				const u32 i = digit(&rest[j], AXES(params) + k);
				s[j] += i * AXES(params)[k].s;
				a[j] += i * at_axes(params)[k].s;
			}
		}
		UNROLL
		for (u32 j = 0; j < LOOKS; j++) {
			s[j] += rest[j] * AXES(params)[last].s;
			a[j] += rest[j] * at_axes(params)[last].s;
		}
		u32 missing = 0;
		ROLLED
		for (u32 k = 0; k < params->na; k++) {
			UNROLL
			for (u32 j = 0; j < LOOKS; j++) { // loads first: they overlap
				index[j] = 0;
				if (there >> j & 1) {
					index[j] = index_at(at, a[j] + INDICES(params)[k].offset, ABITS);
				}
			}
			UNROLL
			for (u32 j = 0; j < LOOKS; j++) {
				missing |= (1 - add_index(params, k, index[j], &s[j], status)) << j;
			}
		}
		if (params->tb) {
			u32 word[LOOKS];
			UNROLL
			for (u32 j = 0; j < LOOKS; j++) {
				word[j] = 0;
				if (there >> j & 1) {
					word[j] = PASTE(NAME, _word)(src, s[j], params->ta * DBITS);
				}
			}
			UNROLL
			for (u32 j = 0; j < LOOKS; j++) {
				s[j] = word[j];
			}
		}
		UNROLL
		for (u32 j = 0; j < LOOKS; j++) {
			if (there >> j & 1) {
				found[row + j * GROUP] = s[j] | (missing >> j & 1 ? NOWHERE : 0);
			}
		}
	}
}

// appended is v shifted down, with n more bits on top: the lowest ones of a word.
DEVICE u128 PASTE(NAME, _appended)(const u128 v, u32 word, u32 n) {
	u128 more;
	more.x = funnel(v.x, v.y, n);
	more.y = funnel(v.y, v.z, n);
	more.z = funnel(v.z, v.w, n);
	more.w = funnel(v.w, word, n);
	return more;
}

// some writes slots [a, b) of a chunk, except for rows whose index is out of range. Slot a is
// element i of the first row.
DEVICE void PASTE(NAME, _some)(GLOBAL u32 *to, const u128 v, SHARED_POINTER const i64 *found, u32 a, u32 b, u32 i, u32 width) {
	for (u32 slot = a; slot < b; slot++) {
		if (*found >= 0) {
			const u32 k = slot * DBITS / 32, bit = slot * DBITS % 32;
			MERGE(to + k, word_of(v, k), bits_between(bit, bit + DBITS));
		}
		if (++i == width) {
			i = 0;
			found++;
		}
	}
}

// pair is pair_at without a condition: divergent work-items cost more than loads.
DEVICE Pair PASTE(NAME, _pair)(const Place p) {
	Pair x;
	x.lo = p.from[p.first];
	x.hi = p.from[p.last];
	x.shift = p.shift;
	return x;
}

// inside writes the whole chunks of a part of a run that are within one row each. It returns
// the index of the first whole one, and the index behind the last.
INLINED u32 PASTE(NAME, _inside)(GLOBAL u8 *dst, GLOBAL const u8 *src, CONSTANT Params *params, const Part part, SHARED_POINTER const i64 *found, u32 first, u32 *after) {
	CONSTANT Axis *run = AXES(params) + params->outer + params->inner;
	const u32 phase = (u32)part.d & (PER - 1), begin = phase > 0, start = LOCAL_ID < begin ? GROUP : LOCAL_ID;
	*after = MAX((part.length + phase) / PER, begin);
	GLOBAL u128 *to = (GLOBAL u128 *)dst + part.d / PER + start;
	u32 width = part.length, row = 0, i = start * PER - phase + part.skip, rows = 0, more = GROUP * PER;
	if (params->run > 1) {
		width = params->ta;
		row = quotient(i, run);
		i -= row * width;
		row -= first;
		rows = quotient(GROUP * PER, run);
		more -= rows * width;
	}
	for (u32 item = start; item < *after; item += GROUP) {
		const i64 s = found[row];
		const Pair x = PASTE(NAME, _pair)(place_of(src, ((s & ~NOWHERE) + MIN(i, width - PER)) * DBITS, 0, 128));
		LOADED_WHOLE();
		const u128 value = shifted(x);
		if (LIKELY((s >= 0) & (i + PER <= width))) {
			*to = value;
		}
		to += GROUP;
		row += rows;
		i += more;
		if (i >= width) { // (a run of one row ends there)
			i -= width;
			row++;
		}
	}
	return begin;
}

ENTRY {
	SHARED(i64, found, ROWS); // of each row of a block
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = {dBase, sBase, (i64)lo};
		const u32 cuts = position_of(params, block, &begin);
		const Part part = part_at(params, cuts, begin.d, begin.s, PER);
		CONSTANT Axis *run = AXES(params) + params->outer + params->inner;
		u32 first = 0, rows = 1;
		if (params->words > 0) {
			rows = quotient(part.items, AXES(params) + params->outer) * params->nb;
		} else if (params->run > 1) {
			first = quotient(part.skip, run);
			rows = quotient(part.skip + part.length - 1, run) + 1 - first;
		}
		if (block != GROUP_ID) {
			BARRIER();
		}
		PASTE(NAME, _look)(found, src, params, part.s, begin.a, first, rows, at, status);
		BARRIER();
		u32 done = 0, after = 0, ends = 0; // chunks from done to after are written, except where rows end
		if (params->words == 0 && params->ta >= PER) {
			done = PASTE(NAME, _inside)(dst, src, params, part, found, first, &after);
			ends = rows - 1;
		}
		const u32 left = part.items - (after - done);
		for (u32 number = LOCAL_ID; number < left + ends; number += GROUP) {
			u32 item = number < done ? number : number + (after - done);
			if (number >= left) { // the chunk with the end of a row
				const u32 e = (first + 1 + number - left) * params->ta - part.skip + ((u32)part.d & (PER - 1));
				item = e / PER;
				if (e % PER == 0 || item < done || item >= after) {
					continue;
				}
			}
			Chunk c = chunk_of(params, part, item, PER);
			u32 row = 0 - first, i = (u32)(c.e + c.a); // of slot a: its row, and its index in that row
			if (params->words > 0) {
				row = quotient(item, AXES(params) + params->outer) * params->nb;
			}
			if (params->run > 1) {
				const u32 r = quotient(i, run);
				i -= r * params->ta;
				row += r;
			}
			GLOBAL u32 *to = (GLOBAL u32 *)dst + c.d * 4;
			if (c.a >= c.b) {
				continue;
			}
			const u32 width = params->ta, row0 = row, i0 = i;
			u32 missing = 0;
			i32 a = c.a;
			u128 value;
			value.x = value.y = value.z = value.w = 0;
			if (params->tb > 0) {
				do {
					const i64 s = found[row++];
					missing |= (u32)(s >> 32);
					const i32 end = (i32)MIN(a + width - i, (u32)c.b);
					value = PASTE(NAME, _appended)(value, (u32)s >> i * DBITS, (end - a) * DBITS);
					a = end;
					i = 0;
				} while (a < c.b);
				if (c.b < PER) {
					Pair x;
					x.lo = value;
					x.hi.x = x.hi.y = x.hi.z = x.hi.w = 0;
					x.shift = (PER - c.b) * DBITS;
					value = shifted(x);
				}
			} else {
				do {
					const i64 s = found[row++];
					missing |= (u32)(s >> 32);
					const i32 end = (i32)MIN(a + width - i, (u32)c.b);
					const Pair x = PASTE(NAME, _pair)(place_of(src, ((s & ~NOWHERE) + i - a) * DBITS, a * DBITS, end * DBITS));
					LOADED_WHOLE();
					value = with_above(value, shifted(x), a * DBITS);
					a = end;
					i = 0;
				} while (a < c.b);
			}
			if ((i32)missing < 0) {
				PASTE(NAME, _some)(to, value, found + row0, c.a, c.b, i0, width);
			} else {
				PASTE(NAME, _store)(to, value, c.a * DBITS, c.b * DBITS);
			}
		}
	}
}

#undef PER
#undef CHUNK
#undef LOOKS
#undef NOWHERE
