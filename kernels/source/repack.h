// repack: words of dst from whole words of src, where the elements of a run are
// dense in src too, but of another width (SBITS; 8 on one side, less on the other),
// or where they run backwards (STEP is -1).

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

#if SERIAL

#define PER (32 / DBITS)

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

// word puts elements [a, b) of a word together, whose first one lies at s in src.
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

// many makes whole words in loops without a condition, of which compilers make
// vectors. It returns how many: all of n, or those that whole words of src make.
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

#if SBITS > DBITS
#define PAIRS (SBITS / DBITS)
#else
#define PAIRS 1
#endif

// Loaded is the source of a chunk.
typedef struct {
	Pair p[PAIRS];
} PASTE(NAME, _Loaded);

// load reads what makes slots [a, b), the first slot of which is at s in src.
DEVICE PASTE(NAME, _Loaded) PASTE(NAME, _load)(GLOBAL const u8 *src, i64 s, i32 a, i32 b) {
	PASTE(NAME, _Loaded) x;
#if STEP < 0
	x.p[0] = pair_at(src, (s + 1) * SBITS - 128, 128 - b * SBITS, 128 - a * SBITS);
#else
	UNROLL
	for (i32 k = 0; k < PAIRS; k++) {
		const i32 begin = MAX(a * SBITS - k * 128, 0), end = MIN(b * SBITS - k * 128, 128);
		if (begin < end) {
			x.p[k] = pair_at(src, s * SBITS + k * 128, begin, end);
		}
	}
#endif
	return x;
}

// make puts the chunk together.
DEVICE u128 PASTE(NAME, _make)(const PASTE(NAME, _Loaded) x) {
	u128 v = shifted(x.p[0]), made;
#if STEP < 0
	made.x = REARRANGED(v.w);
	made.y = REARRANGED(v.z);
	made.z = REARRANGED(v.y);
	made.w = REARRANGED(v.x);
#elif SBITS == 4
	made.x = REARRANGED(v.x);
	made.y = REARRANGED(v.x >> 16);
	made.z = REARRANGED(v.y);
	made.w = REARRANGED(v.y >> 16);
#elif SBITS == 2
	made.x = REARRANGED(v.x);
	made.y = REARRANGED(v.x >> 8);
	made.z = REARRANGED(v.x >> 16);
	made.w = REARRANGED(v.x >> 24);
#elif DBITS == 4
	made.x = REARRANGED(v.x) | REARRANGED(v.y) << 16;
	made.y = REARRANGED(v.z) | REARRANGED(v.w) << 16;
	v = shifted(x.p[1]);
	made.z = REARRANGED(v.x) | REARRANGED(v.y) << 16;
	made.w = REARRANGED(v.z) | REARRANGED(v.w) << 16;
#else
#define WORD_OF(v) (REARRANGED(v.x) | REARRANGED(v.y) << 8 | REARRANGED(v.z) << 16 | REARRANGED(v.w) << 24)
	made.x = WORD_OF(v);
	v = shifted(x.p[1]);
	made.y = WORD_OF(v);
	v = shifted(x.p[2]);
	made.z = WORD_OF(v);
	v = shifted(x.p[3]);
	made.w = WORD_OF(v);
#undef WORD_OF
#endif
	return made;
}

#undef PAIRS
#define LOADED PASTE(NAME, _Loaded)
#define LOAD(c) PASTE(NAME, _load)(src, STEP < 0 ? c.s - c.e : c.s + c.e, c.a, c.b)
#define MAKE(c, x) PASTE(NAME, _make)(x)
#define ROWS 1
#endif
