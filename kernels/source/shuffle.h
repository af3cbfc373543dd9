// shuffle: a permutation of short axes through local memory. A block is a tile of several axes:
// those that are innermost in src and those that are innermost in dst. A row is a part that is
// contiguous in src: rows are read by vectors of 16 bytes and stored unchanged in the tile, at
// the same offset from the begin of a vector as in src. A run is a part that is contiguous in
// dst: each of its units, of 8 or 16 bytes, is assembled from elements anywhere in the tile.
//
// Work-items are arranged along a row, as many as it has vectors, and then across rows, so that
// each has one vector of several rows. Long rows are cut into pieces. The same holds for runs
// and units, except that work-items may be arranged first along runs, then across them, and
// then along runs again. A unit of two pieces belongs to the second one. Tables, which are
// filled once per group, have a line for each piece of a row or run: where it begins in memory
// and in the tile. Another one has the offsets in the tile of the elements of a run's piece
// from its begin.
//
// Axes inner are of rows. First n: vectors in a piece, d: bytes in a row, s: the step of
// axis a if it ends the row, or 0. Then the pieces, n: bytes of one, and a and b where
// they are axes of rows, and the others, with steps in the tile (d) and in src (s), in
// bytes. Axes run are of runs. First n: units side by side, d: elements in a run, s: how many
// elements an index of axis b has if that axis ends the run, or 0. Then n: lines below each
// other, and the steps of a piece, which has db elements in sb units. Then as for rows, with
// steps in dst (s). From words on the axes within a run, with steps in the tile. cut is the
// number of rows, flat of runs, in pieces. extent is the size of the table of elements, length
// an offset that makes their indices positive. sa is where row 0 begins, from the tile's lowest
// byte in src, and da the place of that byte, from the first element. s and d: where row 0 and
// run 0 begin in the tile. span: see below.

#include "kernel.h"

#define SIZE (DBITS / 8) // of an element
#if DBITS == 8
#define BYTES 8 // of a unit
typedef u32x2 PASTE(NAME, Unit);
#else
#define BYTES 16
typedef u128 PASTE(NAME, Unit);
#endif
#define PER (BYTES / SIZE) // elements in a unit
#define ITEMS 4
#define LOCAL PASTE(local_, DBITS)
#define AS(type, from, at) ((type *)((from) + (at)))

// Bits of span: a and b are one axis, a; it is b that ends a row, which its axis goes
// through backwards; it is a that ends a run; all runs of a block begin at one byte of a
// word; all of their units are full; rows begin at vectors; in the
// tile they begin at words only; a unit's elements are every third one of the tile.
#define SAME 1
#define ROW_B 2
#define BACKWARDS 4
#define RUN_A 8
#define EVEN 16
#define FULL 32
#define ALIGNED 64
#define LOOSE 128
#define THREES 256

// line makes an entry of a table: where line i, of pieces of a size, begins in memory (x,
// y) and in the tile (z), its indices along a and b, and where its piece begins (w).
DEVICE u128 PASTE(NAME, _line)(CONSTANT Axis *axes, u32 count, u32 i, INDEX at, u32 begin, u32 size) {
	u32 index[2];
	UNROLL
	for (u32 k = 0; k < 2; k++) {
		index[k] = digit(&i, axes + 2 + k);
		at += (INDEX)index[k] * (INDEX)axes[2 + k].s;
		begin += index[k] * (u32)axes[2 + k].d;
	}
	ROLLED
	for (u32 k = 4; k < count; k++) {
		const u32 x = digit(&i, axes + k);
		at += (INDEX)x * (INDEX)axes[k].s;
		begin += x * (u32)axes[k].d;
	}
	at += (INDEX)i * (INDEX)axes[1].s; // what is left is the piece
	u128 line;
	line.x = (u32)at;
	line.y = (u32)((i64)at >> 32);
	line.z = begin + i * (u32)axes[1].d;
	line.w = index[0] | index[1] << 8 | i * size << 16;
	return line;
}

#if FAR
#define AT(line) ((u64)line.y << 32 | line.x)
#else
#define AT(line) line.x
#endif

// Part describes the existing part of a tile: the indices along a and b; the bytes [skip, end)
// of a row, the length elements of a run, in which whole units begin with an element below
// full; whole: the tile is complete. A unit that begins behind the element most of a piece of a
// run belongs to the next piece.
typedef struct {
	u32 na, nb, skip, end, length, full, whole;
	i32 most;
} PASTE(NAME, Part);

// Place is a work-item's place: line, the first of every step lines that it does, of the given
// number in all, and how many vectors or units precede its own.
typedef struct {
	u32 line, step, count, across;
} PASTE(NAME, Place);

// cut reports whether a line is absent from this block.
DEVICE u32 PASTE(NAME, _cut)(PASTE(NAME, Part) part, u128 line) {
	return ((line.w & 255) >= part.na) | ((line.w >> 8 & 255) >= part.nb);
}

// load fills the tile, whose first byte is from[phase]. plain: rows are complete and begin at
// vectors.
INLINED void PASTE(NAME, _load)(u32 plain, u32 loose, PASTE(NAME, Part) part, PASTE(NAME, Place) place, SHARED_POINTER u8 *tile, SHARED_POINTER const u128 *rows, GLOBAL const u8 *from, u32 phase) {
	// A vector has a part of a row if its last byte is between the row's first one and 15 bytes
	// behind the last.
	const u32 ahead = 16 * place.across + 15 - part.skip, bytes = part.end - part.skip + 15;
	for (u32 i = place.line; i < place.count; i += ITEMS * place.step) {
		u128 value[ITEMS];
		u32 to[ITEMS];
		UNROLL
		for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
			const u32 k = i + j * place.step;
			to[j] = 1;
			if (k < place.count) {
				const u128 line = rows[k];
				if (plain) {
					to[j] = line.z;
					value[j] = *AS(GLOBAL const u128, from, AT(line));
				} else {
					const u32 first = (line.x + phase) & 15; // of the row's bytes, in a vector
					if ((line.w >> 16) + ahead - first < bytes && (part.whole || !PASTE(NAME, _cut)(part, line))) {
						to[j] = line.z + phase - first;
						value[j] = *AS(GLOBAL const u128, from, AT(line) + phase - first);
					}
				}
			}
		}
		UNROLL
		for (u32 j = 0; j < ITEMS; j++) {
			if (to[j] == 1) {
			} else if (loose) {
				SHARED_POINTER u32 *words = AS(SHARED_POINTER u32, tile, to[j]);
				words[0] = value[j].x;
				words[1] = value[j].y;
				words[2] = value[j].z;
				words[3] = value[j].w;
			} else {
				*AS(SHARED_POINTER u128, tile, to[j]) = value[j];
			}
		}
	}
}

// A word of a unit, from elements at places of the tile. apart: their distance in bytes, if
// known; from is the first element's address then.
#define ELEMENT(j) LOCAL(from + (apart ? (i32)(j) * apart : at[j]))
#if DBITS == 8
#define UNIT_WORD(k) pack_bytes(ELEMENT(4 * k), ELEMENT(4 * k + 1), ELEMENT(4 * k + 2), ELEMENT(4 * k + 3))
#elif DBITS == 16
#define UNIT_WORD(k) pack_halves(ELEMENT(2 * k), ELEMENT(2 * k + 1))
#else
#define UNIT_WORD(k) ELEMENT(k)
#endif

INLINED PASTE(NAME, Unit) PASTE(NAME, _unit)(Local from, i32 apart, const i32 *at) {
#if DBITS == 128
	return ELEMENT(0);
#else
	PASTE(NAME, Unit) v;
#if DBITS == 64
	const u64 low = ELEMENT(0), high = ELEMENT(1);
	v.x = (u32)low;
	v.y = (u32)(low >> 32);
	v.z = (u32)high;
	v.w = (u32)(high >> 32);
#else
	v.x = UNIT_WORD(0);
	v.y = UNIT_WORD(1);
#if DBITS > 8
	v.z = UNIT_WORD(2);
	v.w = UNIT_WORD(3);
#endif
#endif
	return v;
#endif
}

// The table of elements has one for every place in a unit, so that adjacent work-items read
// adjacent entries. Units begin anywhere: the second half repeats the tables of the first, one
// unit further on.
#define COLUMNS (LOW / PER + 2)
#define COLUMN(i) ((i) % PER * COLUMNS + (i) / PER)

// places finds the places in the tile of the elements of a unit: unit i of a run's piece, whose
// first unit begins with the given element.
INLINED void PASTE(NAME, _places)(i32 apart, SHARED_POINTER const short *low, u32 before, u32 across, i32 *at) {
	SHARED_POINTER const short *from = low + ((PER - before) * COLUMNS + across);
	UNROLL
	for (u32 j = 0; j < PER; j++) {
		if (j == 0 || !apart) {
			at[j] = from[j * COLUMNS];
		}
	}
}

// store writes the whole units of runs from the tile. plain: all units are; even: runs and
// their pieces begin at one byte of a unit.
INLINED void PASTE(NAME, _store)(u32 plain, u32 even, i32 apart, PASTE(NAME, Part) part, PASTE(NAME, Place) place, Local tile, SHARED_POINTER const u128 *runs, SHARED_POINTER const short *low, GLOBAL u8 *to, u32 phase) {
	u32 before = phase / SIZE; // elements of a piece's first unit that belong to the previous piece
	i32 at[PER];
	PASTE(NAME, _places)(apart, low, before, place.across, at);
	for (u32 i = place.line; i < place.count; i += place.step) {
		const u128 line = runs[i];
		const u32 shift = even ? before * SIZE : (line.x + phase) % BYTES;
		const u32 first = PER * place.across - shift / SIZE; // of the piece
		const u32 missing = !plain && ((!part.whole && PASTE(NAME, _cut)(part, line)) | (first + (line.w >> 16) >= part.full) | (!even && (i32)first > part.most));
		if (!missing) {
			GLOBAL u8 *unit = to + AT(line);
			if (!even) {
				unit = to + (AT(line) + phase - shift);
				if (shift / SIZE != before) { // the same for all lines if all begin at one byte
					before = shift / SIZE;
					PASTE(NAME, _places)(apart, low, before, place.across, at);
				}
			}
			const Local from = tile + ((i32)line.z + (apart ? at[0] : 0));
			*(GLOBAL PASTE(NAME, Unit) *)unit = PASTE(NAME, _unit)(from, apart, at);
		}
	}
}

#if PER > 1
// ends writes the partial units at a run's ends: in every line, the first unit and the unit in
// which the run ends, if the line has them. A work-item has some of a unit's elements.
#define SHARE MIN(PER, 4)
#define SHARES (PER / SHARE)
INLINED void PASTE(NAME, _ends)(PASTE(NAME, Part) part, u32 count, Local tile, SHARED_POINTER const u128 *runs, SHARED_POINTER const short *low, GLOBAL u8 *to, u32 phase) {
	ROLLED
	for (u32 i = LOCAL_ID; i < 2 * SHARES * count; i += GROUP) {
		const u128 line = runs[i / (2 * SHARES)];
		const i32 before = (i32)((line.x + phase) % BYTES / SIZE), begin = -(i32)(line.w >> 16), end = begin + (i32)part.length; // of the run
		const u32 last = i & SHARES;
		i32 first = -before; // of the unit
		if (last) {
			first += (i32)((u32)(end + before) / PER * PER);
		}
		const u32 here = last ? (end + before > 0) & (first != end) & (first >= begin) & (first <= part.most) : (begin >= 0) & (before != 0);
		const i32 until = here && (part.whole || !PASTE(NAME, _cut)(part, line)) ? end : begin; // end of the part that is written
		first += (i32)(i % SHARES * SHARE);
		GLOBAL WORD *unit = (GLOBAL WORD *)(to + (i64)AT(line)) + first;
		const Local from = tile + (i32)line.z;
		UNROLL
		for (i32 j = 0; j < SHARE; j++) {
			if (first + j >= begin && first + j < until) {
				unit[j] = (WORD)LOCAL(from + low[COLUMN((u32)(first + j + PER))]);
			}
		}
	}
}
#endif

#define STORE(plain, even, apart, phase) \
	PASTE(NAME, _store)(plain, even, apart, part, out, from, runs, low, to + BYTES * out.across, phase)

ENTRY {
	SHARED(u128, tile, VECTORS);
	SHARED(u128, rows, TABLE);
	SHARED(u128, runs, TABLE);
	SHARED(short, low, 2 * PER * COLUMNS);
	CONSTANT Axis *inner = AXES(params) + params->outer;
	CONSTANT Axis *run = inner + params->inner;
	// Mesa 22.3 reuses a load of a loop's condition behind the loop, where work-items that left
	// the loop early have 0.
	const u32 how = params->span, sCount = params->cut, dCount = params->flat, extent = params->extent;
	for (u32 i = LOCAL_ID; i < sCount; i += GROUP) {
		rows[i] = PASTE(NAME, _line)(inner, params->inner, i, (INDEX)params->sa, (u32)params->s, inner[1].n);
	}
	for (u32 i = LOCAL_ID; i < dCount; i += GROUP) {
		runs[i] = PASTE(NAME, _line)(run, params->words, i, 0, (u32)params->d, (u32)params->db);
	}
	ROLLED
	for (u32 i = LOCAL_ID; i < extent; i += GROUP) { // from PER elements before the run on
		u32 x = i + (u32)params->length, at = 0;
		if (params->words < params->run) {
			ROLLED
			for (u32 k = params->words; k < params->run - 1; k++) {
				at += digit(&x, run + k) * (u32)run[k].d;
			}
			at += (x - PER) * (u32)run[params->run - 1].d;
		}
		low[COLUMN(i)] = (short)at;
		if (i >= PER) {
			low[COLUMN(i - PER) + PER * COLUMNS] = (short)at;
		}
	}
	PASTE(NAME, Place) in, out;
	u32 line = LOCAL_ID;
	in.across = digit(&line, inner);
	in.line = line;
	in.step = quotient(GROUP, inner);
	in.count = in.line < in.step ? sCount : 0;
	u32 rest = LOCAL_ID;
	out.across = digit(&rest, run);
	out.line = digit(&rest, run + 1);
	out.across += rest * run->n;
	out.step = run[1].n;
	out.count = out.across < (u32)params->sb ? dCount : 0;
	BARRIER();
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Tile t = tile_of(params, block, dBase, sBase);
		const u32 lessA = params->ta - t.na, lessB = how & SAME ? lessA : params->tb - t.nb;
		const u32 less = (how & ROW_B ? lessB : lessA) * (u32)inner->s;
		PASTE(NAME, Part) part;
		part.na = t.na;
		part.nb = how & SAME ? t.na : t.nb;
		part.skip = how & BACKWARDS ? less : 0;
		part.end = part.skip + (u32)inner->d - less;
		part.length = (u32)run->d - (how & RUN_A ? lessA : lessB) * (u32)run->s;
		part.full = part.length < PER ? 0 : part.length - PER + 1;
		part.most = (i32)params->db - PER;
		part.whole = (lessA | lessB) == 0;
		const i64 s0 = t.s * SIZE + params->da;
		const u32 place = (u32)s0 & 15;
		GLOBAL const u8 *lowest = src + (s0 - place + 16 * in.across);
		SHARED_POINTER u8 *slot = (SHARED_POINTER u8 *)tile + 16 * in.across;
		if (part.whole && how & ALIGNED) {
			PASTE(NAME, _load)(1, how & LOOSE, part, in, slot, rows, lowest, 0);
		} else {
			PASTE(NAME, _load)(0, how & LOOSE, part, in, slot, rows, lowest, place);
		}
		BARRIER();
		const i64 d0 = t.d * SIZE;
		const u32 phase = (u32)d0 % BYTES;
		GLOBAL u8 *to = dst + (d0 - phase);
		const Local from = local_of(tile) + place;
		const u32 full = part.whole && how & FULL;
		if (out.line < out.count) {
#if DBITS <= 16
			if (how & THREES) {
				if (full) {
					STORE(1, 1, 3 * SIZE, 0);
				} else {
					STORE(0, 0, 3 * SIZE, phase);
				}
			} else
#endif
			if (full) {
				STORE(1, 1, 0, 0);
			} else if (how & EVEN) {
				STORE(0, 1, 0, phase);
			} else {
				STORE(0, 0, 0, phase);
			}
		}
#if PER > 1
		if (!full) {
			PASTE(NAME, _ends)(part, dCount, from, runs, low, to + phase, phase);
		}
#endif
		BARRIER(); // before the next block's loads
	}
}

#undef SIZE
#undef BYTES
#undef PER
#undef ITEMS
#undef LOCAL
#undef AS
#undef SAME
#undef ROW_B
#undef BACKWARDS
#undef RUN_A
#undef EVEN
#undef FULL
#undef ALIGNED
#undef LOOSE
#undef THREES
#undef AT
#undef ELEMENT
#undef UNIT_WORD
#undef COLUMNS
#undef COLUMN
#undef SHARE
#undef SHARES
#undef STORE
