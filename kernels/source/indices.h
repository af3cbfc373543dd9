// Shared by kernels that find elements by indices in memory.
//
// The parameters continue behind their axes: with the same axes once more, whose s is the step
// in at (for the cut axis: params->sa), and with params->na indices. In parallel kernels of
// elements, d of an inner axis is its step among the block's rows (for the cut axis:
// params->ta).

#pragma once
#include "common.h"

typedef struct {
	i64 offset; // where it is in at
	i64 extent, stride;
	u32 outside; // what an index out of range does
	u32 put;     // 1: the index of a put, for status
} Index;

#define OUTSIDE_ERROR 0
#define OUTSIDE_SKIP 1
#define OUTSIDE_CLAMP 2
#define OUTSIDE_CLAMP_ZERO 3
#define OUTSIDE_STRICT 4

// Position is an element's position on all sides.
typedef struct {
	i64 d, s, a;
} Position;

DEVICE CONSTANT Axis *at_axes(CONSTANT Params *params) { return AXES(params) + params->outer + params->inner + params->run; }

// step_to moves a position i steps along axis k.
DEVICE void step_to(Position *p, CONSTANT Params *params, u32 k, u32 i) {
	CONSTANT Axis *axis = AXES(params) + k;
	p->d += i * axis->d;
	p->s += i * axis->s;
	p->a += i * at_axes(params)[k].s;
}

// step_cut moves a position i steps along the cut axis.
DEVICE void step_cut(Position *p, CONSTANT Params *params, u32 i) {
	p->d += i * params->d;
	p->s += i * params->s;
	p->a += i * params->sa;
}

// position_of is block_of for all sides.
DEVICE u32 position_of(CONSTANT Params *params, u32 block, Position *p) {
	const u32 first = digit(&block, AXES(params));
	step_to(p, params, 0, first);
	ROLLED
	for (u32 k = 1; k < params->outer; k++) {
		step_to(p, params, k, digit(&block, AXES(params) + k));
	}
	return first;
}

// row_at is the position in at of a row of a block that begins at a. A row is a combination of
// the block's indices along the axes with steps in at. In parallel kernels of elements these
// axes are the parameters' run, and maybe the cut one.
DEVICE i64 row_at(CONSTANT Params *params, u32 row, i64 a) {
	CONSTANT Axis *run = AXES(params) + params->outer + params->inner;
	ROLLED
	for (u32 k = 0; k < params->run; k++) {
		a += digit(&row, run + k) * run[k].s;
	}
	return a + row * params->sa;
}

// index_at reads an index of 32 or 64 bits.
DEVICE i64 index_at(GLOBAL const u8 *at, i64 position, u32 bits) {
	return bits == 32 ? (i64)((GLOBAL const i32 *)at)[position] : ((GLOBAL const i64 *)at)[position];
}

#define INDICES(params) ((CONSTANT Index *)(at_axes(params) + (params)->outer + (params)->inner + (params)->run))

// add_index moves a position by index k: in src, for puts in dst. If the index is out of range
// and has no replacement, it returns 0 and uses index 0. Where that is an error, the first
// work-item to find one records it: status 0 is 1 then, and the others are the index and the
// extent, low words first, and whether it is a put's. Where negative indices are out of range,
// the extent is negated.
DEVICE u32 add_index(CONSTANT Params *params, u32 k, i64 index, i64 *s, GLOBAL u32 *status) {
	const i64 extent = INDICES(params)[k].extent;
	const u32 outside = INDICES(params)[k].outside;
	// The extent is added if the index is negative: by a shift, as Mesa 22.3 miscompiles index
	// < 0 for a widened i32.
	const i64 around = outside >= OUTSIDE_CLAMP_ZERO ? 0 : extent;
	i64 from = index + (around & index >> 63);
	if (outside == OUTSIDE_CLAMP || outside == OUTSIDE_CLAMP_ZERO) {
		from &= ~(from >> 63);
		from = (u64)from < (u64)extent ? from : extent - 1;
	}
	if ((u64)from < (u64)extent) {
		*s += from * INDICES(params)[k].stride;
		return 1;
	}
	if ((outside == OUTSIDE_ERROR || outside == OUTSIDE_STRICT) && ATOMIC_OR(status, 1) == 0) {
		const i64 told = outside == OUTSIDE_STRICT ? -extent : extent;
		status[1] = (u32)index;
		status[2] = (u32)((u64)index >> 32);
		status[3] = (u32)told;
		status[4] = (u32)((u64)told >> 32);
		status[5] = INDICES(params)[k].put;
	}
	return 0;
}

// find moves a position by the indices at a position in at, or returns 0.
DEVICE u32 find(CONSTANT Params *params, GLOBAL const u8 *at, u32 bits, i64 position, i64 *s, GLOBAL u32 *status) {
	u32 found = 1;
	ROLLED
	for (u32 k = 0; k < params->na; k++) { // no early return: the compiler would copy parameters passed by value
		found &= add_index(params, k, index_at(at, position + INDICES(params)[k].offset, bits), s, status);
	}
	return found;
}
