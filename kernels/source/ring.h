// ring: the tile of a transposition by squares whose lines of dst begin anywhere, of one shape: eight
// work-items across, and ROUND slots of each line. These are a ring, which begins further on by one for
// each work-item across, and by turn.
//
// Blocks overlap by a sector, as those of slots do. A group does a run of them along b, length apart, one
// after the other. What they have in common is kept: the ring turns, and the next block reads none of it.

#define ROUND (SLOTS / ACROSS / 8) // slots of a line
#define PER_LOG (DBITS == 16 ? 1 : DBITS == 8 ? 2 : 3)

INLINED u32 PASTE(NAME, _slot)(const PASTE(NAME, Shape) shape, u32 line, u32 slot) {
	return line * ROUND + (slot + (line >> ACROSS_LOG) + shape.turn) % ROUND;
}

// Pieces lie where the squares of those that they are given come, and so not in a slot that is kept.
INLINED u32 PASTE(NAME, _given)(const PASTE(NAME, Shape) shape, u32 width, u32 x, u32 y) {
	return PASTE(NAME, _slot)(shape, x << ACROSS_LOG | y % (UNIT / LINES), y / (UNIT / LINES));
}

// put transposes what a work-item has loaded, into the tile.
INLINED void PASTE(NAME, _put)(SHARED_POINTER u128 *tile, u32 *r, const PASTE(NAME, Shape) shape, const PASTE(NAME, Share) share) {
	TRANSPOSE
	const u32 piece = share.y * (LINES / PER); // in a line of the tile
	const u32 at = PASTE(NAME, _slot)(shape, share.begin, piece / 4) * 16 + piece % 4 * 4;
	UNROLL
	for (u32 i = 0; i < ACROSS; i++) {
		PASTE(NAME, _column)(local_of(tile), at, i * ROUND * 16, r, i);
	}
}

// store writes the 16 bytes that are full of the tile, to dst from position d on: those of nb elements
// of each line, without what the blocks before have written, or later ones do, if this is not the
// first or the last.
INLINED void PASTE(NAME, _store)(GLOBAL u8 *dst, SHARED_POINTER const u128 *tile, CONSTANT Params *params, u32 turn, i64 d, u32 na, u32 nb, u32 head, u32 last) {
	// A warp writes eight slots of four lines, a power of two apart: so that their words begin in
	// banks next to each other.
	const u32 low = (u32)params->da & (0 - (u32)params->da) & (PER - 1), apart = low == 0 ? 0 : PER_LOG + LEADING32(low) - 31;
	const u32 warp = LOCAL_ID / 32, place = LOCAL_ID % 8 | warp % (ROUND / 8) * 8, four = warp / (ROUND / 8);
	const u32 k = (four & ((1 << apart) - 1)) | (LOCAL_ID / 8 % 4 | four >> apart << 2) << apart;
	// Lines ACROSS apart begin alike: of each of these, a work-item writes the slot that lies in
	// the same place.
	const i64 at = d + k * params->da;
	const u32 before = (0 - (u32)at) % UNIT, unit = (place - turn) % ROUND;
	const i64 jump = (ACROSS * params->da * DBITS >> 3) - 16;
	GLOBAL u8 *to = dst + ((at + before + unit * UNIT) * DBITS >> 3);
	// Which of them are the block's: one bit each, from the top on.
	const u32 lines = na > k ? (na - k + ACROSS - 1) / ACROSS : 0, full = nb < before ? 0 : (nb - before) / UNIT;
	u32 which = 0;
	UNROLL
	for (u32 odd = 0; odd < 2; odd++) { // the first, third, ... line, and the others: sectors are two units
		const u32 begun = (0 - ((u32)at + odd * ACROSS * (u32)params->da)) % SECTOR / UNIT;
		u32 units = ones_above(head ? 0 : begun) & ~ones_above(last ? full : begun + (u32)params->length / UNIT);
#if DBITS == 4
		units = units % 256 * 0x01010101;
#elif DBITS == 8
		units = units % 65536 * 0x00010001;
#endif
		which |= funnel(units, units, unit + 1) & (0xaaaaaaaa >> odd);
	}
	which &= ones_above(32 - lines);
	const Local line = local_of(tile) + k * (ROUND * 16);
	Local words[5];
	UNROLL
	for (u32 j = 0; j < 5; j++) {
		words[j] = line + (place * 4 + before / PER + j) % (ROUND * 4) * 4;
	}
	UNROLL
	for (u32 i = 0; i < SLOTS / GROUP; i++) {
		if (which & 1u << (31 - i)) {
			u32 v[5];
			UNROLL
			for (u32 j = 0; j < 5; j++) {
				v[j] = LOCAL_VALUE(u32, words[j], i * ACROSS * ROUND * 16);
			}
			u128 value;
			value.x = funnel(v[0], v[1], before * DBITS);
			value.y = funnel(v[1], v[2], before * DBITS);
			value.z = funnel(v[2], v[3], before * DBITS);
			value.w = funnel(v[3], v[4], before * DBITS);
			*(GLOBAL u128 *)to = value;
		}
		to += jump + (unit == i ? ROUND * 16 : 0);
	}
}

ENTRY {
	SHARED(u128, tile, SLOTS);
	PASTE(NAME, Shape) shape;
	shape.units = shape.words = shape.apart = shape.near = 0; // which a ring does not need
	const u32 room = ROUND * UNIT, step = (u32)params->length, kept = room - step;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		u32 row, third;
		Tile t = banded_of(params, block, dBase, sBase, &row, &third);
		const u32 na = t.na, sAligned = (t.s | params->sb | params->s) % ACROSS == 0;
		u32 start = row * params->step, had = 0;
		const u32 stop = MIN(start + params->step, params->nb - kept);
		shape.turn = 0;
		do {
			const u32 left = na == 0 ? 0 : params->nb - start, head = start == 0, last = left <= room, nb = MIN(left, room);
			const u32 whole = na == 8 * ACROSS && nb == room;
			const PASTE(NAME, Share) share = PASTE(NAME, _share)(params, t.s, had, na, nb, 1);
			u32 r[LINES * VEC];
			PASTE(NAME, _load)(tile, r, src, params, shape, share, na, whole, sAligned);
			if (share.there) {
				PASTE(NAME, _put)(tile, r, shape, share);
			}
			BARRIER();
			PASTE(NAME, _store)(dst, tile, params, shape.turn, t.d, na, nb, head, last);
			if (head || last) {
				PASTE(NAME, _ends)(dst, tile, params, shape, t.d, na, nb, 1, head, last);
			}
			BARRIER(); // before the next block's loads
			start += step;
			t.s += step * params->sb;
			t.d += step;
			shape.turn += step / UNIT;
			had = kept;
		} while (start < stop);
	}
}

#undef ROUND
#undef PER_LOG
