// Shared by kernels whose chunks (parts.h) repeat with a period: a number of rows in dst, and
// as many in src, by which both sides advance by whole 16 bytes. The place of a chunk's bits
// and the slots that are wanted are the same in every period, and are computed once. The rows
// of a period are numbered over the run axes, whose last is the axis of periods: of na indices,
// ta in a period.
//
// Rows without gaps in dst are joined (params->span is 1): items are a period's chunks, and a
// chunk has a piece of one row or of two. Other rows have their own chunks each: items are
// first the chunks that a row fills, at most params->words in each and params->flat in all,
// then those at either end.
//
// Where rows are long, work-items share the words that they read of src: see together in
// periodic_chunks.h.

#pragma once
#include "parts.h"

// Piece is one row's part of a chunk, in the period in which its row has the given index along
// the axis of periods: NO_ROW in none.
typedef struct {
	Chunk chunk;
	u32 row;
} Piece;

#define NO_ROW 0x80000000

DEVICE u32 both_in(u32 i, u32 j, u32 n) { return i < n && j < n; }

// piece_of begins a piece: at slot 0 is element e of row r of a period.
DEVICE Piece piece_of(CONSTANT Params *params, u32 r, i32 e, i64 d, i64 s) {
	Piece p;
	const u32 axis = params->outer + params->inner, last = axis + params->run - 1;
	ROLLED
	for (u32 k = axis; k < last; k++) {
		const u32 i = digit(&r, AXES(params) + k);
		d += i * AXES(params)[k].d;
		s += i * AXES(params)[k].s;
	}
	p.chunk.d = d + r * AXES(params)[last].d;
	p.chunk.s = s + r * AXES(params)[last].s;
	p.chunk.e = e;
	p.chunk.a = p.chunk.b = 0;
	p.row = r;
	return p;
}

// joined_of finds an item's pieces where rows are joined: the first, and in next the piece of
// the following row.
DEVICE Piece joined_of(CONSTANT Params *params, u32 item, i64 d, i64 s, u32 per, Piece *next) {
	const u32 phase = (u32)d & (per - 1), n = (u32)params->length;
	u32 x = item * per - phase, back = 0;
	if (item == 0 && phase > 0) { // it begins in the previous period
		x += (u32)params->extent * per;
		back = params->ta;
	}
	const u32 e = digit(&x, AXES(params) + params->outer);
	const u32 last = params->outer + params->inner + params->run - 1;
	s -= back * AXES(params)[last].s;
	Piece p = piece_of(params, x, (i32)e, 0, s);
	Piece q = piece_of(params, x + 1, (i32)(e - n), 0, s);
	p.row -= back;
	q.row -= back;
	p.chunk.b = (i32)MIN(n - e, per);
	p.chunk.d = q.chunk.d = (i64)((u64)d / per) + item;
	q.chunk.a = p.chunk.b;
	q.chunk.b = (i32)per;
	if (n - e >= per) {
		q.row = NO_ROW;
	}
	*next = q;
	return p;
}

// apart_of finds an item's piece where rows are not joined.
DEVICE Piece apart_of(CONSTANT Params *params, u32 item, i64 d, i64 s, u32 per) {
	const i32 n = (i32)params->length;
	const u32 full = item < params->flat;
	u32 r = item, c = 0;
	if (full) {
		c = digit(&r, AXES(params) + params->outer);
	} else {
		const u32 rows = ((u32)params->extent - params->flat) / 2;
		r = item - params->flat;
		c = r >= rows;
		r -= c * rows;
	}
	Piece p = piece_of(params, r, 0, d, s);
	const i32 phase = (i32)(p.chunk.d & (per - 1));
	u32 there;
	p.chunk.b = (i32)per;
	if (full) {
		p.chunk.e = (i32)((u32)-phase & (per - 1)) + (i32)(c * per);
		there = p.chunk.e + (i32)per <= n;
	} else if (c == 0) {
		p.chunk.e = -phase;
		p.chunk.a = phase;
		p.chunk.b = MIN((i32)per, phase + n);
		there = phase > 0;
	} else {
		p.chunk.b = (phase + n) & (i32)(per - 1);
		p.chunk.e = n - p.chunk.b;
		there = p.chunk.b > 0 && p.chunk.e >= 0;
	}
	p.chunk.d = (i64)((u64)(p.chunk.d + p.chunk.e) / per);
	if (!there) {
		p.row = NO_ROW;
	}
	return p;
}

// no_pair stands for a pair that is not read.
DEVICE Pair no_pair() {
	Pair x;
	x.lo.x = x.lo.y = x.lo.z = x.lo.w = 0;
	x.hi = x.lo;
	x.shift = 0;
	return x;
}
