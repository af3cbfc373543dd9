// shuffle: a permutation of short axes by way of local memory. A block is a tile of
// several axes: those that are leading in src and those that are in dst. What lies
// together in src is a row: rows are read by vectors of 16 bytes and laid into the tile
// as they are, so far from the begin of a vector as they are in src. What lies together
// in dst is a run: each of its words is put together from elements anywhere in the tile.
//
// Work-items stand side by side along a row, as many as it has vectors, and otherwise
// below each other, so that each has one vector of several rows. Long rows are cut into
// pieces. The same holds for runs and words. Tables, which are filled once per group,
// have a line for each row and run: where it begins in memory and in the tile. Another
// one says how far the elements of a run are from its begin in the tile.
//
// Axes inner are of rows. First n: vectors in a piece, d: bytes in a row, s: the step of
// axis a if it ends the row, or 0. Then the pieces, a and b where they are axes of rows,
// and the others, with steps in the tile (d) and in src (s), in bytes. Axes run are of
// runs. First n: words in a piece, d: elements in a run, s: how many an index of axis b
// counts for if that ends the run, or 0. Then as for rows, with steps in dst (s). From
// words on the axes within a run, with steps in the tile. cut is the number of rows,
// flat of runs, in pieces. extent is the size of the table of elements, length what
// makes their numbers positive. sa is where row 0 begins, from the tile's lowest byte in
// src, and da where that is, from the first element. s and d: where row 0 and run 0 begin
// in the tile. span: see below.

#define BYTES MAX(DBITS / 8, 8) // of a unit
#define SIZE (DBITS / 8)        // of an element
#define PER (BYTES / SIZE)      // elements in a unit
#define ITEMS 4
#if DBITS <= 32
#define UNIT_TYPE u32x2
#else
#define UNIT_TYPE WORD
#endif
#define PLACE(type, from, at) ((type *)((from) + (at)))

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

// line makes an entry of a table: where line i begins in memory (x, y) and in the tile
// (z), its indices along a and b, and where its piece begins, in units (w).
DEVICE u128 PASTE(NAME, _line)(CONSTANT Axis *axes, u32 count, u32 i, INDEX at, u32 begin, u32 unit) {
	u32 index[3];
	UNROLL
	for (u32 k = 0; k < 3; k++) {
		index[k] = digit(&i, axes + 1 + k);
		at += (INDEX)index[k] * (INDEX)axes[1 + k].s;
		begin += index[k] * (u32)axes[1 + k].d;
	}
	ROLLED
	for (u32 k = 4; k < count; k++) {
		const u32 x = digit(&i, axes + k);
		at += (INDEX)x * (INDEX)axes[k].s;
		begin += x * (u32)axes[k].d;
	}
	u128 line;
	line.x = (u32)at;
	line.y = (u32)((i64)at >> 32);
	line.z = begin;
	line.w = index[1] | index[2] << 8 | index[0] * unit << 16;
	return line;
}

#if FAR
#define AT(line) ((u64)line.y << 32 | line.x)
#else
#define AT(line) line.x
#endif

// Part is what of a tile there is in a block: the indices along a and b; and of a row the
// bytes [skip, end); whole: all there is.
typedef struct {
	u32 na, nb, skip, end, whole;
} PASTE(NAME, Part);

// cut reports whether a line is not there in this block.
DEVICE u32 PASTE(NAME, _cut)(PASTE(NAME, Part) part, u128 line) {
	return ((line.w & 255) >= part.na) | ((line.w >> 8 & 255) >= part.nb);
}

// load fills the tile, whose first byte is from[phase]. plain: rows are whole, and
// begin at vectors.
INLINED void PASTE(NAME, _load)(u32 plain, u32 loose, PASTE(NAME, Part) part, SHARED_POINTER u8 *tile, SHARED_POINTER const u128 *rows, u32 i, u32 step, u32 count, GLOBAL const u8 *from, u32 phase, u32 across) {
	// A vector has some of a row if its last byte is between the row's first one and
	// 15 bytes behind the last.
	const u32 ahead = 16 * across + 15 - part.skip, bytes = part.end - part.skip + 15;
	for (; i < count; i += ITEMS * step) {
		u128 value[ITEMS];
		u32 to[ITEMS];
		UNROLL
		for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
			const u32 k = i + j * step;
			to[j] = 1;
			if (k < count) {
				const u128 line = rows[k];
				if (plain) {
					to[j] = line.z;
					value[j] = *PLACE(GLOBAL const u128, from, AT(line));
				} else {
					const u32 first = (line.x + phase) & 15; // of the row's bytes, in a vector
					if ((line.w >> 16) + ahead - first < bytes && (part.whole || !PASTE(NAME, _cut)(part, line))) {
						to[j] = line.z + phase - first;
						value[j] = *PLACE(GLOBAL const u128, from, AT(line) + phase - first);
					}
				}
			}
		}
		UNROLL
		for (u32 j = 0; j < ITEMS; j++) {
			if (to[j] == 1) {
			} else if (loose) {
				SHARED_POINTER u32 *words = PLACE(SHARED_POINTER u32, tile, to[j]);
				words[0] = value[j].x;
				words[1] = value[j].y;
				words[2] = value[j].z;
				words[3] = value[j].w;
			} else {
				*PLACE(SHARED_POINTER u128, tile, to[j]) = value[j];
			}
		}
	}
}

// The elements at places of the tile, and a unit of them. apart: how many bytes they are
// apart, if that is known; at[0] is in from then.
#define ELEMENT(j) (*PLACE(SHARED_POINTER const WORD, from, apart ? (i64)(j) * apart : at[j]))
#if DBITS == 8
#define UNIT(v) \
	v.x = pack_bytes(ELEMENT(0), ELEMENT(1), ELEMENT(2), ELEMENT(3)); \
	v.y = pack_bytes(ELEMENT(4), ELEMENT(5), ELEMENT(6), ELEMENT(7))
#elif DBITS == 16
#define UNIT(v) \
	v.x = pack_halves(ELEMENT(0), ELEMENT(1)); \
	v.y = pack_halves(ELEMENT(2), ELEMENT(3))
#elif DBITS == 32
#define UNIT(v) \
	v.x = ELEMENT(0); \
	v.y = ELEMENT(1)
#else
#define UNIT(v) v = ELEMENT(0)
#endif

// places finds where in the tile the elements of a unit are, which begins at the given
// one of a run's piece.
INLINED void PASTE(NAME, _places)(i64 apart, SHARED_POINTER const short *low, i32 first, i64 *at) {
	SHARED_POINTER const short *from = low + (u32)(first + PER);
	UNROLL
	for (u32 j = 0; j < PER; j++) {
		if (j == 0 || !apart) {
			at[j] = from[j];
		}
	}
}

// store writes runs from the tile. plain: all units are full; even: runs begin at one
// byte of a unit.
INLINED void PASTE(NAME, _store)(u32 plain, u32 even, i64 apart, PASTE(NAME, Part) part, SHARED_POINTER const u8 *tile, SHARED_POINTER const u128 *runs, SHARED_POINTER const short *low, u32 i, u32 step, u32 count, GLOBAL u8 *to, u32 phase, u32 across, u32 length) {
	const u32 full = length < PER ? 0 : length - PER + 1;
	i32 first = (i32)(PER * across) - (i32)(phase / SIZE); // element of the run's piece
	u32 last = phase;
	i64 at[PER];
	PASTE(NAME, _places)(apart, low, first, at);
	for (; i < count; i += step) {
		const u128 line = runs[i];
		if (!plain && !part.whole && PASTE(NAME, _cut)(part, line)) {
			continue;
		}
		GLOBAL u8 *unit = to + AT(line);
		if (!even) {
			const u32 shift = (line.x + phase) % BYTES;
			unit = to + (AT(line) + phase - shift);
			if (shift != last) { // pieces of a run have it in common
				last = shift;
				first = (i32)(PER * across) - (i32)(shift / SIZE);
				PASTE(NAME, _places)(apart, low, first, at);
			}
		}
		const u32 element = (u32)first + (line.w >> 16);
		SHARED_POINTER const u8 *from = tile + (plain ? (i64)line.z : (i64)(i32)line.z); // below 0: a piece behind the run's end
		from += apart ? at[0] : 0;
		if (plain || element < full) {
			UNIT_TYPE value;
			UNIT(value);
			*(GLOBAL UNIT_TYPE *)unit = value;
		} else {
			UNROLL
			for (u32 j = 0; j < PER; j++) {
				if (element + j < length) {
					((GLOBAL WORD *)unit)[j] = ELEMENT(j);
				}
			}
		}
	}
}

#define STORE(plain, even, apart, phase) \
	PASTE(NAME, _store)(plain, even, apart, part, from, runs, low, dLine, dLines, dCount, to, phase, dAcross, length)

ENTRY {
	SHARED(u128, tile, VECTORS);
	SHARED(u128, rows, TABLE);
	SHARED(u128, runs, TABLE);
	SHARED(short, low, LOW);
	CONSTANT Axis *inner = AXES(params) + params->outer;
	CONSTANT Axis *run = inner + params->inner;
	const u32 sCount = params->cut, dCount = params->flat, how = params->span;
	for (u32 i = LOCAL_ID; i < sCount; i += GROUP) {
		rows[i] = PASTE(NAME, _line)(inner, params->inner, i, (INDEX)params->sa, (u32)params->s, 16 * inner->n);
	}
	for (u32 i = LOCAL_ID; i < dCount; i += GROUP) {
		runs[i] = PASTE(NAME, _line)(run, params->words, i, 0, (u32)params->d, PER * run->n);
	}
	ROLLED
	for (u32 i = LOCAL_ID; i < params->extent; i += GROUP) { // from PER elements in front of the run on
		u32 x = i + (u32)params->length, at = 0;
		if (params->words < params->run) {
			ROLLED
			for (u32 k = params->words; k < params->run - 1; k++) {
				at += digit(&x, run + k) * (u32)run[k].d;
			}
			at += (x - PER) * (u32)run[params->run - 1].d;
		}
		low[i] = (short)at;
	}
	u32 sLine = LOCAL_ID, dLine = LOCAL_ID;
	const u32 sAcross = digit(&sLine, inner), dAcross = digit(&dLine, run);
	const u32 sLines = quotient(GROUP, inner), dLines = quotient(GROUP, run);
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
		part.whole = (lessA | lessB) == 0;
		const i64 s0 = t.s * SIZE + params->da;
		const u32 place = (u32)s0 & 15;
		if (sLine < sLines) {
			GLOBAL const u8 *from = src + (s0 - place + 16 * sAcross);
			SHARED_POINTER u8 *to = (SHARED_POINTER u8 *)tile + 16 * sAcross;
			if (part.whole && how & ALIGNED) {
				PASTE(NAME, _load)(1, how & LOOSE, part, to, rows, sLine, sLines, sCount, from, 0, sAcross);
			} else {
				PASTE(NAME, _load)(0, how & LOOSE, part, to, rows, sLine, sLines, sCount, from, place, sAcross);
			}
		}
		BARRIER();
		if (dLine < dLines) {
			const i64 d0 = t.d * SIZE;
			const u32 phase = (u32)d0 % BYTES, length = (u32)run->d - (how & RUN_A ? lessA : lessB) * (u32)run->s;
			GLOBAL u8 *to = dst + (d0 - phase + BYTES * dAcross);
			SHARED_POINTER const u8 *from = (SHARED_POINTER const u8 *)tile + place;
#if DBITS <= 16
			if (how & THREES) {
				if (part.whole && how & FULL) {
					STORE(1, 1, 3 * SIZE, 0);
				} else {
					STORE(0, 0, 3 * SIZE, phase);
				}
			} else
#endif
			if (part.whole && how & FULL) {
				STORE(1, 1, 0, 0);
			} else if (how & EVEN) {
				STORE(0, 1, 0, phase);
			} else {
				STORE(0, 0, 0, phase);
			}
		}
		BARRIER(); // before the next block's loads
	}
}

#undef PER
#undef BYTES
#undef SIZE
#undef ITEMS
#undef UNIT
#undef ELEMENT
#undef PLACE
#undef SAME
#undef ROW_B
#undef BACKWARDS
#undef RUN_A
#undef EVEN
#undef FULL
#undef ALIGNED
#undef LOOSE
#undef THREES
#undef STORE
#undef UNIT_TYPE
#undef AT
