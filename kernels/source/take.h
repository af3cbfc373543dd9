// take: elements of src whose positions depend on indices in memory, or, of a put, which
// go to positions in dst that do. There d is src's side, and s dst's. Below a
// byte, which is for serial targets only, an item is a 32-bit word of dst, else it is of
// elements. The elements of a row have their indices in common, which are looked at once:
// serial kernels do a row in one go, others first find the rows of a block. pick is for
// elements of which too few have indices in common. lo is the base of at.

#if PUT
#define READ(d, s) from[d]
#define WRITTEN(d, s) to[s]
#define BEGIN {sBase, dBase, (i64)lo}
#else
#define READ(d, s) from[s]
#define WRITTEN(d, s) to[d]
#define BEGIN {dBase, sBase, (i64)lo}
#endif

#if DBITS < 8

#define PER (32 / DBITS) // elements in a word

ENTRY {
	GLOBAL u32 *to = (GLOBAL u32 *)dst;
	CONSTANT Axis *inner = AXES(params) + params->outer, *run = inner + params->inner, *runAt = at_axes(params) + params->outer + params->inner;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = BEGIN;
		const u32 first = position_of(params, block, &begin);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Position r = begin; // element 0 of the run
			u32 rest = item, word = 0;
			ROLLED
			for (u32 k = 0; k < params->inner; k++) {
				const u32 i = digit(&rest, inner + k);
				word = k == 0 ? i : word;
				step_to(&r, params, params->outer + k, i);
			}
			step_cut(&r, params, rest);
			const i64 number = params->words == 0 ? (i64)first * params->cut + item : (i64)word;
			const i64 from = number * PER - r.d % PER; // the word's first element, by its number in the run
			u32 value = 0, mask = 0;
			for (u32 j = 0; j < PER; j++) {
				const i64 e = from + j;
				if (e < 0 || e >= params->length) {
					continue;
				}
				i64 s = r.s, a = r.a;
				if (params->run <= 1) {
					s += e * run[0].s;
					a += e * runAt[0].s;
				} else {
					u32 x = (u32)e;
					ROLLED
					for (u32 k = 0; k < params->run; k++) {
						const u32 i = digit(&x, run + k);
						s += i * run[k].s;
						a += i * runAt[k].s;
					}
				}
				if (find(params, at, ABITS, a, &s, status)) {
					const u32 v = src[s / (8 / DBITS)] >> (s % (8 / DBITS) * DBITS) & ((1 << DBITS) - 1);
					value |= v << (j * DBITS);
					mask |= ((1u << DBITS) - 1) << (j * DBITS);
				}
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
	GLOBAL const WORD *from = (GLOBAL const WORD *)src;
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = BEGIN;
		const u32 left = items_of(params, position_of(params, block, &begin));
		// A row is the innermost axis: whole, or where that is cut, a part.
		const u32 whole = params->inner > 0, n = whole ? inner[0].n : left;
		const i64 d = whole ? inner[0].d : params->d, s = whole ? inner[0].s : params->s;
		const i64 a = whole ? at_axes(params)[params->outer].s : params->sa;
		u32 row = 0;
		for (u32 item = 0; item < left; item += n, row++) {
			Position p = begin;
			u32 rest = row;
			if (whole) {
				ROLLED
				for (u32 k = 1; k < params->inner; k++) {
					step_to(&p, params, params->outer + k, digit(&rest, inner + k));
				}
				step_cut(&p, params, rest);
			}
			if (a != 0) {
				for (u32 i = 0; i < n; i++) {
					i64 x = p.s + i * s;
					if (find(params, at, ABITS, p.a + i * a, &x, status)) {
						WRITTEN(p.d + i * d, x) = READ(p.d + i * d, x);
					}
				}
			} else if (find(params, at, ABITS, p.a, &p.s, status)) {
				if (d == 1 && s == 1) {
					for (u32 i = 0; i < n; i++) {
						WRITTEN(p.d + i, p.s + i) = READ(p.d + i, p.s + i);
					}
				} else {
					for (u32 i = 0; i < n; i++) {
						WRITTEN(p.d + i * d, p.s + i * s) = READ(p.d + i * d, p.s + i * s);
					}
				}
			}
		}
	}
}

#else

#define NOWHERE ((i64)((u64)1 << 63))

ENTRY {
	SHARED(i64, found, ROWS); // where rows begin on the side that indices move
	GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = BEGIN;
		const u32 first = position_of(params, block, &begin);
		const u32 cuts = cuts_of(params, first), rows = params->nb * (params->ta > 0 ? cuts : 1);
		if (block != GROUP_ID) {
			BARRIER();
		}
		for (u32 row = LOCAL_ID; row < rows; row += GROUP) {
			i64 s = begin.s;
			found[row] = find(params, at, ABITS, row_at(params, row, begin.a), &s, status) ? s : NOWHERE;
		}
		BARRIER();
		const u32 apart = APART(cuts), items = apart * params->flat;
		const i64 dApart = apart * params->d, sApart = apart * params->s;
		for (u32 item = LOCAL_ID; item < items; item += GROUP) {
			u32 x = item, row = 0;
			Position p = {begin.d, 0, 0};
			ROLLED
			for (u32 k = params->outer; k < params->outer + params->inner; k++) {
				const u32 i = digit(&x, AXES(params) + k);
				step_to(&p, params, k, i);
				row += i * (u32)at_axes(params)[k].d;
			}
			step_cut(&p, params, x);
			row += x * params->ta;
			WORD value[ITEMS];
			u32 there = 0;
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
				if (x + j * apart < cuts) {
					const i64 begins = found[row + j * apart * params->ta];
					if (begins != NOWHERE) {
						value[j] = READ(p.d + j * dApart, begins + p.s + j * sApart);
						there |= 1 << j;
					}
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (there >> j & 1) {
					WRITTEN(p.d + j * dApart, found[row + j * apart * params->ta] + p.s + j * sApart) = value[j];
				}
			}
		}
	}
}

#undef NOWHERE

#endif

#undef READ
#undef WRITTEN
#undef BEGIN
