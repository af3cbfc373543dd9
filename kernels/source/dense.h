// dense: casts between elements that are dense on both sides. CONVERTER, lookup.h or value.h,
// defines PREPARE and CONVERT(out, words) of TOGETHER items, ITEMS at a time.
//
// An item is EACH elements: 16 bytes of the side with the wider elements, ITEM_D bits of
// dst and ITEM_S of src, in pieces (pieces.h). Items lie at multiples of their size in dst; the
// first and the last of a run may be partial. The flat index of an item counts runs' items,
// whose step is EACH. If params->ta is 1, items lie at multiples of their size in src, too.

#include "kernel.h"
#include "conversions.h"
#include CONVERTER

#define RAW MAX(1, ITEM_S / 32) // words of an item in src
#define OUT MAX(1, ITEM_D / 32) // and in dst
#define FEWER 2 // partial items, or items that begin anywhere in src: places of more would need too many registers
#define BASE 64 // positions in a block are relative to a multiple of it
#define UNIT MAX(EACH, 32 / DBITS) // elements of whole items and whole words
#define READ (UNIT_S / SBITS) // elements of src in one load, where items begin anywhere
#define SHIFT_OF(n) ((n) == 2 ? 1 : (n) == 4 ? 2 : (n) == 8 ? 3 : (n) == 16 ? 4 : (n) == 32 ? 5 : 6)
#define BYTES(n, bits) ((bits) >= 8 ? (n) * ((bits) / 8) : (n) >> ((bits) == 4 ? 1 : 2)) // of elements that fill n bits

// Place is an item: slots [begin, end) of its elements exist in dst. Element 0 is at d in dst,
// and at s in src. It is alone if no other run has bits in its words; otherwise all work-items
// merge their bits into them.
typedef struct {
	i32 d, s;
	u32 begin, end, alone;
} PASTE(NAME, _place);
#define PLACE PASTE(NAME, _place)

// place finds an item. Positions are relative to the block's base; run is the number of
// elements in a run, or in its remaining part.
INLINED PLACE PASTE(NAME, _find)(CONSTANT Params *params, u32 first, u32 item, u32 run, i32 d, i32 s) {
	PLACE p;
	u32 number = item, before = first; // items of the run
	if (params->inner > 0) {
		CONSTANT Axis *inner = AXES(params) + params->outer;
		number = digit(&item, inner);
		before = 0;
		ROLLED
		for (u32 k = 1; k < params->inner; k++) {
			const u32 i = digit(&item, inner + k);
			d += i * (i32)inner[k].d;
			s += i * (i32)inner[k].s;
		}
		d += item * (i32)params->d;
		s += item * (i32)params->s;
	}
	const i32 phase = d & (EACH - 1), at = (i32)number * EACH - phase;
	p.d = d + at;
	p.s = s + at;
	p.begin = number == 0 && before == 0 ? phase : 0;
	const i32 end = (i32)run - at; // of the run
	p.end = (u32)MAX(MIN(end, EACH), 0);
	const i32 within = p.d & (UNIT - 1) & ~(EACH - 1); // elements of the word in front of the item
	p.alone = (before > 0 || at >= within) && end >= UNIT - within;
	return p;
}

// Across is the part of src that is read for an item that begins anywhere: it begins at a bit
// of lo and continues in hi.
typedef struct {
	PASTE(Piece, UNIT_S) lo, hi;
	u32 bit;
} PASTE(NAME, _across);

// read reads the existing elements of an item, at least one.
INLINED PASTE(NAME, _across) PASTE(NAME, _read)(GLOBAL const u8 *src, const PLACE p) {
	PASTE(NAME, _across) x;
	GLOBAL const PASTE(Piece, UNIT_S) *from = (GLOBAL const PASTE(Piece, UNIT_S) *)src;
	x.lo = from[(p.s + (i32)p.begin) >> SHIFT_OF(READ)];
	x.hi = from[(p.s + (i32)p.end - 1) >> SHIFT_OF(READ)];
	x.bit = (u32)(p.s & (READ - 1)) * SBITS;
	return x;
}

// gather finds and reads FEWER items of a given number of items, the first with the given
// index. Inlined late: inlined early, PoCL 3.1 (LLVM 15) loses the first word of some items.
DEVICE void PASTE(NAME, _gather)(u32 *raw, PLACE *place, GLOBAL const u8 *from, CONSTANT Params *params, u32 first, u32 item, u32 left, u32 run, i32 d, i32 s) {
	PASTE(Piece, ITEM_S) piece[FEWER];
	PASTE(NAME, _across) across[FEWER];
	const u32 none[4] = {0, 0, 0, 0};
	UNROLL
	for (u32 j = 0; j < FEWER; j++) { // loads first: they overlap
		place[j].d = place[j].s = 0;
		place[j].begin = place[j].end = place[j].alone = 0;
		piece[j] = PASTE(piece_, ITEM_S)(none);
		across[j].lo = across[j].hi = PASTE(piece_, UNIT_S)(none);
		across[j].bit = 0;
		if (item + j * GROUP < left) {
			place[j] = PASTE(NAME, _find)(params, first, item + j * GROUP, run, d, s);
		}
		if (place[j].begin >= place[j].end) {
			continue;
		}
		if (params->ta) {
			piece[j] = *(GLOBAL const PASTE(Piece, ITEM_S) *)(from + BYTES(place[j].s, SBITS));
		} else {
			across[j] = PASTE(NAME, _read)(from, place[j]);
		}
	}
	UNROLL
	for (u32 j = 0; j < FEWER; j++) {
		if (params->ta) {
			PASTE(words_, ITEM_S)(raw + j * RAW, piece[j]);
		} else {
			PASTE(across_, UNIT_S)(raw + j * RAW, across[j].lo, across[j].hi, across[j].bit);
		}
	}
}

// write stores a whole item.
INLINED void PASTE(NAME, _write)(GLOBAL u8 *to, const u32 *out) {
	*(GLOBAL PASTE(Piece, ITEM_D) *)to = PASTE(piece_, ITEM_D)(out);
}

// write_part stores the existing elements of an item.
INLINED void PASTE(NAME, _write_part)(GLOBAL u8 *to, const u32 *out, const PLACE p) {
	to += BYTES(p.d, DBITS);
	if (p.alone) {
		PASTE(NAME, _write)(to, out);
		return;
	}
#if ITEM_D < 32
	const u32 within = (p.d & (32 / DBITS - 1)) * DBITS; // where in a word the item begins
	if (p.begin < p.end) {
		MERGE((GLOBAL u32 *)(to - within / 8), out[0] << within, bits_between(within + p.begin * DBITS, within + p.end * DBITS));
	}
#else
	GLOBAL u32 *words = (GLOBAL u32 *)to;
	const u32 a = p.begin * DBITS, b = p.end * DBITS;
	UNROLL
	for (u32 i = 0; i < OUT; i++) {
		if (a <= 32 * i && b >= 32 * i + 32) {
			words[i] = out[i];
		}
	}
#if DBITS < 32
	const u32 first = a / 32, last = b / 32;
	u128 v;
	v.x = out[0];
	v.y = out[1 % OUT];
	v.z = out[2 % OUT];
	v.w = out[3 % OUT];
	if (a % 32 > 0) {
		MERGE(words + first, word_of(v, first), bits_between(a % 32, MIN(b - first * 32, 32)));
	}
	if (b % 32 > 0 && (a % 32 == 0 || last > first)) {
		MERGE(words + last, word_of(v, last), bits_between(0, b % 32));
	}
#endif
#endif
}

// Many describes a block whose items are contiguous, at multiples of their size on both sides:
// items [begin, end) are whole and alone, and item 0 is at to and from.
typedef struct {
	GLOBAL u8 *to;
	GLOBAL const u8 *from;
	i32 begin, end;
} PASTE(NAME, _many);

// together finds those items; there are none in blocks of several runs.
INLINED PASTE(NAME, _many) PASTE(NAME, _together)(CONSTANT Params *params, u32 first, u32 run, GLOBAL u8 *to, GLOBAL const u8 *from, i32 d, i32 s) {
	PASTE(NAME, _many) m;
	const i32 phase = d & (EACH - 1);
	m.to = to + BYTES(d - phase, DBITS);
	m.from = from + BYTES(s - phase, SBITS);
	m.begin = first > 0 ? 0 : (((d + UNIT - 1) & ~(UNIT - 1)) - d + phase) / EACH;
	m.end = params->inner > 0 || params->ta == 0 ? 0 : (((d + (i32)run) & ~(UNIT - 1)) - d + phase) / EACH;
	return m;
}

ENTRY {
	PREPARE
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 first = block_of(params, block, &d0, &s0);
		const u32 left = items_of(params, first);
		const u32 run = (u32)MIN(params->length - (params->inner > 0 ? 0 : (i64)first * params->cut * EACH), 1 << 30);
		GLOBAL u8 *to = dst + (u64)d0 / BASE * (BASE * DBITS / 8);
		GLOBAL const u8 *from = src + (u64)s0 / BASE * (BASE * SBITS / 8);
		const i32 d = (i32)d0 & (BASE - 1), s = (i32)s0 & (BASE - 1);
		const PASTE(NAME, _many) many = PASTE(NAME, _together)(params, first, run, to, from, d, s);
		for (u32 item = LOCAL_ID; item < left; item += ITEMS * GROUP) {
			if ((i32)item >= many.begin && (i32)(item + (ITEMS - 1) * GROUP) < many.end) {
				PASTE(Piece, ITEM_S) piece[ITEMS];
				u32 raw[ITEMS * RAW];
				GLOBAL const PASTE(Piece, ITEM_S) *in = (GLOBAL const PASTE(Piece, ITEM_S) *)many.from + item;
				GLOBAL u8 *at = many.to + (u64)item * (ITEM_D / 8);
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
					piece[j] = in[j * GROUP];
				}
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) {
					PASTE(words_, ITEM_S)(raw + j * RAW, piece[j]);
				}
				UNROLL
				for (u32 j = 0; j < ITEMS; j += TOGETHER) {
					u32 out[TOGETHER * OUT];
					CONVERT(out, raw + j * RAW);
					UNROLL
					for (u32 i = 0; i < TOGETHER; i++) {
						PASTE(NAME, _write)(at + (j + i) * GROUP * (ITEM_D / 8), out + i * OUT);
					}
				}
			} else {
				ROLLED
				for (u32 j = item; j < MIN(left, item + ITEMS * GROUP); j += FEWER * GROUP) {
					PLACE place[FEWER];
					u32 raw[FEWER * RAW], out[FEWER * OUT];
					PASTE(NAME, _gather)(raw, place, from, params, first, j, left, run, d, s);
					UNROLL
					for (u32 i = 0; i < FEWER; i += TOGETHER) {
						CONVERT(out + i * OUT, raw + i * RAW);
					}
					UNROLL
					for (u32 i = 0; i < FEWER; i++) {
						PASTE(NAME, _write_part)(to, out + i * OUT, place[i]);
					}
				}
			}
			TOGETHER_AGAIN(params);
		}
	}
}

#undef FEWER
#undef BASE
#undef PLACE

#include "undefs.h"
