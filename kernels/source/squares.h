// squares: how transpositions use squares of elements in registers. LINES_OF, lines.h or
// cast_lines.h, defines the constants and lines(), which fills the rows of squares; transpose.h
// defines the layout of the tile. src is dense along axis a, and dst along axis b; where a and
// b are short, a block has indices of a third axis, c, too. A work-item has ACROSS elements
// each of LINES lines of src: VEC words of their converted form. It transposes squares of PER x
// PER elements, and stores the results, pieces of lines of dst, in local memory. From there
// they are written by 16 bytes. With NEIGHBOURS, pieces of lines that begin anywhere are read
// once, and passed on through local memory.
//
// Blocks go in bands (see common.h), and outer axis 3 counts those along c: extent, d and s are
// those of c, and cut is the number of its indices in a block. The tile has ta lines along b of
// SLOTS/ta slots, 1<<words of them for each index of c. 1<<flat work-items read side by side
// along a.

#include "kernel.h"
#include LINES_OF
#include "exchange.h"

#define PER (32 / DBITS)                 // elements in a word
#define VEC (ACROSS * DBITS / 32)        // a work-item's words of a line
#define ACROSS (1u << ACROSS_LOG)        // a work-item's elements of a line
#define UNIT (128 / DBITS)               // elements in 16 bytes
#define SECTOR (256 / DBITS)             // and in a sector of memory
#define UNIT_LOG (DBITS == 32 ? 2 : DBITS == 16 ? 3 : DBITS == 8 ? 4 : DBITS == 4 ? 5 : 6)
#define SLOTS (1u << SLOTS_LOG)          // of the tile, of 16 bytes

// Shape is the layout of slots in the tile: a line has 1<<units of them, 1<<words for each
// index of c, and begins at an offset, from a multiple of 128 bytes, of its index shifted left
// by apart: lines shorter than that lie side by side. near is the same for lines that adjacent
// work-items write.
typedef struct {
	u32 units, words, apart, near;
} PASTE(NAME, Shape);

// slot is the place of a slot of a line.
INLINED u32 PASTE(NAME, _slot)(const PASTE(NAME, Shape) shape, u32 line, u32 slot);

// Share is a work-item's part of a block's na x nb x nc elements, which begin at position s of
// src: ACROSS elements, the first at begin along a and at in src, each further one 1<<side
// further on, of LINES lines, from line y * LINES on, at most most of them. It is the x-th of
// those side by side. own: the block has any of the lines; there: and any of the elements, too.
typedef struct {
	i64 at;
	u32 x, y, begin, side, own, there;
	i32 most;
} PASTE(NAME, Share);

INLINED PASTE(NAME, Share) PASTE(NAME, _share)(CONSTANT Params *params, i64 s, u32 na, u32 nb, u32 nc) {
	// Of 32 work-items, up to 8 are side by side, or all if their elements are side by side,
	// too.
	u32 width = params->flat;
	FRESH(width);
	const u32 near = MIN(width, SPREAD(params) ? 5 : 3), warp = LOCAL_ID / 32;
	const u32 room = UNIT << params->words;
	PASTE(NAME, Share) share;
	share.x = (LOCAL_ID & ((1 << near) - 1)) | (warp & ((1 << width >> near) - 1)) << near;
	share.y = (LOCAL_ID % 32 >> near) | warp >> (width - near) << (5 - near);
	const u32 b = share.y * LINES & (room - 1), c = share.y * LINES / UNIT >> params->words;
	share.side = SPREAD(params) ? near : 0;
	share.begin = (share.x >> share.side << (share.side + ACROSS_LOG)) | (share.x & ((1u << share.side) - 1));
	share.own = b / UNIT * UNIT < nb && c < nc;
	share.there = share.own && share.begin < na;
	share.at = s + c * params->s + b * params->sb + share.begin;
	share.most = (i32)(nb - b);
	return share;
}

#ifdef NEIGHBOURS
// given is where local memory has the first of the pieces that a neighbour gives to work-item
// x, y of 1<<width side by side; each further one is NEXT further on.
INLINED u32 PASTE(NAME, _given)(const PASTE(NAME, Shape) shape, u32 width, u32 x, u32 y);

// pieces reads a work-item's pieces of lines that begin anywhere, and puts the pieces that
// others need into local memory.
INLINED void PASTE(NAME, _pieces)(SHARED_POINTER PIECE *pieces, u32 *r, GLOBAL const u8 *src, CONSTANT Params *params, const PASTE(NAME, Shape) shape, const PASTE(NAME, Share) share, u32 na) {
	// In each line, work-item 0 gives no piece, which leaves room for a piece given to the last
	// one: the line may end in it.
	ROLLED
	for (u32 k = share.own ? share.x : LINES; k < LINES; k += 1 << params->flat) {
		const i64 end = share.at + k * params->sb + (i32)(na - 1 - share.begin);
		PIECE last = PASTE(NAME, _nothing)();
		if ((i32)k < share.most && (u32)end % ACROSS < (na - 1) % ACROSS) { // not in the last one's own
			last = *PASTE(NAME, _piece_of)(src, end);
		}
		LOADED_WHOLE();
		pieces[PASTE(NAME, _given)(shape, params->flat, (na - 1) / ACROSS, share.y) + k * NEXT] = last;
	}
	if (share.there && share.most >= LINES) {
		PASTE(NAME, _lines)(r, src, share.at, params->sb, share.most, 1, 0);
	} else {
		PASTE(NAME, _lines)(r, src, share.at, params->sb, share.there ? share.most : 0, 0, 0);
	}
	if (share.there && share.x > 0) {
		PASTE(NAME, _give)(pieces + PASTE(NAME, _given)(shape, params->flat, share.x - 1, share.y), r);
	}
}

// load reads a work-item's share of a block. whole: the block fills the tile; aligned: lines of
// src begin on pieces. PoCL needs unconditional barriers, even if the condition is uniform in a
// group.
INLINED void PASTE(NAME, _load)(SHARED_POINTER u128 *tile, u32 *r, GLOBAL const u8 *src, CONSTANT Params *params, const PASTE(NAME, Shape) shape, const PASTE(NAME, Share) share, u32 na, u32 whole, u32 aligned) {
	SHARED_POINTER PIECE *pieces = (SHARED_POINTER PIECE *)tile;
	if (!aligned) {
		PASTE(NAME, _pieces)(pieces, r, src, params, shape, share, na);
	} else if (whole) {
		PASTE(NAME, _lines)(r, src, share.at, params->sb, share.most, 1, 1);
	} else if (share.there) {
		PASTE(NAME, _lines)(r, src, share.at, params->sb, share.most, 0, 1);
	}
	BARRIER();
	if (!aligned && share.there) {
		PASTE(NAME, _join)(r, pieces + PASTE(NAME, _given)(shape, params->flat, share.x, share.y), (u32)share.at, (u32)params->sb);
	}
	BARRIER(); // before squares overwrite pieces
}
#endif

// column puts a column of squares into a line of the tile, at an offset in bytes: the words of
// lines i % PER, i % PER + PER, ...
INLINED void PASTE(NAME, _column)(Local slots, u32 at, u32 bytes, const u32 *r, u32 i) {
#define AT(g) ROW((g) * PER + i % PER)[i / PER]
#if LINES / PER >= 4
	u128 value;
	value.x = AT(0);
	value.y = AT(1);
	value.z = AT(2);
	value.w = AT(3);
	LOCAL_PLACE(u128, slots + at, bytes) = value;
#elif LINES / PER == 2
	u32x2 value;
	value.x = AT(0);
	value.y = AT(1);
	LOCAL_PLACE(u32x2, slots + at, bytes) = value;
#else
	LOCAL_PLACE(u32, slots + at, bytes) = AT(0);
#endif
#if LINES / PER == 8 // the next slot
	value.x = AT(4);
	value.y = AT(5);
	value.z = AT(6);
	value.w = AT(7);
	LOCAL_PLACE(u128, slots + (at ^ 16), bytes) = value;
#endif
#undef AT
}

// merge writes bits [from, to) of a value.
DEVICE void PASTE(NAME, _merge)(GLOBAL u32 *word, const u128 value, u32 from, u32 to) {
#define WHOLE(k, v)                            \
	if (from <= k * 32 && k * 32 + 32 <= to) { \
		word[k] = v;                           \
	}
	WHOLE(0, value.x)
	WHOLE(1, value.y)
	WHOLE(2, value.z)
	WHOLE(3, value.w)
#undef WHOLE
	// The partial words of dst: one at either end, or one in all.
	const u32 first = from / 32, final = to / 32;
#define PICK(k) ((k) & 2 ? ((k) & 1 ? w : z) : (k) & 1 ? y : x)
	const u32 x = value.x, y = value.y, z = value.z, w = value.w;
	if (from % 32 > 0) {
		MERGE(word + first, PICK(first), bits_between(from % 32, MIN(to - first * 32, 32)));
	}
	if (to % 32 > 0 && (final > first || from % 32 == 0)) {
		MERGE(word + final, PICK(final), bits_between(0, to % 32));
	}
#undef PICK
}

// ends merges the 16 bytes at lines' ends that other lines share: the first ones, the last
// ones, or both.
INLINED void PASTE(NAME, _ends)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, const PASTE(NAME, Shape) shape, i64 d, u32 na, u32 nb, u32 nc, u32 heads, u32 tails) {
	const u32 lines = ACROSS_LOG + params->flat, both = heads & tails, items = nc << lines << both;
	u32 i = LOCAL_ID;
	FRESH(i);
	for (; i < items; i += GROUP) {
		const u32 line = i >> both & ((1 << lines) - 1), c = i >> both >> lines, tail = both ? i % 2 : tails;
		const i64 at = d + c * params->d + line * params->da;
		const u32 phase = (u32)at % UNIT, end = phase + nb, last = end / UNIT;
		if (line >= na || (tail ? end % UNIT == 0 || (last == 0 && phase > 0) : phase == 0)) {
			continue;
		}
		// Bits [from, to) belong to the line.
		const u32 from = tail ? 0 : phase * DBITS, to = (tail || last == 0 ? end % UNIT : UNIT) * DBITS;
		const u32 unit = tail ? last : 0, slot = c << shape.words;
		Pair p;
		p.lo = tile[PASTE(NAME, _slot)(shape, line, slot + unit - (unit > 0 && phase > 0))];
		p.hi = tile[PASTE(NAME, _slot)(shape, line, slot + MIN(unit, (nb - 1) / UNIT))];
		LOADED_WHOLE();
		p.shift = (UNIT - phase) % UNIT * DBITS;
		const u128 value = shifted(p);
		PASTE(NAME, _merge)((GLOBAL u32 *)((GLOBAL u128 *)dst + ((u64)at / UNIT + unit)), value, from, to);
	}
}
