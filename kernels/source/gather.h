// gather: chunks (see chunks.h) that are assembled from elements anywhere in src. It copies
// elements (DBITS equals SBITS), converts between a type below a byte and its container, and
// fills (SBITS is 0: lo and hi hold the pattern, repeated). STEP 127 is for rows along which
// src repeats one element.

#include "kernel.h"

#if SBITS == 0

#define LOADED u128
#define LOAD(c) PASTE(NAME, _pattern)(lo, hi)
#define MAKE(c, x) x
#define ROWS 0

// pattern is a chunk of a fill.
DEVICE u128 PASTE(NAME, _pattern)(u64 lo, u64 hi) {
	u128 v;
	v.x = (u32)lo;
	v.y = (u32)(lo >> 32);
	v.z = (u32)hi;
	v.w = (u32)(hi >> 32);
	return v;
}

#else

// Below a byte a chunk has many elements: the elements of a word are read together, otherwise
// all of a chunk.
#if DBITS < 8
#define AT_ONCE (32 / DBITS)
#else
#define AT_ONCE (128 / DBITS)
#endif

// Slots are elements that are read.
typedef struct {
	u32 x[AT_ONCE];
} PASTE(NAME, _Slots);

#if SBITS < 8
#define PART u8
#else
#define PART PASTE(u, SBITS)
#endif
// At is the place of an element: below a byte, with its first bit.
typedef struct {
	GLOBAL const PART *from;
	u32 shift;
} PASTE(NAME, _At);

// at finds the element at a position.
DEVICE PASTE(NAME, _At) PASTE(NAME, _at)(GLOBAL const u8 *src, i64 at) {
	PASTE(NAME, _At) a;
	a.shift = 0;
#if SBITS < 8
	a.from = src + (at * SBITS >> 3); // before src, if a period begins before it
	a.shift = (u32)at * SBITS & 7;
#else
	a.from = (GLOBAL const PART *)src + at;
#endif
	return a;
}

// cut extracts the element from what was read.
DEVICE u32 PASTE(NAME, _cut)(u32 v, u32 shift) {
#if SBITS < 8
	v = v >> shift & ((1 << SBITS) - 1);
#if SIGNED
	v = (v ^ 1 << (SBITS - 1)) - (1 << (SBITS - 1));
#endif
#endif
	return v;
}

// load reads the element at a position.
DEVICE u32 PASTE(NAME, _load)(GLOBAL const u8 *src, i64 at) {
	const PASTE(NAME, _At) a = PASTE(NAME, _at)(src, at);
	return PASTE(NAME, _cut)(a.from[0], a.shift);
}

#if STEP == 127

#define FOUND PASTE(NAME, _At)
#define FIND(c) PASTE(NAME, _at)(src, (c).s)
#define FORWARD(at, steps) (at).from += steps
#define LOADED u32
#define READ(at) PASTE(NAME, _cut)((at).from[0], (at).shift)
#define NOTHING 0
#define LOAD(c) READ(FIND(c))
#define MAKE(c, x) PASTE(NAME, _repeated)(x)
#define ROWS 1

// repeated is a chunk of one element.
DEVICE u128 PASTE(NAME, _repeated)(u32 x) {
	u128 v;
	v.x = x * (0xffffffff / (0xffffffff >> (32 - DBITS)));
	v.y = v.z = v.w = v.x;
	return v;
}

#else

// slots reads the elements of slots [a, b).
INLINED PASTE(NAME, _Slots) PASTE(NAME, _slots)(GLOBAL const u8 *src, CONSTANT Params *params, const Chunk c, i32 a, i32 b) {
	CONSTANT Axis *run = AXES(params) + params->outer + params->inner;
	const i64 step = run[0].s;
	PASTE(NAME, _Slots) s;
	i64 at = c.s;
	i32 i = c.e + a; // along the innermost axis
	u32 left = 0xffffffff, more = left; // elements up to the end of that axis, and of the next one
	if (params->run > 1) {
		u32 rest = (u32)i;
		i = (i32)digit(&rest, run);
		left = run[0].n - i;
		const u32 next = digit(&rest, run + 1);
		more = left + (run[1].n - 1 - next) * run[0].n;
		at += next * run[1].s;
		ROLLED
		for (u32 k = 2; k < params->run; k++) {
			at += digit(&rest, run + k) * run[k].s;
		}
	}
	at += (i - a) * step;
	const u32 count = (u32)(b - a);
	if (count == AT_ONCE && left >= AT_ONCE) {
		UNROLL
		for (i32 j = 0; j < AT_ONCE; j++, at += step) {
			s.x[j] = PASTE(NAME, _load)(src, at);
		}
	} else if (left >= count) {
		UNROLL
		for (i32 j = 0; j < AT_ONCE; j++, at += step) {
			s.x[j] = 0;
			if ((u32)(j - a) < count) {
				s.x[j] = PASTE(NAME, _load)(src, at);
			}
		}
	} else if (more >= count) {
		const i64 carry = run[1].s - (run[0].n - 1) * step;
		i32 until = (i32)left + a; // slots up to the end of the innermost axis
		UNROLL
		for (i32 j = 0; j < AT_ONCE; j++) {
			s.x[j] = 0;
			if ((u32)(j - a) < count) {
				s.x[j] = PASTE(NAME, _load)(src, at);
			}
			const u32 last = j + 1 == until;
			at += last ? carry : step;
			until += last ? (i32)run[0].n : 0;
		}
	} else {
		ROLLED
		for (i32 j = 0; j < AT_ONCE; j++) { // the slots move down
			u32 x = 0;
			if ((u32)(j - a) < count) {
				u32 rest = (u32)(c.e + j);
				at = c.s;
				ROLLED
				for (u32 k = 0; k < params->run; k++) {
					at += digit(&rest, run + k) * run[k].s;
				}
				x = PASTE(NAME, _load)(src, at);
			}
			UNROLL
			for (i32 k = 0; k < AT_ONCE - 1; k++) {
				s.x[k] = s.x[k + 1];
			}
			s.x[AT_ONCE - 1] = x;
		}
	}
	return s;
}

// word assembles the elements of a word, from a slot on.
INLINED u32 PASTE(NAME, _word)(const PASTE(NAME, _Slots) s, u32 from) {
	u32 v = 0;
	UNROLL
	for (u32 j = 0; j < 32 / DBITS; j++) {
		v |= (s.x[from + j] & (0xffffffff >> (32 - DBITS))) << (j * DBITS);
	}
	return v;
}

#if DBITS < 8

#define LOADED u128
#define LOAD(c) PASTE(NAME, _chunk)(src, params, c)
#define MAKE(c, x) x
#define ROWS 0

// chunk reads a chunk, word by word.
INLINED u128 PASTE(NAME, _chunk)(GLOBAL const u8 *src, CONSTANT Params *params, const Chunk chunk) {
	Chunk c = chunk;
	u128 v;
	ROLLED
	for (i32 k = 0; k < 4; k++) { // the words move down
		const i32 a = MAX(c.a - k * AT_ONCE, 0), b = MIN(c.b - k * AT_ONCE, AT_ONCE);
		v.x = v.y;
		v.y = v.z;
		v.z = v.w;
		v.w = a < b ? PASTE(NAME, _word)(PASTE(NAME, _slots)(src, params, c, a, b), 0) : 0;
		c.e += AT_ONCE;
	}
	return v;
}

#else

#define LOADED PASTE(NAME, _Slots)
#define LOAD(c) PASTE(NAME, _slots)(src, params, c, c.a, c.b)
#define MAKE(c, s) PASTE(NAME, _chunk)(s)
#define ROWS 0

// chunk assembles a chunk.
INLINED u128 PASTE(NAME, _chunk)(const PASTE(NAME, _Slots) s) {
	u128 v;
	v.x = PASTE(NAME, _word)(s, 0);
	v.y = PASTE(NAME, _word)(s, AT_ONCE / 4);
	v.z = PASTE(NAME, _word)(s, AT_ONCE / 2);
	v.w = PASTE(NAME, _word)(s, AT_ONCE / 4 * 3);
	return v;
}

#endif
#endif

#undef AT_ONCE
#undef PART
#endif
