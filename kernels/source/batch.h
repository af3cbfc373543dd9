// batch: a transposition of small matrices, or of strips of larger ones, whose elements are
// contiguous in dst: only local memory sees odd extents and pitches. src is dense along axis a,
// dst along axis b, and axis c counts matrices. A block has ta indices of a, all of b, extent,
// and tb of c. A row is a contiguous part of the block in src: lines along a, matrices, or all,
// in pieces. Rows are read by vectors of 16 bytes and stored unchanged in local memory, each at
// the same distance from the start of a vector as in src. There, sb is the step of b, and sa
// the step of c.
//
// From a byte on, a work-item assembles units of dst from elements in local memory, wherever
// they are. Narrower elements are first transposed by squares of PER x PER elements in
// registers and stored as lines along b, of params->words words each: units are words of a line
// and, where it ends, of the next ones. Elements of partial units are written one by one.
//
// There are span rows, of length elements. Each matrix that a block lacks removes da rows, or
// db elements from each row. Where d is not 0, all is one row. Inner axis 0 has the extent of a
// row, in vectors, 1 counts rows below each other, with the steps of a row in local memory and
// in src; 2 and 3 have the extents of b and a. From a byte on, words is the number of elements
// in a unit, and 1<<flat work-items of a warp have adjacent units. Below a byte, 4 and 5 count
// squares, cut in all, along two of the axes b, a and c, and the remainder along the third.
// Pairs of bits of flat, the lowest first, choose the count along b, a and c: 0: axis 4, 1:
// axis 5, 2: the remainder.

#include "kernel.h"
#include "exchange.h"

#define UNIT (128 / DBITS) // elements of 16 bytes
#define ITEMS 4
#define UNIT_BITS (DBITS < 8 ? 32 : 64)
#define PER (UNIT_BITS / DBITS) // elements of a unit
#define VEC 1
#define LINES PER

// Batch describes a block: its first element in local memory, the indices along a, and the
// matrices.
typedef struct {
	u32 phase, na, nc;
} PASTE(NAME, Batch);

// load copies the rows to local memory.
INLINED void PASTE(NAME, _load)(SHARED_POINTER u128 *raw, GLOBAL const u8 *src, CONSTANT Params *params, i64 s, const PASTE(NAME, Batch) batch) {
	CONSTANT Axis *across = AXES(params) + params->outer, *rows = across + 1;
	GLOBAL const u128 *from = (GLOBAL const u128 *)src + (u64)s / UNIT;
	const u32 missing = params->tb - batch.nc;
	const u32 length = (u32)params->length - missing * (u32)params->db - (params->ta - batch.na);
	u32 row = LOCAL_ID;
	if (params->d) {
		const u32 vectors = (batch.phase + length + UNIT - 1) / UNIT;
		for (; row < vectors; row += ITEMS * GROUP) {
			u128 value[ITEMS];
			UNROLL
			for (u32 k = 0; k < ITEMS; k++) { // loads first: they overlap
				if (row + k * GROUP < vectors) {
					value[k] = from[row + k * GROUP];
				}
			}
			UNROLL
			for (u32 k = 0; k < ITEMS; k++) {
				if (row + k * GROUP < vectors) {
					raw[row + k * GROUP] = value[k];
				}
			}
		}
		return;
	}
	const u32 vector = digit(&row, across), step = rows->n;
	const u32 count = params->span - missing * (u32)params->da;
	const i64 more = step * rows->s;
	const u32 morePlace = step * (u32)rows->d;
	i64 at = batch.phase + row * rows->s;
	u32 place = batch.phase + row * (u32)rows->d;
	const i32 left = (i32)(length - vector * UNIT);
	from += vector;
	for (row = row < step ? row : count; row < count; row += ITEMS * step) {
		u128 value[ITEMS];
		u32 to[ITEMS];
		UNROLL
		for (u32 k = 0; k < ITEMS; k++) { // loads first: they overlap
			to[k] = VECTORS;
			if (row + k * step < count && (i32)((u32)at % UNIT) + left > 0) {
				to[k] = place / UNIT + vector;
				value[k] = from[(u64)at / UNIT];
			}
			at += more;
			place += morePlace;
		}
		UNROLL
		for (u32 k = 0; k < ITEMS; k++) {
			if (to[k] < VECTORS) {
				raw[to[k]] = value[k];
			}
		}
	}
}

// element is a single element of the block, by its index in dst.
DEVICE u32 PASTE(NAME, _element)(SHARED_POINTER const u8 *raw, CONSTANT Params *params, u32 phase, u32 number) {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	const u32 b = digit(&number, inner + 2), a = digit(&number, inner + 3);
	const u32 at = phase + number * (u32)params->sa + b * (u32)params->sb + a;
#if DBITS < 8
	return raw[at * DBITS / 8] >> at * DBITS % 8 & ((1 << DBITS) - 1);
#else
	return ((SHARED_POINTER const WORD *)raw)[at];
#endif
}

// ends writes the elements in front of the first whole unit and behind the last one: those
// before head, and those from tail to end.
DEVICE void PASTE(NAME, _ends)(GLOBAL u8 *dst, SHARED_POINTER const u8 *raw, CONSTANT Params *params, u32 phase, i64 d, u32 head, u32 tail, u32 end) {
	if (LOCAL_ID >= 2 * UNIT) {
		return;
	}
	const u32 x = LOCAL_ID % UNIT, number = LOCAL_ID < UNIT ? x : tail + x;
	if (number >= (LOCAL_ID < UNIT ? head : end)) {
		return;
	}
	const u32 value = PASTE(NAME, _element)(raw, params, phase, number);
	const u64 at = (u64)(d + number);
#if DBITS < 8
	const u32 shift = (u32)at % PER * DBITS;
	merge_bits((GLOBAL u32 *)dst + at / PER, value << shift, ((1 << DBITS) - 1) << shift);
#else
	((GLOBAL WORD *)dst)[at] = (WORD)value;
#endif
}

#if DBITS < 8

// turn transposes the squares into lines of the tile. Words behind a line's end are not used.
INLINED void PASTE(NAME, _turn)(SHARED_POINTER u32 *tile, Local raw, CONSTANT Params *params, const PASTE(NAME, Batch) batch) {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	const u32 count = params->cut, order = params->flat, words = params->words, sb = (u32)params->sb;
	for (u32 i = LOCAL_ID; i < count; i += GROUP) {
		u32 third = i;
		const u32 first = digit(&third, inner + 4), second = digit(&third, inner + 5);
#define INDEX_OF(which) ((which) == 0 ? first : (which) == 1 ? second : third)
		const u32 b = INDEX_OF(order & 3), a = INDEX_OF(order >> 2 & 3) * PER, c = INDEX_OF(order >> 4);
#undef INDEX_OF
		if (c >= batch.nc || a >= batch.na) {
			continue;
		}
		u32 at = batch.phase + c * (u32)params->sa + b * PER * sb + a;
		u32 r[PER];
		UNROLL
		for (u32 k = 0; k < PER; k++) {
			const u32x2 pair = local_pair(raw + (at * DBITS / 32 * 4));
			r[k] = funnel(pair.x, pair.y, at * DBITS);
			at += sb;
		}
		TRANSPOSE
		SHARED_POINTER u32 *to = tile + ((c * params->ta + a) * words + b);
		const u32 all = a + PER <= batch.na;
		UNROLL
		for (u32 k = 0; k < PER; k++) {
			if (all || a + k < batch.na) {
				*to = r[k];
			}
			to += words;
		}
	}
}

// store writes whole units from the tile; the first begins with the given element.
INLINED void PASTE(NAME, _store)(GLOBAL u32 *to, Local tile, CONSTANT Params *params, u32 first, u32 units) {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	const u32 extent = inner[2].n, line = params->words * 4; // bytes
	u32 at = first + LOCAL_ID * PER, more = GROUP * PER;
	u32 b = digit(&at, inner + 2);
	const u32 moreB = digit(&more, inner + 2);
	at *= line;
	more *= line;
	for (u32 i = LOCAL_ID; i < units; i += GROUP) {
		const u32x2 pair = local_pair(tile + (at + b / PER * 4));
		u32 left = (extent - b) * DBITS, next = at + line; // where the next line begins, in this word or beyond it
		u32 value = choose(ones_above(left), local_32(tile + next) << left % 32, funnel(pair.x, pair.y, b * DBITS));
		for (u32 n = extent; n < PER; n += extent) {
			left += extent * DBITS;
			next += line;
			value = choose(ones_above(left), local_32(tile + next) << left % 32, value);
		}
		to[i] = value;
		b += moreB;
		at += more;
		if (b >= extent) {
			b -= extent;
			at += line;
		}
	}
}

#else

// store writes whole units of per elements, PER or twice PER; the first begins with the given
// element.
INLINED void PASTE(NAME, _store)(GLOBAL u8 *to, Local raw, CONSTANT Params *params, u32 phase, u32 first, u32 units, const u32 per) {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	const u32 nb = inner[2].n, na = inner[3].n;
	const i32 sb = (i32)params->sb * (DBITS / 8);
	const i32 nextA = (DBITS / 8) - (i32)nb * sb, nextC = ((i32)params->sa - (i32)na) * (DBITS / 8); // added where b, and where a, begins again
	// 1<<flat work-items of a warp are side by side.
	const u32 side = params->flat, x = LOCAL_ID % 32;
	const u32 number = (x & ((1 << side) - 1)) | (LOCAL_ID / 32 | x >> side << 3) << side;
	u32 c = first + number * per, moreC = GROUP * per;
	u32 b = digit(&c, inner + 2), a = digit(&c, inner + 3);
	const u32 moreB = digit(&moreC, inner + 2), moreA = digit(&moreC, inner + 3);
	i32 at = (i32)((phase + c * (u32)params->sa + a) * (DBITS / 8)) + (i32)b * sb;
	const i32 more = (i32)((moreC * (u32)params->sa + moreA) * (DBITS / 8)) + (i32)moreB * sb;
	for (u32 i = number; i < units; i += GROUP) {
		const u32 left = nb - b; // elements before b begins again
		const i32 next = sb + nextA + (a + 1 == na ? nextC : 0);
		Local from = raw + at;
		u32 word[4];
		UNROLL
		for (u32 k = 0; k < per * DBITS / 32; k++) {
			u32 v[32 / DBITS];
			UNROLL
			for (u32 n = 0; n < 32 / DBITS; n++) {
				if (k + n > 0) {
					from += k * (32 / DBITS) + n == left ? next : sb;
				}
				v[n] = PASTE(local_, DBITS)(from);
			}
#if DBITS == 8
			word[k] = pack_bytes(v[0], v[1], v[2], v[3]);
#else
			word[k] = pack_halves(v[0], v[1]);
#endif
		}
		if (per == PER) {
			u32x2 value;
			value.x = word[0];
			value.y = word[1];
			((GLOBAL u32x2 *)to)[i] = value;
		} else {
			u128 value;
			value.x = word[0];
			value.y = word[1];
			value.z = word[2];
			value.w = word[3];
			((GLOBAL u128 *)to)[i] = value;
		}
		b += moreB;
		a += moreA;
		at += more;
		if (b >= nb) {
			b -= nb;
			a++;
			at += nextA;
		}
		if (a >= na) {
			a -= na;
			at += nextC;
		}
	}
}

#endif

ENTRY {
	SHARED(u128, raw, VECTORS);
#if DBITS < 8
	SHARED(u128, tile, TILE_VECTORS);
	u128 none; // read for absent words, whose elements are not used
	none.x = none.y = none.z = none.w = 0;
	for (u32 i = LOCAL_ID; i < VECTORS; i += GROUP) {
		raw[i] = none;
	}
	for (u32 i = LOCAL_ID; i < TILE_VECTORS; i += GROUP) {
		tile[i] = none;
	}
	BARRIER();
#endif
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Tile t = tile_of(params, block, dBase, sBase);
		PASTE(NAME, Batch) batch;
		batch.phase = (u32)t.s % UNIT;
		batch.na = t.na;
		batch.nc = t.nb;
		PASTE(NAME, _load)(raw, src, params, t.s, batch);
		BARRIER();
#if DBITS < 8
		PASTE(NAME, _turn)((SHARED_POINTER u32 *)tile, local_of(raw), params, batch);
		BARRIER();
#endif
		const u32 per = DBITS < 8 ? PER : params->words; // elements of a unit
		const u32 end = batch.nc * batch.na * (u32)params->extent, head = MIN((0 - (u32)t.d) % per, end), units = (end - head) / per;
		GLOBAL u8 *to = dst + (t.d + head) * DBITS / 8;
#if DBITS < 8
		PASTE(NAME, _store)((GLOBAL u32 *)to, local_of(tile), params, head, units);
#else
		if (per == PER) {
			PASTE(NAME, _store)(to, local_of(raw), params, batch.phase, head, units, PER);
		} else {
			PASTE(NAME, _store)(to, local_of(raw), params, batch.phase, head, units, 2 * PER);
		}
#endif
		PASTE(NAME, _ends)(dst, (SHARED_POINTER const u8 *)raw, params, batch.phase, t.d, head, head + units * per, end);
		BARRIER(); // before the next block's loads
	}
}

#include "undefs.h"
