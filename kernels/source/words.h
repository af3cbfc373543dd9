// What kernels share that write elements narrower than a word: an item is a 32-bit
// word of dst, or a span of them, in a run of elements that are dense in dst. A run
// may begin and end within a word.

// merge_bits stores the bits of a word that the mask names. The others may belong to
// other work-items, or not to dst: they are kept, by atomic operations.
DEVICE void merge_bits(GLOBAL u32 *word, u32 value, u32 mask) {
	if (mask == 0xffffffff) {
		*word = value;
	} else {
		ATOMIC_AND(word, ~mask);
		ATOMIC_OR(word, value & mask);
	}
}

// merge_bytes is merge_bits for a mask of whole bytes.
DEVICE void merge_bytes(GLOBAL u32 *word, u32 value, u32 mask) {
	if (mask == 0xffffffff) {
		*word = value;
	} else {
		for (u32 k = 0; k < 4; k++) {
			if (mask >> (8 * k) & 1) {
				((GLOBAL u8 *)word)[k] = (u8)(value >> (8 * k));
			}
		}
	}
}

// bits_between is the mask of the bits [from, to) of a word; to is above from.
DEVICE u32 bits_between(u32 from, u32 to) {
	return (0xffffffff << from) & (0xffffffff >> (32 - to));
}

// Run is where an item's words lie: element 0 of its run at dst position d and
// src position s, and the number of its first word in the run.
typedef struct {
	i64 d, s, word;
} Run;

// item_of finds the run and word of an item; d and s are where its block begins,
// first is the block's index along the cut axis.
DEVICE Run item_of(CONSTANT Params *params, CONSTANT Axis *inner, u32 first, u32 item, i64 d, i64 s) {
	Run r;
	r.word = 0;
	ROLLED
	for (u32 k = 0; k < params->inner; k++) {
		const u32 i = digit(&item, inner + k);
		if (k == 0) {
			r.word = i;
		}
		d += i * inner[k].d;
		s += i * inner[k].s;
	}
	if (params->words == 0) {
		r.word = (i64)first * params->cut + item;
	}
	r.d = d + item * params->d;
	r.s = s + item * params->s;
	r.word *= params->span;
	return r;
}

// Part is what a block does of a run, or of several ones: where the first begins on
// either side, by its element number skip, and how many elements are in each.
typedef struct {
	i64 d, s;
	u32 skip, length, items;
} Part;

// Chunk is an item of 16 bytes: the d-th of dst. Its first slot is the element number e
// of a run, whose element 0 is at s in src; slots [a, b) are the run's.
typedef struct {
	i64 d, s;
	i32 e;
	i32 a, b;
} Chunk;

// part_of finds a block's part. Runs of too many chunks for a block (params->words is 0)
// are cut.
DEVICE Part part_of(CONSTANT Params *params, u32 block, i64 d, i64 s, u32 per) {
	Part p;
	const u32 first = block_of(params, block, &d, &s);
	p.items = items_of(params, first);
	p.skip = 0;
	p.length = (u32)params->length;
	if (params->words == 0) {
		const u32 phase = (u32)d & (per - 1);
		const i64 skip = MAX((i64)first * params->cut * per - phase, 0);
		const i64 left = MAX(params->length - skip, 0);
		p.length = (u32)MIN(left, params->cut * per - (first > 0 ? 0 : phase));
		d += skip;
		if (params->run > 1) {
			p.skip = (u32)skip;
		} else {
			s += skip * AXES(params)[params->outer + params->inner].s;
		}
	}
	p.d = d;
	p.s = s;
	return p;
}

// chunk_of finds an item's chunk.
DEVICE Chunk chunk_of(CONSTANT Params *params, const Part part, u32 item, u32 per) {
	Chunk c;
	i64 d = part.d, s = part.s;
	u32 chunk = item;
	if (params->words > 0) {
		chunk = digit(&item, AXES(params) + params->outer);
		ROLLED
		for (u32 k = params->outer + 1; k < params->outer + params->inner; k++) {
			const u32 i = digit(&item, AXES(params) + k);
			d += i * AXES(params)[k].d;
			s += i * AXES(params)[k].s;
		}
		d += item * params->d;
		s += item * params->s;
	}
	const i32 phase = (i32)(d & (per - 1)), e = (i32)(chunk * per) - phase;
	c.d = (i64)((u64)d / per) + chunk;
	c.s = s;
	c.e = e + (i32)part.skip;
	c.a = MAX(-e, 0);
	c.b = MIN((i32)part.length - e, (i32)per);
	return c;
}

// Pair is two neighbouring 16-byte words of src, or twice the same one.
typedef struct {
	u128 lo, hi;
	u32 shift;
} Pair;

// pair_at reads the words that hold bits [a, b) of the 128 from the given one.
DEVICE Pair pair_at(GLOBAL const u8 *src, i64 bit, i32 a, i32 b) {
	Pair p;
	GLOBAL const u128 *from = (GLOBAL const u128 *)src + (bit >> 7);
	p.shift = (u32)bit & 127;
	const i32 first = ((i32)p.shift + a) >> 7, last = ((i32)p.shift + b - 1) >> 7;
	p.lo = from[MIN(MAX(first, 0), last)];
	p.hi = from[MIN(MAX(first, 1), last)];
	return p;
}

// shifted is the 128 bits that begin at a pair's shift. (Words are variables first:
// compilers keep in memory what a condition chooses from.)
DEVICE u128 shifted(const Pair p) {
	const u32 two = p.shift & 64, one = p.shift & 32;
	const u32 a = p.lo.x, b = p.lo.y, c = p.lo.z, d = p.lo.w, e = p.hi.x, f = p.hi.y, g = p.hi.z, h = p.hi.w;
	const u32 i = two ? c : a, j = two ? d : b, k = two ? e : c, l = two ? f : d, m = two ? g : e, n = two ? h : f;
	const u32 q = one ? j : i, r = one ? k : j, s = one ? l : k, t = one ? m : l, u = one ? n : m;
	u128 v;
	v.x = funnel(q, r, p.shift);
	v.y = funnel(r, s, p.shift);
	v.z = funnel(s, t, p.shift);
	v.w = funnel(t, u, p.shift);
	return v;
}
