// where: elements of a or b, chosen by cond, with any strides (see where_operands.h). An item
// is a few elements, as in element.h; below a byte, a word of a run of contiguous elements of
// dst.

#include "kernel.h"
#include "pieces.h"
#include "where_operands.h"

#if DBITS < 8

#define PER (32 / DBITS) // elements in a word

// load reads the element at a position.
DEVICE u32 PASTE(NAME, _load)(GLOBAL const u8 *from, i64 at) {
	return from[at / (8 / DBITS)] >> (at % (8 / DBITS) * DBITS) & ((1 << DBITS) - 1);
}

ENTRY {
	GLOBAL u32 *to = (GLOBAL u32 *)dst;
	CONSTANT Axis *inner = AXES(params) + params->outer, *run = inner + params->inner;
	const u32 runs = params->outer + params->inner, axes = params->run;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Sides begin = {dBase, sBase, (i64)hi, (i64)lo};
		const u32 first = sides_of(params, block, &begin);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Sides r = begin; // element 0 of the run
			u32 rest = item, word = 0;
			ROLLED
			for (u32 k = 0; k < params->inner; k++) {
				const u32 i = digit(&rest, inner + k);
				word = k == 0 ? i : word;
				go(&r, params, params->outer + k, i);
			}
			go_cut(&r, params, rest);
			const i64 number = params->words == 0 ? (i64)first * params->cut + item : (i64)word;
			const i64 from = number * PER - r.d % PER; // the word's first element, by its index in the run
			u32 value = 0, mask = 0;
			ROLLED
			for (u32 j = 0; j < PER; j++) {
				const i64 e = from + j;
				if (e < 0 || e >= params->length) {
					continue;
				}
				Sides p = r;
				if (axes <= 1) {
					p.a += e * run[0].s;
					p.b += e * at_axes(params)[runs].d;
					p.c += e * at_axes(params)[runs].s;
				} else {
					u32 x = (u32)e;
					ROLLED
					for (u32 k = 0; k < axes; k++) {
						go(&p, params, runs + k, digit(&x, run + k));
					}
				}
				const u32 v = cond[p.c] ? PASTE(NAME, _load)(src, p.a) : PASTE(NAME, _load)(more, p.b);
				value |= v << (j * DBITS);
				mask |= ((1u << DBITS) - 1) << (j * DBITS);
			}
			if (mask != 0) {
				merge_bits(to + (r.d + from) / PER, value, mask);
			}
		}
	}
}

#undef PER

#elif SERIAL

ENTRY {
	GLOBAL WORD *to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *a = (GLOBAL const WORD *)src, *b = (GLOBAL const WORD *)more;
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Sides begin = {dBase, sBase, (i64)hi, (i64)lo};
		const u32 left = items_of(params, sides_of(params, block, &begin));
		// A row is the innermost axis, or a part of it where that is cut.
		const u32 whole = params->inner > 0, n = whole ? inner[0].n : left;
		const i64 d = whole ? inner[0].d : params->d, sa = whole ? inner[0].s : params->s;
		const i64 sb = whole ? at_axes(params)[params->outer].d : params->da, sc = whole ? at_axes(params)[params->outer].s : params->sa;
		u32 row = 0;
		for (u32 item = 0; item < left; item += n, row++) {
			Sides p = begin;
			u32 rest = row;
			if (whole) {
				ROLLED
				for (u32 k = 1; k < params->inner; k++) {
					go(&p, params, params->outer + k, digit(&rest, inner + k));
				}
				go_cut(&p, params, rest);
			}
			if (d == 1 && sa == 1 && sb == 1 && sc == 1) {
				for (u32 i = 0; i < n; i++) { // a loop that compilers vectorize
					const WORD x = a[p.a + i], y = b[p.b + i];
					to[p.d + i] = cond[p.c + i] ? x : y;
				}
			} else {
				for (u32 i = 0; i < n; i++) {
					to[p.d + i * d] = cond[p.c + i * sc] ? a[p.a + i * sa] : b[p.b + i * sb];
				}
			}
		}
	}
}

#else

ENTRY {
	GLOBAL WORD *to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *a = (GLOBAL const WORD *)src, *b = (GLOBAL const WORD *)more;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Sides begin = {dBase, sBase, (i64)hi, (i64)lo};
		const u32 cuts = cuts_of(params, sides_of(params, block, &begin));
		const u32 apart = APART(cuts), items = apart * params->flat;
		Sides step = {0, 0, 0, 0}; // between the elements of an item
		go_cut(&step, params, apart);
		for (u32 item = LOCAL_ID; item < items; item += GROUP) {
			Sides p = begin;
			u32 x = item;
			ROLLED
			for (u32 k = 0; k < params->inner; k++) {
				go(&p, params, params->outer + k, digit(&x, AXES(params) + params->outer + k));
			}
			go_cut(&p, params, x);
			u32 chosen[ITEMS];
			WORD value[ITEMS];
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
				chosen[j] = 0;
				if (x + j * apart < cuts) {
					chosen[j] = cond[p.c + j * step.c];
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (x + j * apart < cuts) {
					value[j] = chosen[j] ? a[p.a + j * step.a] : b[p.b + j * step.b];
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (x + j * apart < cuts) {
					to[p.d + j * step.d] = value[j];
				}
			}
		}
	}
}

#endif
