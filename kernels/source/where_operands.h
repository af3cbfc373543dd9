// Shared by kernels that choose between elements of two tensors.
//
// src is a, more is b, and cond is the condition's bytes; lo and hi are the bases of cond and
// b. The parameters continue behind their axes: with the same axes once more, whose d is the
// step in b, and whose s is the step in cond (for the cut axis: params->da and sa).

#pragma once
#include "indices.h"
#include "words.h"
#include "pieces.h"

// trues has the top bit of each byte that is not 0.
DEVICE u32 trues(u32 bytes) { return ((bytes & 0x7f7f7f7f) + 0x7f7f7f7f) | bytes; }

// nibbles_of and crumbs_of have ones in the elements, of 4 and of 2 bits, that correspond to
// the bytes, of eight, whose top bit is set.
DEVICE u32 nibbles_of(u32 a, u32 b) { return joined_4((a >> 7 & 0x01010101) * 15, (b >> 7 & 0x01010101) * 15); }
DEVICE u32 crumbs_of(u32 a, u32 b) { return joined_2((a >> 7 & 0x01010101) * 3, (b >> 7 & 0x01010101) * 3) & 0xffff; }

// Sides is an element's position on all sides.
typedef struct {
	i64 d, a, b, c;
} Sides;

// go moves a position i steps along axis k.
DEVICE void go(Sides *p, CONSTANT Params *params, u32 k, u32 i) {
	p->d += i * AXES(params)[k].d;
	p->a += i * AXES(params)[k].s;
	p->b += i * at_axes(params)[k].d;
	p->c += i * at_axes(params)[k].s;
}

// go_cut moves a position i steps along the cut axis.
DEVICE void go_cut(Sides *p, CONSTANT Params *params, u32 i) {
	p->d += i * params->d;
	p->a += i * params->s;
	p->b += i * params->da;
	p->c += i * params->sa;
}

// sides_of is block_of for all sides.
DEVICE u32 sides_of(CONSTANT Params *params, u32 block, Sides *p) {
	const u32 first = digit(&block, AXES(params));
	go(p, params, 0, first);
	ROLLED
	for (u32 k = 1; k < params->outer; k++) {
		go(p, params, k, digit(&block, AXES(params) + k));
	}
	return first;
}
