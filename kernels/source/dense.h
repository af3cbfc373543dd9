// dense: casts between elements that are dense on both sides. It goes behind the form
// that converts, lookup or value, which gives it PREPARE and CONVERT(out, words) of TOGETHER items, of ITEMS at a time.
//
// An item is EACH elements: 16 bytes of the side with the wider elements, read and
// written in one piece each, in words of 32 bits that hold what there is of them. Items
// lie at multiples of their size in dst; the first and the last of a run may be dst's
// in part. The flat number of an item counts runs' items, whose step is EACH.

#define EACH (128 / MAX(DBITS, SBITS))
#define RAW MAX(1, EACH * SBITS / 32) // words of an item in src
#define OUT MAX(1, EACH * DBITS / 32) // and in dst
#define BASE 64 // what positions in a block are counted from is a multiple of that
#define UNIT MAX(EACH, 32 / DBITS) // elements of whole items and whole words
#define SHIFT_OF(n) ((n) == 1 ? 0 : (n) == 2 ? 1 : (n) == 4 ? 2 : (n) == 8 ? 3 : 4)
#define BYTES(n, bits) ((bits) >= 8 ? (n) * ((bits) / 8) : (n) >> ((bits) == 4 ? 1 : 2)) // of elements that fill them

// Place is an item: slots [begin, end) of its elements are dst's. Element 0 is at d in
// dst, and at s in src. It is alone if no other run has bits of the words that it is in:
// else all work-items merge theirs into them.
typedef struct {
	i32 d, s;
	u32 begin, end, alone;
} PASTE(NAME, _place);
#define PLACE PASTE(NAME, _place)

// place finds an item. Positions count from the block's base; run is the number of
// elements in a run, or in what is left of it.
INLINED PLACE PASTE(NAME, _find)(CONSTANT Params *params, u32 first, u32 item, u32 run, i32 d, i32 s) {
	PLACE p;
	u32 number = item;
	if (params->inner == 0) {
		d += item * EACH;
		s += item * EACH;
	} else {
		CONSTANT Axis *inner = AXES(params) + params->outer;
		first = 0;
		ROLLED
		for (u32 k = 0; k < params->inner; k++) {
			const u32 i = digit(&item, inner + k);
			number = k == 0 ? i : number;
			d += i * (i32)inner[k].d;
			s += i * (i32)inner[k].s;
		}
		d += item * (i32)params->d;
		s += item * (i32)params->s;
	}
	const i32 phase = d & (EACH - 1);
	p.d = d - phase;
	p.s = s - phase;
	p.begin = number == 0 && first == 0 ? phase : 0;
	const i32 end = (i32)(run - number * EACH) + phase; // of the run
	p.end = (u32)MAX(MIN(end, EACH), 0);
	const i32 before = p.d & (UNIT - 1) & ~(EACH - 1); // elements of the word in front of the item
	p.alone = (first > 0 || (i32)number * EACH - phase >= before) && end >= UNIT - before;
	return p;
}

#if EACH * SBITS == 128
#define PIECE u128
#elif EACH * SBITS == 64
#define PIECE u32x2
#elif EACH * SBITS == 32
#define PIECE u32
#elif EACH * SBITS == 16
#define PIECE u16
#else
#define PIECE u8
#endif

// words takes a piece apart.
INLINED void PASTE(NAME, _words)(u32 *raw, const PIECE v) {
#if EACH * SBITS == 128
	raw[0] = v.x;
	raw[1] = v.y;
	raw[2] = v.z;
	raw[3] = v.w;
#elif EACH * SBITS == 64
	raw[0] = v.x;
	raw[1] = v.y;
#else
	raw[0] = v;
#endif
}

// read_part loads an item, or what is dst's of it, from wherever it lies.
INLINED PIECE PASTE(NAME, _read_part)(GLOBAL const u8 *from, const PLACE p) {
	if (p.begin == 0 && p.end == EACH && (p.s & (EACH - 1)) == 0) {
		return *(GLOBAL const PIECE *)(from + BYTES(p.s, SBITS));
	}
	u32 raw[RAW];
	// Word i of the item lies across words i and i+1 from here on.
	GLOBAL const u32 *words = (GLOBAL const u32 *)from + (p.s >> SHIFT_OF(32 / SBITS));
	const u32 shift = (p.s & (32 / SBITS - 1)) * SBITS;
	const u32 begin = shift + p.begin * SBITS, end = shift + p.end * SBITS;
	u32 low = begin < 32 && end > begin ? words[0] : 0;
	UNROLL
	for (u32 i = 0; i < RAW; i++) {
#if SBITS == 32
		raw[i] = low;
		low = i + 1 < RAW && begin < 32 * i + 64 && end > 32 * i + 32 ? words[i + 1] : 0;
#else
		const u32 high = begin < 32 * i + 64 && end > 32 * i + 32 ? words[i + 1] : 0;
		raw[i] = funnel(low, high, shift);
		low = high;
#endif
	}
#if EACH * SBITS == 128
	PIECE v;
	v.x = raw[0];
	v.y = raw[1];
	v.z = raw[2];
	v.w = raw[3];
	return v;
#elif EACH * SBITS == 64
	PIECE v;
	v.x = raw[0];
	v.y = raw[1];
	return v;
#else
	return (PIECE)raw[0];
#endif
}

// write stores a whole item.
INLINED void PASTE(NAME, _write)(GLOBAL u8 *at, const u32 *out) {
#if EACH * DBITS == 128
	u128 v;
	v.x = out[0];
	v.y = out[1];
	v.z = out[2];
	v.w = out[3];
	*(GLOBAL u128 *)at = v;
#elif EACH * DBITS == 64
	u32x2 v;
	v.x = out[0];
	v.y = out[1];
	*(GLOBAL u32x2 *)at = v;
#elif EACH * DBITS == 32
	*(GLOBAL u32 *)at = out[0];
#elif EACH * DBITS == 16
	*(GLOBAL u16 *)at = (u16)out[0];
#else
	*at = (u8)out[0];
#endif
}

// write_part stores what is dst's of an item.
INLINED void PASTE(NAME, _write_part)(GLOBAL u8 *to, const u32 *out, const PLACE p) {
	to += BYTES(p.d, DBITS);
	if (p.alone) {
		PASTE(NAME, _write)(to, out);
		return;
	}
	const u32 within = EACH * DBITS < 32 ? (p.d & (32 / DBITS - 1)) * DBITS : 0; // where in a word a small item begins
	GLOBAL u32 *words = (GLOBAL u32 *)(to - within / 8);
	UNROLL
	for (u32 i = 0; i < OUT; i++) {
		const u32 begin = MAX(within + p.begin * DBITS, 32 * i), end = MIN(within + p.end * DBITS, 32 * i + 32);
		if (begin < end) {
			MERGE(words + i, out[i] << within, bits_between(begin - 32 * i, end - 32 * i));
		}
	}
}

// Many is where a block's items lie one after the other, and the same way in words on
// both sides: items [begin, end) are whole and alone, and item 0 is at to and from.
typedef struct {
	GLOBAL u8 *to;
	GLOBAL const u8 *from;
	i32 begin, end;
} PASTE(NAME, _many);

// many finds those items; there are none in blocks of several runs.
INLINED PASTE(NAME, _many) PASTE(NAME, _together)(u32 runs, u32 first, u32 run, GLOBAL u8 *to, GLOBAL const u8 *from, i32 d, i32 s) {
	PASTE(NAME, _many) m;
	const i32 phase = d & (EACH - 1);
	m.to = to + BYTES(d - phase, DBITS);
	m.from = from + BYTES(s - phase, SBITS);
	m.begin = first > 0 ? 0 : (((d + UNIT - 1) & ~(UNIT - 1)) - d + phase) / EACH;
	m.end = runs || ((s - phase) & (EACH - 1)) != 0 ? 0 : (((d + (i32)run) & ~(UNIT - 1)) - d + phase) / EACH;
	return m;
}

ENTRY {
	PREPARE
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		i64 d0 = dBase, s0 = sBase;
		const u32 first = block_of(params, block, &d0, &s0);
		const u32 left = items_of(params, first), runs = params->inner > 0;
		const u32 run = (u32)MIN(params->length - (runs ? 0 : (i64)first * params->cut * EACH), 1 << 30);
		GLOBAL u8 *to = dst + (u64)d0 / BASE * (BASE * DBITS / 8);
		GLOBAL const u8 *from = src + (u64)s0 / BASE * (BASE * SBITS / 8);
		const i32 d = (i32)d0 & (BASE - 1), s = (i32)s0 & (BASE - 1);
		const PASTE(NAME, _many) many = PASTE(NAME, _together)(runs, first, run, to, from, d, s);
		for (u32 item = LOCAL_ID; item < left; item += ITEMS * GROUP) {
			PLACE place[ITEMS];
			PIECE raw[ITEMS];
			const u32 whole = (i32)item >= many.begin && (i32)(item + (ITEMS - 1) * GROUP) < many.end;
			if (whole) {
				GLOBAL const PIECE *at = (GLOBAL const PIECE *)many.from + item;
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
					raw[j] = at[j * GROUP];
				}
			} else {
				UNROLL
				for (u32 j = 0; j < ITEMS; j++) {
					place[j].d = place[j].s = 0;
					place[j].begin = place[j].end = place[j].alone = 0;
					if (item + j * GROUP < left) {
						place[j] = PASTE(NAME, _find)(params, first, item + j * GROUP, run, d, s);
					}
					raw[j] = PASTE(NAME, _read_part)(from, place[j]);
				}
			}
			GLOBAL u8 *at = many.to + (u64)item * (EACH * DBITS / 8);
			UNROLL
			for (u32 j = 0; j < ITEMS; j += TOGETHER) {
				u32 words[TOGETHER * RAW], out[TOGETHER * OUT];
				UNROLL
				for (u32 i = 0; i < TOGETHER; i++) {
					PASTE(NAME, _words)(words + i * RAW, raw[j + i]);
				}
				CONVERT(out, words);
				UNROLL
				for (u32 i = 0; i < TOGETHER; i++) {
					if (whole) {
						PASTE(NAME, _write)(at + (j + i) * GROUP * (EACH * DBITS / 8), out + i * OUT);
					} else {
						PASTE(NAME, _write_part)(to, out + i * OUT, place[j + i]);
					}
				}
			}
		}
	}
}

#undef EACH
#undef RAW
#undef OUT
#undef ITEMS
#undef TOGETHER
#undef PIECE
#undef BASE
#undef UNIT
#undef SHIFT_OF
#undef BYTES
#undef PLACE
#undef PREPARE
#undef CONVERT
