// periodic_chunks: chunks.h for chunks that repeat with a period (periods.h).

#include "kernel.h"
#include "periods.h"
#include "chunk_loads.h"

#define SOME 4 // periods whose elements are read before any is stored

#if SBITS > 0
// read reads the wanted pieces of a chunk and assembles them.
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
#define AT_LEAST (16 * PER) // elements of a row: waiting for the ends of shorter rows costs too much

// together writes the chunks that a block has in all of its periods, and returns 1 if it can. A
// chunk is cut from two words of src: a work-item reads the first, and its neighbour gives it
// the second. Where the neighbour has a chunk of another row, or none, it reads the second
// word, too. i is the row of the first piece.
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
		if (k + AT_ONCE > periods) { // the last ones; some are done again
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
		} else if (gives) { // to a neighbour that has all periods
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
			if (LIKELY(more)) { // laid out in line: work-items that skip it reconverge
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
	if (!all) { // its inputs stay where they were: copies cost registers
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
			const u32 same = SBITS == 0 || sStep == 0 ? periods : 1; // periods with the same chunk
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

#undef SOME
#undef AT_ONCE
#undef AT_LEAST

#include "undefs.h"
