// fold: puts that reduce, in the order of their elements. d is src's side, and s dst's. An item
// owns elements of dst: those of one class, of nb classes, in a line; no other line's elements
// are put there. It goes through all elements of the line, whose axes are the run's, in the
// order of their indices, and skips those that go to places of another class. Axes of items
// identify the line; the remainder of an item's index is its class. lo is the base of at.

#include "kernel.h"
#include "numbers.h"
#include "floats.h"
#include "arithmetic.h"
#include "doubles.h"
#include "reductions.h"

// class_of is the class of a place in dst.
DEVICE u32 PASTE(NAME, _class_of)(i64 s, u32 classes) {
	const u32 mixed = (u32)((u64)s * 0x9e3779b97f4a7c15 >> 32);
	return (u32)((u64)mixed * classes >> 32);
}

ENTRY {
	GLOBAL WORD *to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *from = (GLOBAL const WORD *)src;
	CONSTANT Axis *run = AXES(params) + params->outer + params->inner, *runAt = at_axes(params) + params->outer + params->inner;
	const u32 classes = params->nb, n = (u32)params->length, rows = params->span;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const u32 left = cuts_of(params, block);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Position line = {sBase, dBase, (i64)lo};
			u32 rest = block * params->cut + item;
			ROLLED
			for (u32 k = params->outer; k < params->outer + params->inner; k++) {
				step_to(&line, params, k, digit(&rest, AXES(params) + k));
			}
			for (u32 row = 0; row < rows; row++) {
				Position p = line;
				u32 x = row;
				ROLLED
				for (u32 k = 1; k < params->run; k++) {
					step_to(&p, params, params->outer + params->inner + k, digit(&x, run + k));
				}
				for (u32 i = 0; i < n; i++) {
					i64 s = p.s + i * run[0].s;
					if (find(params, at, ABITS, p.a + i * runAt[0].s, &s, status) && PASTE(NAME, _class_of)(s, classes) == rest) {
						STORE_GLOBAL(WORD, to + s, (WORD)PASTE(NAME, _combined)(to[s], from[p.d + i * run[0].d], (u32)hi));
					}
				}
			}
		}
	}
}
