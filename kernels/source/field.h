// field: words of dst that fields of a few bits, at some pitch on both sides, are in. A run
// has params->na fields of params->nb bits each, the axis run[0] has their pitch as its
// extent and src's as its step; elements are single bits. What is between fields in dst
// is kept.

// bits_at reads the field that begins at a bit of src.
DEVICE u32 PASTE(NAME, _bits_at)(GLOBAL const u32 *src, i64 at, u32 width) {
	GLOBAL const u32 *word = src + (at >> 5);
	const u32 shift = (u32)at & 31;
	u32 v = word[0] >> shift;
	if (shift + width > 32) {
		v |= word[1] << (32 - shift);
	}
	return v;
}

#define TOGETHER 4 // fields whose loads overlap

ENTRY {
	GLOBAL u32 *to = (GLOBAL u32 *)dst;
	GLOBAL const u32 *from = (GLOBAL const u32 *)src;
	CONSTANT Axis *inner = AXES(params) + params->outer, *run = inner + params->inner;
	const u32 fields = params->na, width = params->nb, pitch = run->n, ones = 0xffffffff >> (32 - width);
	const i64 step = run->s;
	const i32 length = (i32)params->length;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 first = block_of(params, block, &d0, &s0);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			const Run r = item_of(params, inner, first, item, d0, s0);
			const i32 begin = (i32)r.word * 32 - (i32)(r.d & 31); // the word's first bit in the run
			if (begin >= length) {
				continue;
			}
			const u32 e = begin > 0 ? quotient((u32)begin, run) : 0;
			i32 at = (i32)(e * pitch) - begin; // the field's first bit in the word
			i64 s = r.s + e * step;
			u32 value = 0, mask = 0, more = fields - e;
			while (at < 32 && more > 0) {
				u32 v[TOGETHER];
				UNROLL
				for (i32 j = 0; j < TOGETHER; j++) {
					v[j] = 0;
					if (at + j * (i32)pitch < 32 && (u32)j < more) {
						v[j] = PASTE(NAME, _bits_at)(from, s + j * step, width) & ones;
					}
				}
				UNROLL
				for (i32 j = 0; j < TOGETHER; j++, at += (i32)pitch, s += step) {
					if (at < 32 && (u32)j < more) {
						value |= at < 0 ? v[j] >> -at : v[j] << at;
						mask |= at < 0 ? ones >> -at : ones << at;
					}
				}
				more -= MIN(more, TOGETHER);
			}
			if (mask) {
				MERGE(to + ((r.d + begin) >> 5), value, mask);
			}
		}
	}
}

#undef TOGETHER
