// repack: words of dst from whole words of src, where the elements of a run are dense in src
// too, but have another width (SBITS; 8 on one side, less on the other), or where they run
// backwards (STEP is -1).

#include "kernel.h"

#if SERIAL

#define PER (32 / DBITS)

// rearranged is a word of src with its elements in reverse order; or its lowest four
// elements, each in a byte; or the elements of its four bytes, next to each other.
DEVICE u32 PASTE(NAME, _rearranged)(u32 v) {
#if STEP < 0
#if DBITS == 2
	v = (v & 0x33333333) << 2 | (v >> 2 & 0x33333333);
#endif
#if DBITS <= 4
	v = (v & 0x0f0f0f0f) << 4 | (v >> 4 & 0x0f0f0f0f);
#endif
#if DBITS <= 8
	v = (v & 0x00ff00ff) << 8 | (v >> 8 & 0x00ff00ff);
#endif
	return ROTATE16(v);
#elif SBITS == 4
	v &= 0xffff;
	v = (v | v << 8) & 0x00ff00ff;
	v = (v | v << 4) & 0x0f0f0f0f;
	return SIGNED ? v | (v & 0x08080808) * 0x1e : v;
#elif SBITS == 2
	v &= 0xff;
	v = (v | v << 12) & 0x000f000f;
	v = (v | v << 6) & 0x03030303;
	return SIGNED ? v | (v & 0x02020202) * 0x7e : v;
#elif DBITS == 4
	v &= 0x0f0f0f0f;
	v = (v | v >> 4) & 0x00ff00ff;
	return (v | v >> 8) & 0xffff;
#else
	v &= 0x03030303;
	v = (v | v >> 6) & 0x000f000f;
	return (v | v >> 12) & 0xff;
#endif
}

#define REARRANGED(v) PASTE(NAME, _rearranged)(v)
// cut returns bits of src, and more above them. It reads the words that hold them.
DEVICE u32 PASTE(NAME, _cut)(GLOBAL const u32 *from, i64 bit, u32 count) {
	const u32 shift = (u32)(bit & 31);
	u32 v = from[bit >> 5] >> shift;
	if (shift + count > 32) {
		v |= from[(bit >> 5) + 1] << (32 - shift);
	}
	return v;
}

#define CUT(element, count) PASTE(NAME, _cut)(from, (element) * SBITS, (count) * SBITS)

// word assembles elements [a, b) of a word, whose first one lies at s in src.
DEVICE u32 PASTE(NAME, _word)(GLOBAL const u32 *from, i64 s, u32 a, u32 b) {
#if STEP < 0
	return REARRANGED(CUT(s - b + 1, b - a)) >> (PER - b) * DBITS;
#elif SBITS < DBITS
	return REARRANGED(CUT(s + a, b - a) << a * SBITS);
#else
	u32 value = 0;
	UNROLL
	for (u32 k = 0; k < PER; k += 4) {
		const u32 begin = MAX(a, k), end = MIN(b, k + 4);
		if (begin < end) {
			value |= REARRANGED(CUT(s + begin, end - begin) << (begin - k) * 8) << k * DBITS;
		}
	}
	return value;
#endif
}

// many makes whole words in unconditional loops, which compilers vectorize. It returns how
// many: all of n, or as many as whole words of src make.
DEVICE i64 PASTE(NAME, _many)(GLOBAL u32 *RESTRICT to, GLOBAL const u32 *RESTRICT from, i64 s, i64 n) {
#if STEP < 0
#define MADE 1
#define EACH(FROM) to[w] = REARRANGED(FROM(-w));
	const i64 bit = (s - PER + 1) * SBITS;
#elif SBITS < DBITS
#define MADE (DBITS / SBITS)
#define EACH(FROM) \
	const u32 v = FROM(w); \
	UNROLL \
	for (u32 k = 0; k < MADE; k++) { \
		to[w * MADE + k] = REARRANGED(v >> k * 4 * SBITS); \
	}
	const i64 bit = s * SBITS;
#else
#define MADE 1
#define EACH(FROM) \
	u32 v = 0; \
	UNROLL \
	for (u32 k = 0; k < PER / 4; k++) { \
		v |= REARRANGED(FROM(w * (PER / 4) + k)) << k * 4 * DBITS; \
	} \
	to[w] = v;
	const i64 bit = s * SBITS;
#endif
#define STRAIGHT(k) from[k]
#define ACROSS(k) (from[k] >> shift | from[(k) + 1] << (32 - shift))
	const u32 shift = (u32)(bit & 31);
	from += bit >> 5;
	const i64 times = n / MADE;
	if (shift == 0) {
		for (i64 w = 0; w < times; w++) {
			EACH(STRAIGHT)
		}
	} else {
		for (i64 w = 0; w < times; w++) {
			EACH(ACROSS)
		}
	}
	return times * MADE;
#undef MADE
#undef EACH
#undef STRAIGHT
#undef ACROSS
}

ENTRY {
	GLOBAL const u32 *from = (GLOBAL const u32 *)src;
	CONSTANT Axis *inner = AXES(params) + params->outer;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 first = block_of(params, block, &d0, &s0);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			const Run r = item_of(params, inner, first, item, d0, s0);
			const u32 phase = (u32)(r.d % PER);
			GLOBAL u32 *to = (GLOBAL u32 *)dst + r.d / PER;
			const i64 length = phase + params->length; // from the first word's begin
			const i64 end = MIN(r.word + params->span, (length + PER - 1) / PER);
			for (i64 w = r.word; w < end; w++) {
				const i64 s = STEP < 0 ? r.s + phase - w * PER : r.s - phase + w * PER;
				if (w > 0 || phase == 0) {
					const i64 made = PASTE(NAME, _many)(to + w, from, s, MIN(end, length / PER) - w);
					if (made > 0) {
						w += made - 1;
						continue;
					}
				}
				const u32 a = w == 0 ? phase : 0, b = (u32)MIN(length - w * PER, PER);
				const u32 value = PASTE(NAME, _word)(from, s, a, b);
				MERGE(to + w, value, bits_between(a * DBITS, b * DBITS));
			}
		}
	}
}

#undef PER
#undef CUT

#else

#define OF_BITS(v) PASTE(NAME, _chunk)(v)

#if STEP < 0

// reversed is a word with its elements in reverse order.
DEVICE u32 PASTE(NAME, _reversed)(u32 v) {
#if DBITS == 16
	return bytes_of(v, v, 0x1032);
#elif DBITS == 32
	return v;
#else
#if DBITS == 2
	v = choose(0x33333333, v >> 2, v << 2);
#endif
#if DBITS <= 4
	v = choose(0x0f0f0f0f, v >> 4, v << 4);
#endif
	return bytes_of(v, v, 0x0123);
#endif
}

#elif SBITS < DBITS

// extended is a word of four numbers, sign-extended if SIGNED.
DEVICE u32 PASTE(NAME, _extended)(u32 v) {
	const u32 sign = 0x01010101 << (SBITS - 1);
	return SIGNED ? v | (v & sign) * ((1 << (9 - SBITS)) - 2) : v;
}

#else

// joined packs the elements of eight bytes; for 2 bits, in pairs, each in the lower half of a
// byte.
DEVICE u32 PASTE(NAME, _joined)(u32 a, u32 b) {
#if DBITS == 2
	a = choose(0x03030303, a, a >> 6);
	b = choose(0x03030303, b, b >> 6);
#else
	a = choose(0x0f0f0f0f, a, a >> 4);
	b = choose(0x0f0f0f0f, b, b >> 4);
#endif
	return bytes_of(a, b, 0x6420);
}

#endif

// chunk assembles a chunk.
DEVICE u128 PASTE(NAME, _chunk)(const u128 a) {
	u128 made = a;
#if STEP < 0
	made.x = PASTE(NAME, _reversed)(a.w);
	made.y = PASTE(NAME, _reversed)(a.z);
	made.z = PASTE(NAME, _reversed)(a.y);
	made.w = PASTE(NAME, _reversed)(a.x);
#elif SBITS == 4
	const u32 e = PASTE(NAME, _extended)(a.x & 0x0f0f0f0f), f = PASTE(NAME, _extended)(a.x >> 4 & 0x0f0f0f0f);
	const u32 g = PASTE(NAME, _extended)(a.y & 0x0f0f0f0f), h = PASTE(NAME, _extended)(a.y >> 4 & 0x0f0f0f0f);
	made.x = bytes_of(e, f, 0x5140);
	made.y = bytes_of(e, f, 0x7362);
	made.z = bytes_of(g, h, 0x5140);
	made.w = bytes_of(g, h, 0x7362);
#elif SBITS == 2
	const u32 e = PASTE(NAME, _extended)(a.x & 0x03030303), f = PASTE(NAME, _extended)(a.x >> 2 & 0x03030303);
	const u32 g = PASTE(NAME, _extended)(a.x >> 4 & 0x03030303), h = PASTE(NAME, _extended)(a.x >> 6 & 0x03030303);
	const u32 i = bytes_of(e, f, 0x5140), j = bytes_of(g, h, 0x5140), k = bytes_of(e, f, 0x7362), l = bytes_of(g, h, 0x7362);
	made.x = bytes_of(i, j, 0x5410);
	made.y = bytes_of(i, j, 0x7632);
	made.z = bytes_of(k, l, 0x5410);
	made.w = bytes_of(k, l, 0x7632);
#else
	made.x = PASTE(NAME, _joined)(a.x, a.y);
	made.y = PASTE(NAME, _joined)(a.z, a.w);
#if DBITS == 2
	made.x = bytes_of(choose(0x0f0f0f0f, made.x, made.x >> 4), choose(0x0f0f0f0f, made.y, made.y >> 4), 0x6420);
#endif
#endif
	return made;
}
#endif
