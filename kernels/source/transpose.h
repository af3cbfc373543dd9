// transpose: a transposition by squares (see squares.h): the layout of slots in a tile of any
// shape, and how they are written.
//
// Where lines of dst do not begin on sectors, blocks overlap by a sector along b (step is less
// than tb), so that one block writes all of a sector of dst, whatever its lines: memory would
// write a sector that two blocks complete twice, and read it in between. Only 16 bytes at a
// line's own ends are merged. Where a block has whole lines that follow each other in dst
// (span), its 16 bytes are assembled across lines, too: inner axes 0 and 1 have the extents of
// a line and of the lines for each index of c.

#include "squares.h"

DEVICE PASTE(NAME, Shape) PASTE(NAME, _shape)(CONSTANT Params *params) {
	PASTE(NAME, Shape) shape;
	shape.units = SLOTS_LOG - ACROSS_LOG - params->flat;
	shape.words = params->words;
	shape.apart = shape.units < 3 ? 3 : SPREAD(params) ? 0 : params->words;
	shape.near = SPREAD(params) ? 3 : UP_TO(3, params->flat); // 3: none
	return shape;
}

// moved is the offset, by exclusive or, of a line's slots within 128 bytes: it avoids bank
// conflicts in every direction of access.
INLINED u32 PASTE(NAME, _moved)(const PASTE(NAME, Shape) shape, u32 line) {
	return ((line >> ACROSS_LOG << shape.near) ^ (line << shape.apart)) & 7;
}

INLINED u32 PASTE(NAME, _slot)(const PASTE(NAME, Shape) shape, u32 line, u32 slot) {
	return ((line << shape.units) + slot) ^ PASTE(NAME, _moved)(shape, line);
}

#ifdef NEIGHBOURS
INLINED u32 PASTE(NAME, _given)(const PASTE(NAME, Shape) shape, u32 width, u32 x, u32 y) {
	const u32 i = (y << width) + (x ^ (y & ((1u << MIN(width, 3)) - 1)));
	return i % NEXT + i / NEXT * (NEXT * LINES);
}
#endif

// put transposes a work-item's elements into the tile.
INLINED void PASTE(NAME, _put)(SHARED_POINTER u128 *tile, u32 *r, const PASTE(NAME, Shape) shape, const PASTE(NAME, Share) share) {
	TRANSPOSE
	// From one column to the next in this order, one bit of i changes, and with it a part of
	// the slot's place.
	const u32 piece = share.y * (LINES / PER); // in a line of the tile
	const Local slots = local_of(tile);
	u32 at = PASTE(NAME, _slot)(shape, share.begin, piece / 4) * 16 + piece % 4 * 4;
	UNROLL
	for (u32 n = 0; n < ACROSS; n++) {
		const u32 i = n ^ (n >> 1), changes = ((n + 1) & ~n) << share.side;
		PASTE(NAME, _column)(slots, at, 0, r, i);
		at ^= ((changes << shape.units) ^ ((changes << shape.apart) & 7)) * 16;
	}
}

// store writes the full 16 bytes of the tile to dst from position d on: nb elements of each
// line, without those that earlier blocks have written or later ones write, unless this is the
// first or the last block. full: the tile is full; aligned: all lines begin on 16 bytes, and
// blocks do not overlap.
INLINED void PASTE(NAME, _store)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, const PASTE(NAME, Shape) shape, i64 d, u32 na, u32 nb, u32 nc, u32 head, u32 last, u32 full, u32 aligned) {
	const u32 lines = GROUP >> shape.units; // lines in one pass
	const u32 first = LOCAL_ID >> shape.units, unit = LOCAL_ID & ((1 << shape.units) - 1), c = unit >> shape.words;
	const u32 b = (unit & ((1 << shape.words) - 1)) * UNIT;
	i64 at = d + c * params->d + first * params->da + b;
	const i64 step = lines * params->da;
	if (full) {
		GLOBAL u8 *to = dst + (at * DBITS >> 3);
		UNROLL
		for (u32 i = 0; i < SLOTS / GROUP; i++) {
			*(GLOBAL u128 *)to = tile[PASTE(NAME, _slot)(shape, first + i * lines, unit)];
			to += step * DBITS >> 3;
		}
		return;
	}
	// Lines a stride apart begin alike: the offsets of the first one hold for all that a
	// work-item writes. Their slots' offset grows by a constant.
	const u32 stride = MAX(lines, MAX(SECTOR, ACROSS)), bytes = shape.units + 4; // of a line, the logarithm
	i64 jump = stride * params->da * DBITS >> 3;
	FRESH64(jump);
	const u32 wanted = c < nc ? na << bytes : 0;
	const Local slots = local_of(tile);
	u32 place = unit;
	FRESH(place);
	for (u32 k = first; k < stride; k += lines) {
		const u32 begun = (b - (u32)at) % SECTOR; // elements of the line before its first whole sector
		const u32 before = aligned ? 0 : head ? begun % UNIT : begun, moved = PASTE(NAME, _moved)(shape, k);
		const u32 slot = place + before / UNIT;
		const u32 lo = (slot ^ moved) * 16, hi = ((slot + 1) % (1 << shape.units) ^ moved) * 16; // hi is not wanted behind the last
		const u32 end = before + b + UNIT <= (last || aligned ? nb : begun + params->step) ? wanted : 0;
		GLOBAL u8 *to = dst + ((at + before) * DBITS >> 3);
		u32 more = 0;
		for (u32 line = k << bytes; line < end; line += stride << bytes) {
			const u32 begin = line ^ (more & 0x70);
			Pair p;
			p.lo = local_128(slots + (begin ^ lo));
			if (!aligned) {
				p.hi = local_128(slots + (begin ^ hi));
				p.shift = before * DBITS;
			}
			LOADED_WHOLE();
			*(GLOBAL u128 *)to = aligned ? p.lo : shifted(p);
			to += jump;
			more += stride >> ACROSS_LOG << (shape.near + 4);
		}
		at += step;
	}
}

// across writes the lines of a block, which follow each other from dst position d on: each 16
// bytes are assembled from all lines that they hold.
INLINED void PASTE(NAME, _across)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, const PASTE(NAME, Shape) shape, i64 d, u32 na, u32 nb, u32 nc) {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	const u32 phase = (u32)d % UNIT, end = phase + na * nb * nc, lines = inner[1].n;
	const i32 whole = (i32)((nb - 1) / UNIT * UNIT); // where a line's last slot begins
	GLOBAL u128 *to = (GLOBAL u128 *)dst + (u64)d / UNIT;
	u32 i = LOCAL_ID;
	FRESH(i);
	for (; i * UNIT < end; i += GROUP) {
		const u32 from = i == 0 ? phase : 0, until = MIN(end - i * UNIT, UNIT); // elements in dst
		u32 c = i * UNIT + from - phase;
		const i32 begin = (i32)digit(&c, inner) - (i32)from; // of the 16 bytes, in its line
		u32 a = digit(&c, inner + 1);
		const u32 slot = (c << shape.words) + (u32)(begin >> UNIT_LOG), key = PASTE(NAME, _slot)(shape, a, 0);
		const u32 more = begin < whole ? 0xffffffff : 0; // of the line
		Pair p;
		p.lo = tile[(slot ^ key) % SLOTS];
		p.hi = tile[((slot + 1) ^ key) % SLOTS];
		LOADED_WHOLE();
		p.hi.x &= more;
		p.hi.y &= more;
		p.hi.z &= more;
		p.hi.w &= more;
		p.shift = (u32)begin % UNIT * DBITS;
		u128 value = shifted(p);
		for (i32 next = (i32)nb - begin; next < (i32)until; next += nb) { // the next line begins there
			a++;
			if (a == lines) {
				a = 0;
				c++;
			}
			p.lo.x = p.lo.y = p.lo.z = p.lo.w = 0;
			p.hi = tile[PASTE(NAME, _slot)(shape, a, c << shape.words)];
			LOADED_WHOLE();
			p.shift = (UNIT - next) * DBITS;
			const u128 line = shifted(p);
			value.x |= line.x;
			value.y |= line.y;
			value.z |= line.z;
			value.w |= line.w;
		}
		if (until - from == UNIT) {
			to[i] = value;
		} else {
			PASTE(NAME, _merge)((GLOBAL u32 *)(to + i), value, from * DBITS, until * DBITS);
		}
	}
}

ENTRY {
	PREPARE
	SHARED(u128, tile, SLOTS);
	const PASTE(NAME, Shape) shape = PASTE(NAME, _shape)(params);
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		u32 row, third;
		const Tile t = banded_of(params, block, dBase, sBase, &row, &third);
		const u32 na = t.na, nb = t.nb, room = UNIT << params->words;
		const u32 nc = (u32)MIN((i64)params->cut, params->extent - (i64)third * params->cut);
		const u32 whole = na == ACROSS << params->flat && nb == room && nc << (params->words + params->flat + ACROSS_LOG) == SLOTS;
		const u32 sAligned = !SPREAD(params) && (t.s | params->sb | params->s) % ACROSS == 0;
		const u32 dAligned = params->step == room && (t.d | params->da | params->d) % UNIT == 0;
		const PASTE(NAME, Share) share = PASTE(NAME, _share)(params, t.s, na, nb, nc);
		u32 r[LINES * VEC];
#ifdef NEIGHBOURS
		PASTE(NAME, _load)(tile, r, src, params, shape, share, na, whole, sAligned);
#else
		if (share.there) {
			PASTE(NAME, _lines)(r, src, share.at, params->sb, share.side, (i32)(na - share.begin), share.most, whole, sAligned KNOWS);
		}
#endif
		if (share.there) {
			PASTE(NAME, _put)(tile, r, shape, share);
		}
		BARRIER();
		if (params->span) {
			PASTE(NAME, _across)(dst, tile, params, shape, t.d, na, nb, nc);
		} else if (whole && dAligned) {
			PASTE(NAME, _store)(dst, tile, params, shape, t.d, na, nb, nc, 1, 1, 1, 1);
		} else {
			const u32 head = row == 0, last = row + 1 == params->rows;
			if (dAligned) {
				PASTE(NAME, _store)(dst, tile, params, shape, t.d, na, nb, nc, 1, 1, 0, 1);
			} else {
				PASTE(NAME, _store)(dst, tile, params, shape, t.d, na, nb, nc, head, last, 0, 0);
			}
			const u32 heads = head && !dAligned, tails = last && (!dAligned || nb % UNIT > 0);
			if (heads || tails) {
				PASTE(NAME, _ends)(dst, tile, params, shape, t.d, na, nb, nc, heads, tails);
			}
		}
		BARRIER(); // before the next block's loads
	}
}

#include "undefs.h"
