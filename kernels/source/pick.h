// pick: elements of src whose positions depend on indices in memory, different ones for each
// element, or, for a put, elements of src that go to such positions in dst. For a put d is
// src's side, and s dst's; elements below a byte are merged. For puts that reduce, reductions.h
// combines elements. lo is the base of at.

#include "kernel.h"

#if DBITS < 8
#define PER (32 / DBITS) // elements in a word
#define LOAD(d, s) (src[(d) / (8 / DBITS)] >> ((d) % (8 / DBITS) * DBITS) & ((1 << DBITS) - 1))
#elif PUT
#define LOAD(d, s) from[d]
#else
#define LOAD(d, s) from[s]
#endif
#if REDUCES
#define STORE(d, s, v) PASTE(NAME, _reduce)(dst, s, v, (u32)hi)
#elif DBITS < 8
#define STORE(d, s, v) replace_bits((GLOBAL u32 *)dst + (s) / PER, (u32)(v) << ((s) % PER * DBITS), (u32)((1 << DBITS) - 1) << ((s) % PER * DBITS))
#elif PUT
#define STORE(d, s, v) to[s] = (v)
#else
#define STORE(d, s, v) to[d] = (v)
#endif
#if PUT
#define BEGIN {sBase, dBase, (i64)lo}
#else
#define BEGIN {dBase, sBase, (i64)lo}
#endif

ENTRY {
#if DBITS >= 8
	GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
#endif
#if DBITS >= 8 && !REDUCES
	GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst;
#endif
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = BEGIN;
		const u32 cuts = cuts_of(params, position_of(params, block, &begin));
		const u32 apart = APART(cuts), items = apart * params->flat;
		const i64 dApart = apart * params->d, sApart = apart * params->s, aApart = apart * params->sa;
		for (u32 item = LOCAL_ID; item < items; item += GROUP) {
			Position p = begin;
			u32 x = item;
			ROLLED
			for (u32 k = params->outer; k < params->outer + params->inner; k++) {
				step_to(&p, params, k, digit(&x, AXES(params) + k));
			}
			step_cut(&p, params, x);
			i64 s[ITEMS];
			WORD value[ITEMS];
			u32 within = 0;
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				s[j] = p.s + j * sApart;
				within |= (x + j * apart < cuts) << j;
			}
			// An element that one index skips keeps its value; another index may still be an
			// error.
			u32 there = within;
			ROLLED
			for (u32 k = 0; k < params->na; k++) {
				const i64 a = p.a + INDICES(params)[k].offset;
				i64 index[ITEMS];
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
					if (within >> j & 1) {
						index[j] = index_at(at, a + j * aApart, ABITS);
					}
				}
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) {
					if ((within >> j & 1) && !add_index(params, k, index[j], &s[j], status)) {
						there &= ~(1u << j);
					}
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (there >> j & 1) {
					value[j] = LOAD(p.d + j * dApart, s[j]);
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (there >> j & 1) {
					STORE(p.d + j * dApart, s[j], value[j]);
				}
			}
		}
	}
}

#undef PER
#undef BEGIN
#undef LOAD
#undef STORE
