// stamp: periodic_chunks.h for rows that src repeats, shorter than a chunk and contiguous in
// dst. A chunk is assembled once, and stored in each of a block's periods (see periods.h): only
// the part of it that belongs to dst differs from one to the next.

#include "kernel.h"
#include "periods.h"
#include "gather.h"
#include "store.h"

#define PER (CHUNK / DBITS)

ENTRY {
	const u32 n = (u32)params->length;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d = dBase, s = sBase;
		const u32 item = block_of(params, block, &d, &s) * params->cut + LOCAL_ID;
		u32 period = quotient(block, AXES(params));
		period = digit(&period, AXES(params) + 1) * params->tb;
		const u32 periods = MIN(params->tb, params->nb - period), phase = (u32)d & (PER - 1);
		if (item >= params->extent) {
			continue;
		}
		Chunk c;
		u32 x = item * PER + PER * n - phase;
		c.d = (i64)((u64)d / PER) + item;
		c.s = s;
		c.e = (i32)digit(&x, AXES(params) + params->outer);
		c.a = 0;
		c.b = PER;
		const u128 value = MAKE(c, LOAD(c));
		GLOBAL u32 *to = (GLOBAL u32 *)dst + c.d * (CHUNK / 32);
		i64 at = (i64)period * params->ta * n + item * PER - phase, left = (i64)params->na * n - at; // in and of the run, from slot 0 on
		const i64 elements = params->da * PER;
		for (u32 k = 0; k < periods; k++) {
			const i32 a = (i32)MAX(-at, 0), b = (i32)MIN(left, PER);
			if (a < b) {
				PASTE(NAME, _store)(to, value, (u32)a * DBITS, (u32)b * DBITS);
			}
			to += params->da * (CHUNK / 32);
			at += elements;
			left -= elements;
		}
	}
}

#include "undefs.h"
