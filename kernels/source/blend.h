// blend: chunks (see parts.h) of a or b, chosen by cond (see where_operands.h), of rows that
// are dense in dst. Each operand is dense along them, too, or repeats an element: params->na
// says which for a, nb for b, ta for cond. Where cond repeats, only the chosen operand is read.

#include "kernel.h"
#include "pieces.h"
#include "where_operands.h"
#include "store.h"

#define PER (128 / DBITS) // elements in a chunk
#define ALL (0xffffffff >> (32 - DBITS))

// read returns slots [from, end) of a chunk of a or b whose slot 0 is at a position; if the
// operand repeats an element, every slot is that element.
INLINED void PASTE(NAME, _read)(Pair *p, GLOBAL const u8 *side, i64 at, u32 from, u32 end, u32 repeats) {
	if (!repeats) {
		*p = pair_at(place_of(side, at * DBITS, from * DBITS, end * DBITS));
		return;
	}
#if DBITS < 8
	p->lo.x = (u32)side[at / (8 / DBITS)] >> ((u32)at % (8 / DBITS) * DBITS) & ALL;
#else
	p->lo.x = ((GLOBAL const WORD *)side)[at];
#endif
	p->lo.x *= 0xffffffff / ALL;
	p->lo.y = p->lo.z = p->lo.w = p->lo.x;
	p->hi = p->lo;
	p->shift = 0;
}

// conditions reads the conditions of a chunk's slots [from, end), a byte for each slot.
INLINED void PASTE(NAME, _conditions)(u32 *word, GLOBAL const u8 *cond, i64 at, u32 from, u32 end) {
#if PER >= 16
	UNROLL
	for (i32 k = 0; k < PER; k += 16) {
		const i32 a = MAX((i32)from - k, 0), b = MIN((i32)end - k, 16);
		u128 v;
		v.x = v.y = v.z = v.w = 0;
		if (a < b) {
			v = shifted(pair_at(place_of(cond, (at + k) * 8, a * 8, b * 8)));
		}
		word[k / 4] = v.x;
		word[k / 4 + 1] = v.y;
		word[k / 4 + 2] = v.z;
		word[k / 4 + 3] = v.w;
	}
#else
	GLOBAL const PASTE(Piece, COND_BITS) *pieces = (GLOBAL const PASTE(Piece, COND_BITS) *)cond;
	const i64 first = (at + from) / PER, last = (at + end - 1) / PER;
	const PASTE(Piece, COND_BITS) lo = pieces[first];
	PASTE(Piece, COND_BITS) hi = lo;
	if (last > first) {
		hi = pieces[last];
	}
	PASTE(across_, COND_BITS)(word, lo, hi, (u32)(at & (PER - 1)) * 8);
#endif
}

// whole returns a chunk of a or b that begins at a multiple of PER elements, or repeats an
// element.
INLINED u128 PASTE(NAME, _whole)(GLOBAL const u8 *side, i64 at, u32 repeats) {
	if (!repeats) {
		return ((GLOBAL const u128 *)side)[at / PER];
	}
	Pair p;
	PASTE(NAME, _read)(&p, side, at, 0, PER, 1);
	return p.lo;
}

// whole_conditions returns the conditions of a chunk that begin at a multiple of PER in cond.
INLINED void PASTE(NAME, _whole_conditions)(u32 *word, GLOBAL const u8 *cond, i64 at) {
#if PER >= 16
	UNROLL
	for (u32 k = 0; k < PER / 16; k++) {
		words_128(word + 4 * k, ((GLOBAL const u128 *)(cond + at))[k]);
	}
#else
	PASTE(words_, COND_BITS)(word, *(GLOBAL const PASTE(Piece, COND_BITS) *)(cond + at));
#endif
}

// mask has ones in the slots of word k of a chunk whose conditions are true.
INLINED u32 PASTE(NAME, _mask)(const u32 *word, u32 k) {
#if DBITS == 32
	const u32 t = trues(word[0]);
	return signs_of(t, t, 0x1111 * k);
#elif DBITS == 16
	const u32 t = trues(word[k / 2]);
	return signs_of(t, t, k % 2 == 0 ? 0x1100 : 0x3322);
#elif DBITS == 8
	const u32 t = trues(word[k]);
	return signs_of(t, t, 0x3210);
#elif DBITS == 4
	return nibbles_of(trues(word[2 * k]), trues(word[2 * k + 1]));
#else
	return crumbs_of(trues(word[4 * k]), trues(word[4 * k + 1])) | crumbs_of(trues(word[4 * k + 2]), trues(word[4 * k + 3])) << 16;
#endif
}

// chosen returns a chunk with its slots [from, end): slot 0 is at p.
INLINED u128 PASTE(NAME, _chosen)(CONSTANT Params *params, GLOBAL const u8 *src, GLOBAL const u8 *cond, GLOBAL const u8 *more, const Sides p, u32 from, u32 end) {
	u128 v;
	Pair x, y;
	if (params->ta) {
		if (cond[p.c]) {
			PASTE(NAME, _read)(&x, src, p.a, from, end, params->na);
		} else {
			PASTE(NAME, _read)(&x, more, p.b, from, end, params->nb);
		}
		LOADED_WHOLE();
		return shifted(x);
	}
	u32 c[PER / 4];
	u128 a, b;
	const u32 begin = (params->na ? 0 : (u32)p.a) | (params->nb ? 0 : (u32)p.b) | (u32)p.c;
	if (begin % PER == 0 && end - from == PER) {
		a = PASTE(NAME, _whole)(src, p.a, params->na);
		b = PASTE(NAME, _whole)(more, p.b, params->nb);
		PASTE(NAME, _whole_conditions)(c, cond, p.c);
	} else {
		PASTE(NAME, _read)(&x, src, p.a, from, end, params->na);
		PASTE(NAME, _read)(&y, more, p.b, from, end, params->nb);
		PASTE(NAME, _conditions)(c, cond, p.c, from, end);
		LOADED_WHOLE();
		a = shifted(x);
		b = shifted(y);
	}
	v.x = choose(PASTE(NAME, _mask)(c, 0), a.x, b.x);
	v.y = choose(PASTE(NAME, _mask)(c, 1), a.y, b.y);
	v.z = choose(PASTE(NAME, _mask)(c, 2), a.z, b.z);
	v.w = choose(PASTE(NAME, _mask)(c, 3), a.w, b.w);
	return v;
}

ENTRY {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Sides begin = {dBase, sBase, (i64)hi, (i64)lo};
		const u32 first = sides_of(params, block, &begin);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Sides p = begin;
			u32 rest = item;
			i64 chunk = (i64)first * params->cut + item;
			if (params->words > 0) {
				chunk = digit(&rest, inner);
				ROLLED
				for (u32 k = 1; k < params->inner; k++) {
					go(&p, params, params->outer + k, digit(&rest, inner + k));
				}
				go_cut(&p, params, rest);
			}
			const i64 e = chunk * PER - (p.d & (PER - 1)); // index in the row of slot 0
			const u32 from = (u32)MAX(-e, 0), end = (u32)MIN(params->length - e, PER);
			if ((i64)from >= params->length - e) {
				continue;
			}
			GLOBAL u32 *to = (GLOBAL u32 *)dst + (p.d + e) / PER * 4;
			p.a += params->na ? 0 : e;
			p.b += params->nb ? 0 : e;
			p.c += params->ta ? 0 : e;
			PASTE(NAME, _store)(to, PASTE(NAME, _chosen)(params, src, cond, more, p, from, end), from * DBITS, end * DBITS);
		}
	}
}

#undef PER
#undef ALL
#undef CHUNK
