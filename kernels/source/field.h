// field: words of dst that hold fields of a few bits, at some pitch on both sides. A run has
// params->na fields of params->nb bits each, the axis run[0] has their pitch as its extent and
// src's as its step; elements are single bits. Bits between fields in dst are kept. If
// params->ta is 1, four fields are in a word on either side. Then params->da has ones where
// fields are, from the first one of a run on, sb where four of them are in src, and db and tb
// are keep and turns of near. sa is the largest multiple of the pitch up to GROUP.

#include "kernel.h"

// bits reads the given number of bits from a bit of src on.
DEVICE u32 PASTE(NAME, _bits)(GLOBAL const u32 *from, u32 at, u32 wanted) {
	return funnel(from[at >> 5], from[(at + wanted - 1) >> 5], at & 31);
}

// near moves four fields from src's pitch to dst's: in two stages, in which the fields outside
// keep rotate within the word.
INLINED u32 PASTE(NAME, _near)(u32 v, u32 fields, u64 keep, u32 turns) {
	const u32 a = (u32)keep, b = (u32)(keep >> 32);
	u32 x = v & fields, y = x & ~a;
	x = (x & a) | funnel(y, y, turns & 31);
	y = x & ~b;
	return (x & b) | funnel(y, y, turns >> 5);
}

// Words says where words of a run begin: the first field that may be in the first word, the bit
// begin at which it begins, and the number of fields from there on (below 0: the run ends
// before).
typedef struct {
	GLOBAL u32 *to;
	GLOBAL const u32 *from; // the word of src that has the field's first bit, phase
	u32 phase;
	i32 begin, left;
} PASTE(NAME, _Words);

// words finds the words, from a given one on, of a run that begins at d and s. (In as many
// words as the pitch has bits there are 32 fields.)
DEVICE PASTE(NAME, _Words) PASTE(NAME, _words)(GLOBAL u8 *dst, GLOBAL const u8 *src, CONSTANT Params *params, CONSTANT Axis *run, i64 d, i64 s, u32 word) {
	PASTE(NAME, _Words) w;
	const u32 pitch = run->n;
	u32 e = quotient(word, run);
	i32 bit = (i32)((word - e * pitch) * 32) - (i32)((u32)d & 31); // behind 32*e fields
	if (bit < 0 && e > 0) {
		e--;
		bit += (i32)pitch * 32;
	}
	const u32 f = bit > 0 ? quotient((u32)bit, run) : 0;
	w.begin = (i32)(f * pitch) - bit;
	e = e * 32 + f;
	w.left = (i32)(params->na - e);
	s += e * run->s;
	w.from = (GLOBAL const u32 *)src + (s >> 5);
	w.phase = (u32)s & 31;
	w.to = (GLOBAL u32 *)dst + (d >> 5) + word;
	return w;
}

ENTRY {
	CONSTANT Axis *inner = AXES(params) + params->outer, *run = inner + params->inner;
	const u32 width = params->nb, pitch = run->n, ones = 0xffffffff >> (32 - width), flat = params->words == 0;
	const u32 near = params->ta, low = (u32)params->da, high = (u32)((u64)params->da >> 32);
	const u32 by = (u32)run->s, whole = 3 * by + width, of = (u32)params->sb, turns = params->tb;
	const u64 keep = (u64)params->db;
	// A work-item's words of one run are a multiple of the pitch apart: all have their
	// fields in the same places.
	const u32 apart = flat ? (u32)params->sa : GROUP, steps = 32 * quotient(apart, run);
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d = dBase, s = sBase;
		const u32 first = block_of(params, block, &d, &s);
		const u32 left = items_of(params, first);
		PASTE(NAME, _Words) w = PASTE(NAME, _words)(dst, src, params, run, d, s, flat ? first * params->cut : 0);
		u32 f = 0, down = 0, up = 0, all = 0;
		i32 at = 0; // begin of field f in the word
		for (u32 item = LOCAL_ID < apart ? LOCAL_ID : left; item < left; item += apart, f += steps) {
			u32 k = item;
			if (!flat) {
				const Run r = item_of(params, inner, first, item, d, s);
				w = PASTE(NAME, _words)(dst, src, params, run, r.d, r.s, (u32)r.word);
				k = 0;
			}
			if (!flat || item == LOCAL_ID || at > 0) { // or a run began in the word before
				const i32 bit = (i32)(k * 32) - w.begin;
				f = bit > 0 ? quotient((u32)bit, run) : 0;
				at = (i32)(f * pitch) - bit;
				down = at < 0 ? (u32)-at : 0;
				up = at < 0 ? 0 : (u32)at & 31;
				all = at < 0 ? funnel(low, high, down) : low << up;
			}
			if ((i32)f >= w.left || at >= 32) {
				continue;
			}
			i32 more = MIN(w.left - (i32)f, 33), next = at; // a word has at most 33
			u32 value = 0, mask = all;
			if (near) {
				const i32 end = at + more * (i32)pitch;
				if (end < 32) { // the run ends here
					mask &= 0xffffffff >> (32 - end);
				}
				u32 rel = w.phase + f * by;
				value = PASTE(NAME, _near)(PASTE(NAME, _bits)(w.from, rel, more < 4 ? (u32)(more - 1) * by + width : whole), of, keep, turns) >> down << up;
				for (next += 4 * (i32)pitch, more -= 4; next < 32 && more > 0; next += 4 * (i32)pitch, more -= 4) {
					rel += 4 * by;
					value |= PASTE(NAME, _near)(PASTE(NAME, _bits)(w.from, rel, more < 4 ? (u32)(more - 1) * by + width : whole), of, keep, turns) << next;
				}
			} else {
				mask = 0;
				for (i64 rel = w.phase + f * run->s; next < 32 && more > 0; rel += run->s, next += (i32)pitch, more--) {
					const u32 x = PASTE(NAME, _bits)(w.from + (rel >> 5), (u32)rel & 31, width) & ones;
					value |= next < 0 ? x >> -next : x << next;
					mask |= next < 0 ? ones >> -next : ones << next;
				}
			}
			if (mask) {
				MERGE(w.to + k, value, mask);
			}
		}
	}
}
