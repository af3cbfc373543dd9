// Shared by kernels that scale elements: the places of their terms, and their types.
//
// The parameters continue behind their axes: with the same axes twice more, whose steps are the
// scale's and the zero point's, and the added tensor's; for the cut axis these are da, sa and
// db. Behind them are the meanings: words for number_of, 0 for absent terms.

#pragma once
#include "numbers.h"
#include "floats.h"
#include "arithmetic.h"

typedef struct {
	u64 src, dst, scale, zero, add;
	u64 precision; // of a quotient; 0: floats of 32 bits
	u64 sign;      // for the added term: flipped
	u64 unused;
} Meanings;

#define ALL_AXES(params) ((params)->outer + (params)->inner + (params)->run)
#define MEANINGS(params) ((CONSTANT Meanings *)(AXES(params) + 3 * ALL_AXES(params)))

// Spot is an element's position on all sides.
typedef struct {
	i64 d, s, scale, zero, add;
} Spot;

// move_to moves a spot i steps along axis k.
DEVICE void move_to(Spot *p, CONSTANT Params *params, u32 k, u32 i) {
	const u32 all = ALL_AXES(params);
	p->d += i * AXES(params)[k].d;
	p->s += i * AXES(params)[k].s;
	p->scale += i * AXES(params)[k + all].d;
	p->zero += i * AXES(params)[k + all].s;
	p->add += i * AXES(params)[k + 2 * all].d;
}

// move_cut moves a spot i steps along the cut axis.
DEVICE void move_cut(Spot *p, CONSTANT Params *params, u32 i) {
	p->d += i * params->d;
	p->s += i * params->s;
	p->scale += i * params->da;
	p->zero += i * params->sa;
	p->add += i * params->db;
}

// move_item moves a spot from where its block begins to an item.
DEVICE void move_item(Spot *p, CONSTANT Params *params, u32 item) {
	ROLLED
	for (u32 k = 0; k < params->inner; k++) {
		move_to(p, params, params->outer + k, digit(&item, AXES(params) + params->outer + k));
	}
	move_cut(p, params, item);
}

// Near is a spot relative to the begin of its block, for blocks for which 32 bits are enough.
typedef struct {
	i32 d, s, scale, zero, add;
} Near;

// near_item is the place of an item of such a block.
DEVICE Near near_item(CONSTANT Params *params, u32 item) {
	const u32 all = ALL_AXES(params);
	Near p = {0, 0, 0, 0, 0};
	ROLLED
	for (u32 k = params->outer; k < params->outer + params->inner; k++) {
		const i32 i = (i32)digit(&item, AXES(params) + k);
		p.d += i * (i32)AXES(params)[k].d;
		p.s += i * (i32)AXES(params)[k].s;
		p.scale += i * (i32)AXES(params)[k + all].d;
		p.zero += i * (i32)AXES(params)[k + all].s;
		p.add += i * (i32)AXES(params)[k + 2 * all].d;
	}
	p.d += (i32)item * (i32)params->d;
	p.s += (i32)item * (i32)params->s;
	p.scale += (i32)item * (i32)params->da;
	p.zero += (i32)item * (i32)params->sa;
	p.add += (i32)item * (i32)params->db;
	return p;
}

// spot_of is block_of for all sides.
DEVICE u32 spot_of(CONSTANT Params *params, u32 block, Spot *p) {
	const u32 first = digit(&block, AXES(params));
	move_to(p, params, 0, first);
	ROLLED
	for (u32 k = 1; k < params->outer; k++) {
		move_to(p, params, k, digit(&block, AXES(params) + k));
	}
	return first;
}

// whole_of is the value of an integer of some bits.
DEVICE i64 whole_of(u32 x, const Number is) {
	const u64 sign = is.kind == KIND_INT ? (u64)1 << (is.bits - 1) : 0;
	return (i64)((x ^ sign) - sign);
}

// rounded_integer is the integer nearest to a float, ties to even: 0 for NaN, and a value
// beyond 2^60 for large ones.
DEVICE i64 rounded_integer(u32 x) {
	const i32 power = (i32)(x >> 23 & 255) - 150;
	const u64 m = significand(x);
	if (is_nan(x) || power < -24) {
		return 0;
	}
	u64 v = m << MIN(MAX(power, 0), 38);
	if (power < 0) {
		const u64 middle = (u64)1 << (-power - 1), rest = m & (middle + middle - 1);
		v = m >> -power;
		v += rest > middle || (rest == middle && (v & 1));
	}
	return x >> 31 ? -(i64)v : (i64)v;
}
