// transpose: a transposition of elements narrower than a word. src is dense along axis
// a, and dst along axis b; a block takes on indices of a third axis, c, where a and b
// are short. A work-item reads LINES lines of src, 16 bytes (2 bits: 8) of each,
// transposes squares of PER x PER elements in registers, and puts what are now pieces
// of lines of dst into local memory. From there they are written by 16 bytes.
//
// Outer axes 0, 1 and 2 count the blocks along a, b and c; extent, d and s are those of
// c, and cut is how many of its indices a block takes on. The tile has ta lines along b
// of SLOTS/ta slots, 1<<params->words of them for each index of c. Work-items read side
// by side, 1<<params->flat of them along a.
//
// Where lines of dst do not begin on 16 bytes, blocks overlap by a slot along b (tb is
// less than there is room for), so that 16 bytes of dst are one block's, of whichever
// lines: only a line's own ends are merged.

#define PER (32 / DBITS)            // elements in a word
#define LINES (DBITS == 2 ? 16 : 8) // of src that a work-item reads
#define VEC (32 / LINES)            // words of each
#define ACROSS (1u << ACROSS_LOG)   // elements of each
#define ACROSS_LOG (DBITS == 16 ? 3 : DBITS == 8 ? 4 : 5)
#define UNIT (128 / DBITS) // elements in 16 bytes
#define SLOTS_LOG 11       // of the tile's slots, of 16 bytes
#define SLOTS (1u << SLOTS_LOG)

// EXCHANGE exchanges the high halves of fields of a, which are twice that many bits
// wide, and the low halves of b's.
#define BYTES(a, b, low, high)             \
	{                                      \
		const u32 t = bytes_of(a, b, low); \
		b = bytes_of(a, b, high);          \
		a = t;                             \
	}
#define BITS(a, b, bits, low)                           \
	{                                                   \
		const u32 t = choose(low, a, b << (bits));      \
		b = choose(low, a >> (bits), b);                \
		a = t;                                          \
	}
#define EXCHANGE16(a, b) BYTES(a, b, 0x5410, 0x7632)
#define EXCHANGE8(a, b) BYTES(a, b, 0x6240, 0x7351)
#define EXCHANGE4(a, b) BITS(a, b, 4, 0x0f0f0f0f)
#define EXCHANGE2(a, b) BITS(a, b, 2, 0x33333333)

// SWAP does so with all pairs of lines that are as far apart as elements of that many
// bits are.
#define SWAP(bits)                                                      \
	UNROLL                                                              \
	for (u32 k = 0; k < LINES; k++) {                                   \
		if ((k & (bits) / DBITS) == 0) {                                \
			UNROLL                                                      \
			for (u32 v = 0; v < VEC; v++) {                             \
				EXCHANGE##bits(r[k][v], r[k + (bits) / DBITS][v])       \
			}                                                           \
		}                                                               \
	}

// slot_of is where a slot lies in the tile: moved within 128 bytes, so that neither
// way of going through the tile meets a memory bank twice.
INLINED u32 PASTE(NAME, _slot)(CONSTANT Params *params, u32 slot) {
	const u32 width = params->flat;
	return slot ^ ((slot >> (SLOTS_LOG - width) << (3 - MIN(width, 3))) & 7);
}

// load fills the tile with na x nb x nc elements of src from position s on. full: these
// are all that there is room for; aligned: all lines begin on 16 bytes (2 bits: 8).
INLINED void PASTE(NAME, _load)(SHARED_POINTER u128 *tile, GLOBAL const u8 *src, CONSTANT Params *params, i64 s, u32 na, u32 nb, u32 nc, u32 full, u32 aligned) {
	// Of 32 work-items, up to 8 are side by side.
	u32 width = params->flat;
	FRESH(width);
	const u32 near = MIN(width, 3), warp = LOCAL_ID / 32;
	const u32 x = (LOCAL_ID & ((1 << near) - 1)) | (warp & ((1 << width >> near) - 1)) << near;
	const u32 y = (LOCAL_ID % 32 >> near) | warp >> (width - near) << (5 - near);
	const u32 room = UNIT << params->words;
	const u32 b = y * LINES & (room - 1), c = y * LINES / UNIT >> params->words;
	if (!full && (x * ACROSS >= na || b / UNIT * UNIT >= nb || c >= nc)) { // slots are filled
		return;
	}
	const i64 at = s + c * params->s + b * params->sb + x * ACROSS;
	GLOBAL const u8 *from = src + (at * DBITS >> 3);
	u128 none;
	none.x = none.y = none.z = none.w = 0;
	const i64 step = params->sb * DBITS >> 3;
	u32 r[LINES][VEC];
	UNROLL
	for (u32 n = 0; n < LINES; n += aligned ? LINES : 2) { // more would take too many registers
		Pair line[LINES];
		UNROLL
		for (u32 k = n; k < n + (aligned ? LINES : 2); k++) { // loads first: they overlap
			line[k].shift = 0;
			if (!full && b + k >= nb) {
				line[k].lo = line[k].hi = none;
			} else if (aligned) {
#if VEC == 4
				line[k].lo = *(GLOBAL const u128 *)(from + k * step);
#else
				const u32x2 words = *(GLOBAL const u32x2 *)(from + k * step);
				line[k].lo.x = words.x;
				line[k].lo.y = words.y;
#endif
			} else {
				const u64 first = (u64)(at + k * params->sb);
				const u32 phase = (u32)first % UNIT, need = MIN(na - x * ACROSS, ACROSS);
				line[k].lo = ((GLOBAL const u128 *)src)[first / UNIT];
				line[k].hi = ((GLOBAL const u128 *)src)[first / UNIT + (phase + need > UNIT)];
				line[k].shift = phase * DBITS;
			}
		}
		LOADED_WHOLE();
		UNROLL
		for (u32 k = n; k < n + (aligned ? LINES : 2); k++) {
			const u128 words = aligned ? line[k].lo : shifted(line[k]);
			r[k][0] = words.x;
			r[k][1] = words.y;
#if VEC == 4
			r[k][2] = words.z;
			r[k][3] = words.w;
#endif
		}
	}
#if DBITS <= 16
	SWAP(16)
#endif
#if DBITS <= 8
	SWAP(8)
#endif
#if DBITS <= 4
	SWAP(4)
#endif
#if DBITS <= 2
	SWAP(2)
#endif
	// Column i has the words of lines i % PER, i % PER + PER, ...
	const u32 units = SLOTS_LOG - ACROSS_LOG - width, piece = y * (LINES / PER); // in a line of the tile
	const u32 slot = PASTE(NAME, _slot)(params, (x * ACROSS << units) + piece / 4);
	UNROLL
	for (u32 i = 0; i < ACROSS; i++) {
		SHARED_POINTER u128 *to = tile + (slot ^ i << units);
#define AT(g) r[(g) * PER + i % PER][i / PER]
#if LINES / PER == 4
		u128 value;
		value.x = AT(0);
		value.y = AT(1);
		value.z = AT(2);
		value.w = AT(3);
		*to = value;
#elif LINES / PER == 2
		u32x2 value;
		value.x = AT(0);
		value.y = AT(1);
		((SHARED_POINTER u32x2 *)to)[piece / 2 % 2] = value;
#else
		((SHARED_POINTER u32 *)to)[piece % 4] = AT(0);
#endif
#undef AT
	}
}

// store writes the 16 bytes that are full of the tile, to dst from position d on: those
// of the first nb elements of each line. full: that is all of it; aligned: all lines
// begin on 16 bytes.
INLINED void PASTE(NAME, _store)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, i64 d, u32 na, u32 nb, u32 nc, u32 full, u32 aligned) {
	const u32 units = SLOTS_LOG - ACROSS_LOG - params->flat, lines = GROUP >> units; // that are written at once
	const u32 first = LOCAL_ID >> units, unit = LOCAL_ID & ((1 << units) - 1), c = unit >> params->words;
	const u32 b = (unit & ((1 << params->words) - 1)) * UNIT;
	i64 at = d + c * params->d + first * params->da + b;
	if (full) {
		GLOBAL u8 *to = dst + (at * DBITS >> 3);
		const i64 step = lines * params->da * DBITS >> 3;
		UNROLL
		for (u32 i = 0; i < SLOTS; i += GROUP) {
			*(GLOBAL u128 *)to = tile[PASTE(NAME, _slot)(params, LOCAL_ID + i)];
			to += step;
		}
		return;
	}
	for (u32 i = LOCAL_ID, line = first; i < SLOTS && line < na; i += GROUP, line += lines) {
		const u32 phase = (u32)at % UNIT, next = phase > 0;
		const u32 begin = b + next * UNIT - phase;
		if (aligned && b + UNIT <= nb && c < nc) {
			((GLOBAL u128 *)dst)[(u64)at / UNIT] = tile[PASTE(NAME, _slot)(params, i)];
		} else if (!aligned && begin + UNIT <= nb && c < nc) {
			Pair p;
			const u32 key = PASTE(NAME, _slot)(params, i) ^ i; // the line's
			p.lo = tile[i ^ key];
			p.hi = tile[(i + next) ^ key];
			LOADED_WHOLE();
			p.shift = (UNIT - phase) % UNIT * DBITS;
			((GLOBAL u128 *)dst)[(u64)at / UNIT + next] = shifted(p);
		}
		at += lines * params->da;
	}
}

// ends merges the 16 bytes at lines' ends of which others own some: the first ones, the
// last ones, or both.
INLINED void PASTE(NAME, _ends)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, i64 d, u32 na, u32 nb, u32 nc, u32 heads, u32 tails) {
	const u32 lines = ACROSS_LOG + params->flat, units = SLOTS_LOG - lines;
	for (u32 i = LOCAL_ID; i < nc << lines << 1; i += GROUP) {
		const u32 line = i / 2 & ((1 << lines) - 1), c = i / 2 >> lines, tail = i % 2;
		const i64 at = d + c * params->d + line * params->da;
		const u32 phase = (u32)at % UNIT, end = phase + nb, last = end / UNIT;
		if (line >= na || (tail ? !tails || end % UNIT == 0 || (last == 0 && phase > 0) : !heads || phase == 0)) {
			continue;
		}
		// Bits [from, to) are dst's.
		const u32 from = tail ? 0 : phase * DBITS, to = (tail || last == 0 ? end % UNIT : UNIT) * DBITS;
		const u32 unit = tail ? last : 0, slot = (line << units) + (c << params->words);
		Pair p;
		p.lo = tile[PASTE(NAME, _slot)(params, slot + unit - (unit > 0 && phase > 0))];
		p.hi = tile[PASTE(NAME, _slot)(params, slot + MIN(unit, (nb - 1) / UNIT))];
		LOADED_WHOLE();
		p.shift = (UNIT - phase) % UNIT * DBITS;
		const u128 value = shifted(p);
		GLOBAL u32 *word = (GLOBAL u32 *)((GLOBAL u128 *)dst + ((u64)at / UNIT + unit));
#define WHOLE(k, v)                           \
	if (from <= k * 32 && k * 32 + 32 <= to) { \
		word[k] = v;                           \
	}
		WHOLE(0, value.x)
		WHOLE(1, value.y)
		WHOLE(2, value.z)
		WHOLE(3, value.w)
#undef WHOLE
		// The words that are dst's in part: one at either end, or one in all.
		const u32 first = from / 32, final = to / 32;
#define PICK(k) ((k) & 2 ? ((k) & 1 ? w : z) : (k) & 1 ? y : x)
		const u32 x = value.x, y = value.y, z = value.z, w = value.w;
		if (from % 32 > 0) {
			MERGE(word + first, PICK(first), bits_between(from % 32, MIN(to - first * 32, 32)));
		}
		if (to % 32 > 0 && (final > first || from % 32 == 0)) {
			MERGE(word + final, PICK(final), bits_between(0, to % 32));
		}
#undef PICK
	}
}

ENTRY {
	SHARED(u128, tile, SLOTS);
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		CONSTANT Axis *axes = AXES(params);
		const Tile t = tile_of(params, block, dBase, sBase);
		u32 rest = block;
		digit(&rest, axes);
		const u32 first = digit(&rest, axes + 1), begin = first * params->tb;
		const u32 room = UNIT << params->words, left = params->nb - begin;
		const u32 third = digit(&rest, axes + 2) * params->cut;
		const u32 nc = (u32)MIN((i64)params->cut, params->extent - (i64)third);
		const u32 na = t.na, nb = MIN(left, room);
		const u32 whole = na == ACROSS << params->flat && nb == room && nc << (params->words + params->flat + ACROSS_LOG) == SLOTS;
		const u32 sAligned = (t.s | params->sb | params->s) % ACROSS == 0;
		const u32 dAligned = (t.d | params->da | params->d) % UNIT == 0;
		if (!sAligned) {
			PASTE(NAME, _load)(tile, src, params, t.s, na, nb, nc, 0, 0);
		} else if (whole) {
			PASTE(NAME, _load)(tile, src, params, t.s, na, nb, nc, 1, 1);
		} else {
			PASTE(NAME, _load)(tile, src, params, t.s, na, nb, nc, 0, 1);
		}
		BARRIER();
		if (whole && dAligned && params->tb == room) {
			PASTE(NAME, _store)(dst, tile, params, t.d, na, nb, nc, 1, 1);
		} else {
			const u32 last = left <= room;
			const u32 most = last ? nb : params->tb + UNIT - 1;
			if (dAligned) {
				PASTE(NAME, _store)(dst, tile, params, t.d, na, most, nc, 0, 1);
			} else {
				PASTE(NAME, _store)(dst, tile, params, t.d, na, most, nc, 0, 0);
			}
			const u32 heads = first == 0 && !dAligned, tails = last && (!dAligned || nb % UNIT > 0);
			if (heads || tails) {
				PASTE(NAME, _ends)(dst, tile, params, t.d, na, nb, nc, heads, tails);
			}
		}
		BARRIER(); // before the next block's loads
	}
}

#undef PER
#undef LINES
#undef VEC
#undef ACROSS
#undef UNIT
#undef ACROSS_LOG
#undef SLOTS
#undef SLOTS_LOG
#undef BYTES
#undef BITS
#undef EXCHANGE16
#undef EXCHANGE8
#undef EXCHANGE4
#undef EXCHANGE2
#undef SWAP
