// squares: a transposition by way of squares of elements in registers. It goes behind
// transpose or turned, which give it the constants and lines(), which fills the rows of
// squares. src is dense along axis a, and dst along axis b; a block takes on indices of a
// third axis, c, where a and b are short. A work-item has ACROSS elements each of LINES
// lines of src: VEC words of what they become in dst. It transposes squares of PER x PER
// elements, and puts what are now pieces of lines of dst into local memory. From there they
// are written by 16 bytes. With NEIGHBOURS, pieces of lines that begin anywhere are read once,
// and given on by way of local memory.
//
// Outer axes 0, 1 and 2 count the blocks along a, b and c; extent, d and s are those of
// c, and cut is how many of its indices a block takes on. The tile has ta lines along b
// of SLOTS/ta slots, 1<<params->words of them for each index of c. Work-items read side
// by side, 1<<params->flat of them along a.
//
// Where lines of dst do not begin on 16 bytes, blocks overlap by a slot along b (tb is
// less than there is room for), so that 16 bytes of dst are one block's, of whichever
// lines: only a line's own ends are merged. Where a block has whole lines that follow each
// other in dst (span), its 16 bytes are put together across lines, too: inner axes 0 and 1
// have the extents of a line and of the lines for each index of c.

#define PER (32 / DBITS)                 // elements in a word
#define VEC (ACROSS * DBITS / 32)        // words of a line that a work-item has
#define ACROSS (1u << ACROSS_LOG)        // elements of it
#define UNIT (128 / DBITS)               // elements in 16 bytes
#define UNIT_LOG (DBITS == 32 ? 2 : DBITS == 16 ? 3 : DBITS == 8 ? 4 : DBITS == 4 ? 5 : 6)
#define SLOTS (1u << SLOTS_LOG)          // of the tile, of 16 bytes

// Shape says where in the tile slots lie: a line has 1<<units of them, 1<<words for each
// index of c, and begins so far from a multiple of 128 bytes as its number moved left by
// apart says: lines of less than that lie beside each other. near is the same for lines
// that are written by neighbouring work-items.
typedef struct {
	u32 units, words, apart, near;
} PASTE(NAME, Shape);

DEVICE PASTE(NAME, Shape) PASTE(NAME, _shape)(CONSTANT Params *params) {
	PASTE(NAME, Shape) shape;
	shape.units = SLOTS_LOG - ACROSS_LOG - params->flat;
	shape.words = params->words;
	shape.apart = shape.units < 3 ? 3 : SPREAD(params) ? 0 : params->words;
	shape.near = SPREAD(params) ? 3 : UP_TO(3, params->flat); // 3: none
	return shape;
}

// moved is how slots of a line are moved (by ^), within 128 bytes, so that no way of going through
// the tile meets a memory bank twice.
INLINED u32 PASTE(NAME, _moved)(const PASTE(NAME, Shape) shape, u32 line) {
	return ((line >> ACROSS_LOG << shape.near) ^ (line << shape.apart)) & 7;
}

// slot is where a slot of a line lies.
INLINED u32 PASTE(NAME, _slot)(const PASTE(NAME, Shape) shape, u32 line, u32 slot) {
	return ((line << shape.units) + slot) ^ PASTE(NAME, _moved)(shape, line);
}

// Share is what a work-item loads of a block's na x nb x nc elements, which begin at position s of
// src: ACROSS elements, the first at begin along a and at in src, others 1<<side further on each, of
// LINES lines, the first of which is y * LINES and most of which follow. It is the x-th of those
// side by side. there: the block has any of them.
typedef struct {
	i64 at;
	u32 x, y, begin, side, there;
	i32 most;
} PASTE(NAME, Share);

INLINED PASTE(NAME, Share) PASTE(NAME, _share)(CONSTANT Params *params, i64 s, u32 na, u32 nb, u32 nc) {
	// Of 32 work-items, up to 8 are side by side, or all where their elements are, too.
	u32 width = params->flat;
	FRESH(width);
	const u32 near = MIN(width, SPREAD(params) ? 5 : 3), warp = LOCAL_ID / 32;
	const u32 room = UNIT << params->words;
	PASTE(NAME, Share) share;
	share.x = (LOCAL_ID & ((1 << near) - 1)) | (warp & ((1 << width >> near) - 1)) << near;
	share.y = (LOCAL_ID % 32 >> near) | warp >> (width - near) << (5 - near);
	const u32 b = share.y * LINES & (room - 1), c = share.y * LINES / UNIT >> params->words;
	share.side = SPREAD(params) ? near : 0;
	share.begin = (share.x >> share.side << (share.side + ACROSS_LOG)) | (share.x & ((1u << share.side) - 1));
	share.there = share.begin < na && b / UNIT * UNIT < nb && c < nc;
	share.at = s + c * params->s + b * params->sb + share.begin;
	share.most = (i32)(nb - b);
	return share;
}

#ifdef NEIGHBOURS
// given is where local memory has the first of the pieces that a neighbour gives.
INLINED u32 PASTE(NAME, _given)(u32 width, u32 y, u32 x) {
	return (y << width) + (x ^ (y & ((1u << MIN(width, 3)) - 1)));
}

// pieces reads a work-item's pieces of lines that begin anywhere, and puts into local memory
// what others need of them.
INLINED void PASTE(NAME, _pieces)(SHARED_POINTER PIECE *pieces, u32 *r, GLOBAL const u8 *src, CONSTANT Params *params, const PASTE(NAME, Share) share, i64 s, u32 na, u32 nb, u32 nc) {
	// Of each line, work-item 0 gives nothing, and so there is a place for what the last one
	// is given: a piece in which the line may end.
	u32 width = params->flat;
	FRESH(width);
	const u32 high = 8 - width, room = UNIT << params->words;
	u32 i = LOCAL_ID;
	FRESH(i);
	ROLLED
	for (; i < (u32)LINES << high; i += GROUP) {
		const u32 k = i >> high, y = i & ((1u << high) - 1), line = y * LINES + k;
		const u32 b = line & (room - 1), c = line / UNIT >> params->words;
		const i64 end = s + c * params->s + b * params->sb + (na - 1);
		PIECE last = PASTE(NAME, _nothing)();
		if (b < nb && c < nc && (u32)end % ACROSS < (na - 1) % ACROSS) { // not in the last one's own
			last = *PASTE(NAME, _piece_of)(src, end);
		}
		LOADED_WHOLE();
		pieces[k * GROUP + PASTE(NAME, _given)(width, y, (na - 1) / ACROSS)] = last;
	}
	if (share.there && share.most >= LINES) {
		PASTE(NAME, _lines)(r, src, share.at, params->sb, share.most, 1, 0);
	} else {
		PASTE(NAME, _lines)(r, src, share.at, params->sb, share.there ? share.most : 0, 0, 0);
	}
	if (share.there && share.x > 0) {
		PASTE(NAME, _give)(pieces + PASTE(NAME, _given)(width, share.y, share.x - 1), r);
	}
}
#endif

// put transposes what a work-item has loaded, into the tile.
INLINED void PASTE(NAME, _put)(SHARED_POINTER u128 *tile, u32 *r, const PASTE(NAME, Shape) shape, const PASTE(NAME, Share) share) {
	TRANSPOSE
	// Column i has the words of lines i % PER, i % PER + PER, ... From one to the next in
	// this order, a bit of i changes, and what depends on that of where its slot lies.
	const u32 piece = share.y * (LINES / PER); // in a line of the tile
	const Local slots = local_of(tile);
	u32 at16 = PASTE(NAME, _slot)(shape, share.begin, piece / 4) * 16 + piece % 4 * 4;
	UNROLL
	for (u32 n = 0; n < ACROSS; n++) {
		const u32 i = n ^ (n >> 1), changes = ((n + 1) & ~n) << share.side;
		const Local to = slots + at16;
#define AT(g) ROW((g) * PER + i % PER)[i / PER]
#if LINES / PER >= 4
		u128 value;
		value.x = AT(0);
		value.y = AT(1);
		value.z = AT(2);
		value.w = AT(3);
		put_local_128(to, value);
#if LINES / PER == 8 // the next slot
		value.x = AT(4);
		value.y = AT(5);
		value.z = AT(6);
		value.w = AT(7);
		put_local_128(slots + (at16 ^ 16), value);
#endif
#elif LINES / PER == 2
		u32x2 value;
		value.x = AT(0);
		value.y = AT(1);
		put_local_pair(to, value);
#else
		put_local_32(to, AT(0));
#endif
#undef AT
		at16 ^= ((changes << shape.units) ^ ((changes << shape.apart) & 7)) * 16;
	}
}

// store writes the 16 bytes that are full of the tile, to dst from position d on: those
// of the first nb elements of each line. full: that is all of it; aligned: all lines
// begin on 16 bytes.
INLINED void PASTE(NAME, _store)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, const PASTE(NAME, Shape) shape, i64 d, u32 na, u32 nb, u32 nc, u32 full, u32 aligned) {
	const u32 lines = GROUP >> shape.units; // that are written at once
	const u32 first = LOCAL_ID >> shape.units, unit = LOCAL_ID & ((1 << shape.units) - 1), c = unit >> shape.words;
	const u32 b = (unit & ((1 << shape.words) - 1)) * UNIT;
	i64 at = d + c * params->d + first * params->da + b;
	const i64 step = lines * params->da;
	if (full) {
		GLOBAL u8 *to = dst + (at * DBITS >> 3);
		UNROLL
		for (u32 i = 0; i < SLOTS / GROUP; i++) {
			*(GLOBAL u128 *)to = tile[PASTE(NAME, _slot)(shape, first + i * lines, unit)];
			to += step * DBITS >> 3;
		}
		return;
	}
	// Lines a stride apart begin alike: what is found out about the first holds for all of these
	// that a work-item writes. Their slots are moved by a number that grows.
	const u32 stride = MAX(lines, MAX(MAX(UNIT, ACROSS), 8)), bytes = shape.units + 4; // of a line, the logarithm
	i64 jump = stride * params->da * DBITS >> 3;
	FRESH64(jump);
	const i32 most = (i32)(nb - b) - UNIT; // elements before the first 16 bytes that are full
	const u32 end = c < nc ? na << bytes : 0;
	const Local slots = local_of(tile);
	u32 place = unit;
	FRESH(place);
	for (u32 k = first; k < stride; k += lines) {
		const u32 before = aligned ? 0 : (0 - (u32)at) % UNIT, moved = PASTE(NAME, _moved)(shape, k);
		const u32 lo = (place ^ moved) * 16, hi = ((place + 1) % (1 << shape.units) ^ moved) * 16; // hi is not wanted behind the last
		GLOBAL u8 *to = dst + ((at + before) * DBITS >> 3);
		u32 more = 0;
		for (u32 line = (i32)before <= most ? k << bytes : end; line < end; line += stride << bytes) {
			const u32 begin = line ^ (more & 0x70);
			Pair p;
			p.lo = local_128(slots + (begin ^ lo));
			if (!aligned) {
				p.hi = local_128(slots + (begin ^ hi));
				p.shift = before * DBITS;
			}
			LOADED_WHOLE();
			*(GLOBAL u128 *)to = aligned ? p.lo : shifted(p);
			to += jump;
			more += stride >> ACROSS_LOG << (shape.near + 4);
		}
		at += step;
	}
}

// merge writes bits [from, to) of a value.
DEVICE void PASTE(NAME, _merge)(GLOBAL u32 *word, const u128 value, u32 from, u32 to) {
#define WHOLE(k, v)                            \
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

// ends merges the 16 bytes at lines' ends of which others own some: the first ones, the
// last ones, or both.
INLINED void PASTE(NAME, _ends)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, const PASTE(NAME, Shape) shape, i64 d, u32 na, u32 nb, u32 nc, u32 heads, u32 tails) {
	const u32 lines = ACROSS_LOG + params->flat, both = heads & tails, items = nc << lines << both;
	u32 i = LOCAL_ID;
	FRESH(i);
	for (; i < items; i += GROUP) {
		const u32 line = i >> both & ((1 << lines) - 1), c = i >> both >> lines, tail = both ? i % 2 : tails;
		const i64 at = d + c * params->d + line * params->da;
		const u32 phase = (u32)at % UNIT, end = phase + nb, last = end / UNIT;
		if (line >= na || (tail ? end % UNIT == 0 || (last == 0 && phase > 0) : phase == 0)) {
			continue;
		}
		// Bits [from, to) are dst's.
		const u32 from = tail ? 0 : phase * DBITS, to = (tail || last == 0 ? end % UNIT : UNIT) * DBITS;
		const u32 unit = tail ? last : 0, slot = c << shape.words;
		Pair p;
		p.lo = tile[PASTE(NAME, _slot)(shape, line, slot + unit - (unit > 0 && phase > 0))];
		p.hi = tile[PASTE(NAME, _slot)(shape, line, slot + MIN(unit, (nb - 1) / UNIT))];
		LOADED_WHOLE();
		p.shift = (UNIT - phase) % UNIT * DBITS;
		const u128 value = shifted(p);
		PASTE(NAME, _merge)((GLOBAL u32 *)((GLOBAL u128 *)dst + ((u64)at / UNIT + unit)), value, from, to);
	}
}

// across writes the lines of a block, which follow each other from dst position d on: each
// 16 bytes are put together from as many of them as it has.
INLINED void PASTE(NAME, _across)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, const PASTE(NAME, Shape) shape, i64 d, u32 na, u32 nb, u32 nc) {
	CONSTANT Axis *inner = AXES(params) + params->outer;
	const u32 phase = (u32)d % UNIT, end = phase + na * nb * nc, lines = inner[1].n;
	const i32 whole = (i32)((nb - 1) / UNIT * UNIT); // where a line's last slot begins
	GLOBAL u128 *to = (GLOBAL u128 *)dst + (u64)d / UNIT;
	u32 i = LOCAL_ID;
	FRESH(i);
	for (; i * UNIT < end; i += GROUP) {
		const u32 from = i == 0 ? phase : 0, until = MIN(end - i * UNIT, UNIT); // elements that are dst's
		u32 c = i * UNIT + from - phase;
		const i32 begin = (i32)digit(&c, inner) - (i32)from; // in its line, of the 16 bytes
		u32 a = digit(&c, inner + 1);
		const u32 slot = (c << shape.words) + (u32)(begin >> UNIT_LOG), key = PASTE(NAME, _slot)(shape, a, 0);
		const u32 more = begin < whole ? 0xffffffff : 0; // of the line
		Pair p;
		p.lo = tile[(slot ^ key) % SLOTS];
		p.hi = tile[((slot + 1) ^ key) % SLOTS];
		LOADED_WHOLE();
		p.hi.x &= more;
		p.hi.y &= more;
		p.hi.z &= more;
		p.hi.w &= more;
		p.shift = (u32)begin % UNIT * DBITS;
		u128 value = shifted(p);
		for (i32 next = (i32)nb - begin; next < (i32)until; next += nb) { // the next line begins there
			a++;
			if (a == lines) {
				a = 0;
				c++;
			}
			p.lo.x = p.lo.y = p.lo.z = p.lo.w = 0;
			p.hi = tile[PASTE(NAME, _slot)(shape, a, c << shape.words)];
			LOADED_WHOLE();
			p.shift = (UNIT - next) * DBITS;
			const u128 line = shifted(p);
			value.x |= line.x;
			value.y |= line.y;
			value.z |= line.z;
			value.w |= line.w;
		}
		if (until - from == UNIT) {
			to[i] = value;
		} else {
			PASTE(NAME, _merge)((GLOBAL u32 *)(to + i), value, from * DBITS, until * DBITS);
		}
	}
}

ENTRY {
	PREPARE
	SHARED(u128, tile, SLOTS);
	const PASTE(NAME, Shape) shape = PASTE(NAME, _shape)(params);
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
		const u32 sAligned = !SPREAD(params) && (t.s | params->sb | params->s) % ACROSS == 0;
		const u32 dAligned = (t.d | params->da | params->d) % UNIT == 0;
		const PASTE(NAME, Share) share = PASTE(NAME, _share)(params, t.s, na, nb, nc);
		u32 r[LINES * VEC];
#ifdef NEIGHBOURS
		// PoCL needs barriers that no condition has, even one that is the same for a group.
		if (!sAligned) {
			PASTE(NAME, _pieces)((SHARED_POINTER PIECE *)tile, r, src, params, share, t.s, na, nb, nc);
		} else if (whole) {
			PASTE(NAME, _lines)(r, src, share.at, params->sb, share.most, 1, 1);
		} else if (share.there) {
			PASTE(NAME, _lines)(r, src, share.at, params->sb, share.most, 0, 1);
		}
		BARRIER();
		if (!sAligned && share.there) {
			PASTE(NAME, _join)(r, (SHARED_POINTER PIECE *)tile + PASTE(NAME, _given)(params->flat, share.y, share.x), (u32)share.at, (u32)params->sb);
		}
		BARRIER(); // before squares take the place of pieces
#else
		if (share.there) {
			PASTE(NAME, _lines)(r, src, share.at, params->sb, share.side, (i32)(na - share.begin), share.most, whole, sAligned KNOWS);
		}
#endif
		if (share.there) {
			PASTE(NAME, _put)(tile, r, shape, share);
		}
		BARRIER();
		if (params->span) {
			PASTE(NAME, _across)(dst, tile, params, shape, t.d, na, nb, nc);
		} else if (whole && dAligned && params->tb == room) {
			PASTE(NAME, _store)(dst, tile, params, shape, t.d, na, nb, nc, 1, 1);
		} else {
			const u32 last = left <= room;
			const u32 most = last ? nb : params->tb + UNIT - 1;
			if (dAligned) {
				PASTE(NAME, _store)(dst, tile, params, shape, t.d, na, most, nc, 0, 1);
			} else {
				PASTE(NAME, _store)(dst, tile, params, shape, t.d, na, most, nc, 0, 0);
			}
			const u32 heads = first == 0 && !dAligned, tails = last && (!dAligned || nb % UNIT > 0);
			if (heads || tails) {
				PASTE(NAME, _ends)(dst, tile, params, shape, t.d, na, nb, nc, heads, tails);
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
#undef UNIT_LOG
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
#undef TRANSPOSE
#undef ROW
#undef PREPARE
#undef KNOWN
#undef KNOWS
#undef CONVERT
#undef ITEMS
#undef TOGETHER
#undef SLOT
#undef SPREAD
#undef SPREADS
#undef NEIGHBOURS
#undef PIECE
#undef PIECE_WORDS
