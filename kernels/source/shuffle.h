// shuffle: a permutation of short axes by way of local memory. A block is a tile of
// several axes: those that are leading in src and those that are in dst. Its
// elements are read in src's order, put into local memory in dst's order, and
// written from there. An element's number is taken apart into two parts only, low
// and high: tables hold what each value of a part adds to a position, and are
// filled once per group.
//
// Tile axis a ends the low part of src's order, and b that of dst's; either may be
// cut. Axes inner are src's order, run is dst's, and d of inner is an element's slot
// in the tile. The first of them is the whole low part, the second the same in the
// last block along a (b), then come the low part's axes (cut: src, words: dst), then
// the high part's. flat times the block's indices of a and b is its elements; span:
// a and b are one axis, a; extent and length are the sizes of src's and dst's tables.

#define ITEMS 4
// One word of each 32 stays free: neighbours in src are in different memory banks.
#define SKEW(at) ((at) + (at) / (1024 / DBITS) * MAX(32 / DBITS, 1))

ENTRY {
	SHARED(WORD, tile, SKEW(SLOTS));
	SHARED(INDEX, sAt, TABLE);
	SHARED(INDEX, dAt, TABLE);
	SHARED(u16, slot, TABLE);
	GLOBAL WORD *RESTRICT to = (GLOBAL WORD *)dst;
	GLOBAL const WORD *RESTRICT from = (GLOBAL const WORD *)src;
	CONSTANT Axis *inner = AXES(params) + params->outer;
	CONSTANT Axis *run = inner + params->inner;
	const u32 sLow = inner->n, dLow = run->n;
	ROLLED
	for (u32 i = LOCAL_ID; i < params->extent; i += GROUP) {
		u32 x = i, k = 2, end = 2 + params->cut, p = 0;
		INDEX s = 0;
		if (x >= sLow) {
			x -= sLow;
			k = end;
			end = params->inner;
		}
		ROLLED
		for (; k < end; k++) {
			const u32 j = digit(&x, inner + k);
			s += (INDEX)j * (INDEX)inner[k].s;
			p += j * (u32)inner[k].d;
		}
		sAt[i] = s;
		slot[i] = (u16)p;
	}
	ROLLED
	for (u32 i = LOCAL_ID; i < params->length; i += GROUP) {
		u32 x = i, k = 2, end = 2 + params->words;
		INDEX d = 0;
		if (x >= dLow) {
			x -= dLow;
			k = end;
			end = params->run;
		}
		ROLLED
		for (; k < end; k++) {
			d += (INDEX)digit(&x, run + k) * (INDEX)run[k].d;
		}
		dAt[i] = d;
	}
	BARRIER();
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		const Tile t = tile_of(params, block, dBase, sBase);
		const u32 count = params->flat * t.na * t.nb;
		CONSTANT Axis *sPart = inner + (t.na < params->ta);
		CONSTANT Axis *dPart = run + (params->span ? t.na < params->ta : t.nb < params->tb);
		for (u32 item = LOCAL_ID; item < count; item += ITEMS * GROUP) {
			u32 at[ITEMS];
			WORD value[ITEMS];
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) { // loads first: they overlap
				u32 high = item + j * GROUP;
				if (high < count) {
					const u32 low = digit(&high, sPart);
					at[j] = slot[low] + slot[sLow + high];
					value[j] = from[t.s + sAt[low] + sAt[sLow + high]];
				}
			}
			UNROLL
			for (u32 j = 0; j < ITEMS; j++) {
				if (item + j * GROUP < count) {
					tile[SKEW(at[j])] = value[j];
				}
			}
		}
		BARRIER();
		for (u32 item = LOCAL_ID; item < count; item += GROUP) {
			u32 high = item;
			const u32 low = digit(&high, dPart), at = high * dLow + low;
			to[t.d + dAt[low] + dAt[dLow + high]] = tile[SKEW(at)];
		}
		BARRIER(); // before the next block's loads
	}
}

#undef ITEMS
#undef SKEW
