// chunks: the frame of forms on parallel targets whose items are chunks (parts.h). The
// first and the last one of a run may be the run's only in part.
//
// A form goes before it (files in source.go) and defines
//
//	LOADED      a type: what is read of src for a chunk
//	LOAD(c)     reads it, of a Chunk c (parts.h): slots [c.a, c.b) are wanted
//	MAKE(c, x)  makes a u128 of it; what is in other slots does not matter
//	ROWS        1: a chunk is put together from parts of rows, each by LOAD and MAKE;
//	            0: the form itself knows where the elements of several axes are
//
// or, if rows are dense in src, too, forwards or (STEP is -1) backwards,
//
//	OF_BITS(v)  makes a u128 of the next 128 bits of src; where a chunk of 16 bytes would
//	            need more, chunks are smaller
//
// They see src, params, lo and hi. A 16-byte word of src is read only if one of its bits is
// wanted. The plan is planChunks'.

#define PER (CHUNK / DBITS)

#ifdef OF_BITS

// place is where the bits are that make slots [a, b) of a chunk.
DEVICE Place PASTE(NAME, _place)(GLOBAL const u8 *src, const Chunk c, i32 a, i32 b) {
#if STEP < 0
	return place_of(src, (c.s - c.e + 1 - PER) * SBITS, (PER - b) * SBITS, (PER - a) * SBITS);
#else
	return place_of(src, (c.s + c.e) * SBITS, a * SBITS, b * SBITS);
#endif
}

#define FOUND Place
#define FIND(c) PASTE(NAME, _place)(src, c, c.a, c.b)
#define FORWARD(p, steps) (p).from += steps
#define LOADED Pair
#define READ(p) pair_at(p)
#define NOTHING no_pair()
#define LOAD(c) READ(FIND(c))
#define MAKE(c, x) OF_BITS(shifted(x))
#define ROWS 1

#if !PERIODIC
// Words of src from the place of a work-item's chunk to that of its next one.
#define AHEAD ((STEP < 0 ? -GROUP : GROUP) * PER * SBITS / 128)

// inside writes the whole chunks of a block's part of one run, and returns the first and
// the next behind them.
INLINED u32 PASTE(NAME, _inside)(GLOBAL u8 *dst, GLOBAL const u8 *src, CONSTANT Params *params, const Part part, u32 *after) {
	const u32 phase = (u32)part.d & (PER - 1), first = phase > 0;
	// A pass begins with a sector: one that two passes write a part of each would cost memory much.
	const u32 before = (u32)((u64)part.d / PER) & (256 / CHUNK - 1);
	Chunk c = chunk_of(params, part, LOCAL_ID, PER);
	c.d -= before;
	c.e -= (i32)(before * PER);
	GLOBAL u32 *to = (GLOBAL u32 *)dst + c.d * (CHUNK / 32);
	Place p = PASTE(NAME, _place)(src, c, 0, PER);
	*after = MAX(MIN((part.length + phase) / PER, part.items), first);
	for (i32 item = (i32)(LOCAL_ID - before); item < (i32)*after; item += GROUP) {
		if (item >= (i32)first) {
			const Pair x = pair_at(p);
			LOADED_WHOLE();
			PASTE(NAME, _store)(to, OF_BITS(shifted(x)), 0, CHUNK);
		}
		p.from += AHEAD;
		to += GROUP * (CHUNK / 32);
	}
	return first;
}

#undef AHEAD
#endif
#endif

#if PERIODIC

#define SOME 4 // periods of which elements are read before any is stored

#if SBITS > 0
// read reads a chunk's pieces, of those asked for, and puts them together.
INLINED u128 PASTE(NAME, _read)(GLOBAL const u8 *src, const Piece p, const Piece q, const FOUND f, const FOUND g, u32 one, u32 other) {
	LOADED x = NOTHING, y = x;
	u128 next;
	next.x = next.y = next.z = next.w = 0;
	if (one) {
		x = READ(f);
	}
	LOADED_WHOLE();
	if (other) {
		y = READ(g);
		LOADED_WHOLE();
		next = MAKE(q.chunk, y);
	}
	return with_above(MAKE(p.chunk, x), next, (u32)q.chunk.a * DBITS);
}
#endif

#ifdef OF_BITS
#define AT_ONCE 4           // periods whose words are read before any is stored
#define AT_LEAST (16 * PER) // elements of a row: ends of shorter ones are too many to be waited for

// together writes the chunks that a block has in all of its periods, if it returns 1. A chunk is
// cut from two words of src: a work-item reads the first, and its neighbour gives it the second.
// Where the neighbour's is another row, or none, it is read, too. i is the row of the first piece.
INLINED u32 PASTE(NAME, _together)(SHARED_POINTER u128 *words, GLOBAL u32 **to, CONSTANT Params *params, const Piece p, const Piece q, Place *f, Place *g, u32 item, u32 i, u32 periods, u32 all) {
	const i64 dStep = params->da * (CHUNK / 32), sStep = params->sa;
	const u32 turns = sStep == 0 || periods < AT_ONCE || params->length < AT_LEAST ? 0 : periods;
	const u32 step = params->ta, rows = params->na;
#if STEP < 0
	const u32 given = LOCAL_ID > 0 && p.chunk.e >= PER, neighbour = LOCAL_ID - 1;
#else
	const u32 neighbour = LOCAL_ID + 1;
	const u32 given = LOCAL_ID + 1 < GROUP && item + 1 < params->extent && p.chunk.e + (params->span > 0 ? PER + 1 : 2 * PER) <= (i32)params->length;
#endif
	const u32 more = f->last > 0 && !given, two = q.row != NO_ROW, gives = p.chunk.a == 0;
	for (u32 k = 0; k < turns; k += AT_ONCE) {
		if (k + AT_ONCE > periods) { // the last ones, of which some are done again
			const i32 again = (i32)(periods - k) - AT_ONCE;
			f->from += again * sStep;
			if (all) {
				g->from += again * sStep;
				*to += again * dStep;
			}
			i += again * (i32)step;
		}
		if (all) {
			u128 word[AT_ONCE];
			GLOBAL const u128 *at = f->from + f->first;
			UNROLL
			for (u32 n = 0; n < AT_ONCE; n++, at += sStep) {
				word[n] = *at;
			}
			LOADED_WHOLE();
			UNROLL
			for (u32 n = 0; n < AT_ONCE; n++) {
				words[n * GROUP + LOCAL_ID] = word[n];
			}
		} else if (gives) { // to one that has all
			GLOBAL const u128 *at = f->from + f->first;
			ROLLED
			for (u32 n = 0; n < AT_ONCE; n++, at += sStep) {
				if (i + n * step < rows) {
					words[n * GROUP + LOCAL_ID] = *at;
				}
			}
		}
		BARRIER();
		Local own = local_of(words + LOCAL_ID), other = local_of(words + (given ? neighbour : LOCAL_ID));
		ROLLED
		for (u32 n = 0; n < (all ? AT_ONCE : 0); n++) {
			Pair x;
			x.lo = local_128(own);
			x.hi = local_128(other);
			if (LIKELY(more)) { // in line: work-items that skip it wait for the others
				x.hi = f->from[1];
			}
			x.shift = f->shift;
			LOADED_WHOLE();
			u128 value = OF_BITS(shifted(x));
			if (LIKELY(two)) {
				const Pair y = pair_at(*g);
				LOADED_WHOLE();
				value = with_above(value, OF_BITS(shifted(y)), (u32)q.chunk.a * DBITS);
			}
			PASTE(NAME, _store)(*to, value, 0, CHUNK);
			own += GROUP * 16;
			other += GROUP * 16;
			f->from += sStep;
			g->from += sStep;
			*to += dStep;
		}
		BARRIER(); // before the next words
		i += AT_ONCE * step;
		if (!all) {
			f->from += AT_ONCE * sStep;
		}
	}
	if (!all) { // what it goes on with is where it was: copies would take registers
		f->from -= turns * sStep;
	}
	return turns > 0 && all;
}
#endif

ENTRY {
#ifdef OF_BITS
	SHARED(u128, words, AT_ONCE * GROUP);
#endif
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d = dBase, s = sBase;
		const u32 first = block_of(params, block, &d, &s), item = first * params->cut + LOCAL_ID;
		u32 period = quotient(block, AXES(params));
		period = digit(&period, AXES(params) + 1) * params->tb;
		const u32 periods = MIN(params->tb, params->nb - period), rows = params->na, step = params->ta;
		Piece p, q;
		q.row = NO_ROW;
		if (params->span > 0) {
			p = joined_of(params, item, d, s, PER, &q);
		} else {
			p = apart_of(params, item, d, s, PER);
			q.chunk = p.chunk;
			q.chunk.a = q.chunk.b;
		}
		if (item >= params->extent) {
			p.row = q.row = NO_ROW;
		}
		const u32 two = q.row != NO_ROW;
		u32 i = p.row != NO_ROW ? p.row + period * step : NO_ROW, j = two ? q.row + period * step : NO_ROW;
		GLOBAL u32 *to = (GLOBAL u32 *)dst + p.chunk.d * (CHUNK / 32);
		const i64 dStep = params->da * (CHUNK / 32), sStep = params->sa;
		u128 value;
		value.x = value.y = value.z = value.w = 0;
#if SBITS > 0
		FOUND f = FIND(p.chunk), g = FIND(q.chunk);
#else
		value = MAKE(p.chunk, LOAD(p.chunk));
#endif
		const u32 more = (periods - 1) * step;
		const u32 whole = p.chunk.a == 0 && q.chunk.b == PER;
		const u32 all = whole && both_in(i, i + more, rows) && (!two || both_in(j, j + more, rows));
#ifdef OF_BITS
		if (PASTE(NAME, _together)(words, &to, params, p, q, &f, &g, item, i, periods, all)) {
			continue;
		}
#endif
		if (p.row == NO_ROW) {
			continue;
		}
		if (all) {
			u32 k = 0;
#if SBITS > 0 && !defined(OF_BITS)
			for (; sStep != 0 && k + SOME <= periods; k += SOME) {
				LOADED x[SOME], y[SOME];
				UNROLL
				for (u32 n = 0; n < SOME; n++) {
					x[n] = y[n] = READ(f);
					if (two) {
						y[n] = READ(g);
					}
					FORWARD(f, sStep);
					FORWARD(g, sStep);
				}
				UNROLL
				for (u32 n = 0; n < SOME; n++, to += dStep) {
					PASTE(NAME, _store)(to, with_above(MAKE(p.chunk, x[n]), MAKE(q.chunk, y[n]), (u32)q.chunk.a * DBITS), 0, CHUNK);
				}
			}
#endif
			const u32 same = SBITS == 0 || sStep == 0 ? periods : 1; // periods of the same chunk
			for (; k < periods; k += same) {
#if SBITS > 0
				value = PASTE(NAME, _read)(src, p, q, f, g, 1, two);
				FORWARD(f, sStep);
				FORWARD(g, sStep);
#endif
				for (u32 each = 0; each < same; each++, to += dStep) {
					PASTE(NAME, _store)(to, value, 0, CHUNK);
				}
			}
			continue;
		}
		for (u32 k = 0; k < periods; k++, to += dStep, i += step, j += step) {
			const u32 one = i < rows, other = j < rows;
			if (one | other) {
#if SBITS > 0
				value = PASTE(NAME, _read)(src, p, q, f, g, one, other);
#endif
				PASTE(NAME, _store)(to, value, (u32)(one ? p.chunk.a : q.chunk.a) * DBITS, (u32)(other ? q.chunk.b : p.chunk.b) * DBITS);
			}
#if SBITS > 0
			FORWARD(f, sStep);
			FORWARD(g, sStep);
#endif
		}
	}
}

#else

ENTRY {
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Part part = part_of(params, block, dBase, sBase, PER);
		u32 done = 0, after = 0; // chunks from the one to the other are written
#ifdef OF_BITS
		if (params->words == 0 && params->run <= 1) {
			done = PASTE(NAME, _inside)(dst, src, params, part, &after);
		}
#endif
		const u32 skip = after - done, left = part.items - skip;
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Chunk c = chunk_of(params, part, item < done ? item : item + skip, PER);
			GLOBAL u32 *to = (GLOBAL u32 *)dst + c.d * (CHUNK / 32);
			const u32 from = (u32)c.a * DBITS, end = (u32)c.b * DBITS;
			if (c.a >= c.b) {
				continue;
			}
#if ROWS
			u128 value;
			value.x = value.y = value.z = value.w = 0;
			while (c.a < c.b) {
				const Chunk row = params->run > 1 ? row_of(params, c) : c;
				const LOADED x = LOAD(row);
				LOADED_WHOLE();
				const u128 v = MAKE(row, x);
				const u32 a = (u32)row.a * DBITS;
				value = a == from ? v : with_above(value, v, a);
				c.a = row.b;
			}
#else
			const LOADED x = LOAD(c);
			LOADED_WHOLE();
			const u128 value = MAKE(c, x);
#endif
			PASTE(NAME, _store)(to, value, from, end);
		}
	}
}

#endif

#undef PER
#undef SOME
#undef AT_ONCE
#undef AT_LEAST
#undef CHUNK
#undef FOUND
#undef FIND
#undef FORWARD
#undef LOADED
#undef READ
#undef NOTHING
#undef LOAD
#undef MAKE
#undef ROWS
#undef OF_BITS
