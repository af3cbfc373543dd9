// What all kernels share: the parameters of a launch, and the decomposition of a flat index
// into indices.
//
// A launch covers its elements with blocks, numbered in one dimension. A
// work-group does the blocks GROUP_ID, GROUP_ID+GROUPS, ...: any number of groups works. Steps
// and bases count elements of the kernel's width.

#pragma once
#include "dialect.h"

// Axis is one digit of a flat index: an extent, the magic that divides by it (see quotient),
// and the step on either side.
typedef struct {
	u32 n, magic, shift, unused;
	i64 d, s;
} Axis;

// Params is followed by its axes: outer axes decompose a block's index, inner axes an item's
// index within the block, run axes an element's index within a run; each innermost first. Axis
// 0 counts the blocks along the cut axis, so its steps are those of cut indices.
typedef struct {
	u32 blocks;
	u32 outer, inner, run; // numbers of axes
	u32 cut;               // indices of the cut axis in one block
	u32 flat;              // product of the inner axes: items per cut index (of columns of takes: 1)
	u32 words;             // words in a run; 0: the words are the cut axis
	u32 span;              // words per item
	i64 extent;            // of the cut axis
	i64 d, s;              // steps of the cut axis
	i64 length;            // elements in a run
	// For kernels of tiles and blocks: see there.
	u32 na, nb, ta, tb;
	i64 da, sa, db, sb;
	u32 step, rows; // of blocks along b: see banded_of
	i64 unused;
} Params;

#define AXES(params) ((CONSTANT Axis *)((params) + 1))

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

// A function that must be inlined: the compiler evaluates what depends on its arguments alone
// once, or hoists it out of a loop.
#define INLINED DEVICE __attribute__((always_inline))

// Loops over axes are short: unrolled, they would be most of a program.
#ifdef __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED
#endif

// quotient is x / a->n, for x and n below 2^31.
DEVICE u32 quotient(u32 x, CONSTANT Axis *a) {
	return ((u32)(((u64)x * a->magic) >> 32) + x) >> a->shift;
}

// digit splits the lowest digit off a flat index.
DEVICE u32 digit(u32 *rest, CONSTANT Axis *a) {
	u32 x = *rest, q = quotient(x, a);
	*rest = q;
	return x - q * a->n;
}

// Tile is a block of ta x tb indices of axes a and b: its begin on either side, and the number
// of its indices that exist.
typedef struct {
	i64 d, s;
	u32 na, nb;
} Tile;

// tile_of finds a block's tile: outer axes 0 and 1 count the blocks along a and b.
DEVICE Tile tile_of(CONSTANT Params *params, u32 block, i64 d, i64 s) {
	CONSTANT Axis *axes = AXES(params);
	Tile t;
	const u32 a = digit(&block, axes), b = digit(&block, axes + 1);
	t.d = d + a * axes[0].d + b * axes[1].d;
	t.s = s + a * axes[0].s + b * axes[1].s;
	t.na = MIN(params->ta, params->na - a * params->ta);
	t.nb = MIN(params->tb, params->nb - b * params->tb);
	ROLLED
	for (u32 k = 2; k < params->outer; k++) {
		const u32 i = digit(&block, axes + k);
		t.d += i * axes[k].d;
		t.s += i * axes[k].s;
	}
	return t;
}

// banded_of is tile_of for blocks ordered in bands along axis a: concurrent blocks are close
// together on both sides. Outer axis 0 counts a band's blocks along b, 1 those along a, 2 the
// bands. Blocks are step indices apart along b, and may overlap. row is a block's index along
// b, below rows; the last band may have more, which are empty. third is its index along outer
// axis 3.
DEVICE Tile banded_of(CONSTANT Params *params, u32 block, i64 d, i64 s, u32 *row, u32 *third) {
	CONSTANT Axis *axes = AXES(params);
	Tile t;
	const u32 in = digit(&block, axes), a = digit(&block, axes + 1), b = digit(&block, axes + 2) * axes[0].n + in;
	t.d = d + a * axes[1].d + b * axes[0].d;
	t.s = s + a * axes[1].s + b * axes[0].s;
	t.na = b < params->rows ? MIN(params->ta, params->na - a * params->ta) : 0;
	t.nb = b < params->rows ? MIN(params->tb, params->nb - b * params->step) : 0;
	*row = b;
	*third = 0;
	ROLLED
	for (u32 k = 3; k < params->outer; k++) {
		const u32 i = digit(&block, axes + k);
		t.d += i * axes[k].d;
		t.s += i * axes[k].s;
		*third = k == 3 ? i : *third;
	}
	return t;
}

// block_of finds where a block begins, and its index along the cut axis.
DEVICE u32 block_of(CONSTANT Params *params, u32 block, i64 *d, i64 *s) {
	CONSTANT Axis *axes = AXES(params);
	const u32 first = digit(&block, axes);
	*d += first * axes[0].d;
	*s += first * axes[0].s;
	ROLLED
	for (u32 k = 1; k < params->outer; k++) {
		const u32 i = digit(&block, axes + k);
		*d += i * axes[k].d;
		*s += i * axes[k].s;
	}
	return first;
}

// cuts_of is the number of indices of the cut axis in a block, items_of that of items.
DEVICE u32 cuts_of(CONSTANT Params *params, u32 first) {
	return (u32)MIN((i64)params->cut, params->extent - (i64)first * params->cut);
}
DEVICE u32 items_of(CONSTANT Params *params, u32 first) { return cuts_of(params, first) * params->flat; }

// The elements of an item are that far apart along the cut axis, where a block has that many
// indices of it.
#define APART(cuts) (((cuts) + ITEMS - 1) / ITEMS)
