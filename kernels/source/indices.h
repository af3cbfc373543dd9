// What kernels share that find elements by indices in memory.
//
// The descriptor goes on behind its axes: with the same axes once more, whose s
// is the step that at makes (of the cut axis: desc->sa), and with desc->na
// indices.

typedef struct {
	i64 offset; // where at has it
	i64 extent, stride;
	i64 unused;
} Index;

// Place is an element's position on all sides.
typedef struct {
	i64 d, s, a;
} Place;

DEVICE CONSTANT Axis *at_axes(CONSTANT Desc *desc) { return AXES(desc) + desc->outer + desc->inner + desc->run; }

// step_to moves a place i steps along axis k.
DEVICE void step_to(Place *p, CONSTANT Desc *desc, u32 k, u32 i) {
	CONSTANT Axis *axis = AXES(desc) + k;
	p->d += i * axis->d;
	p->s += i * axis->s;
	p->a += i * at_axes(desc)[k].s;
}

// step_cut moves a place i steps along the cut axis.
DEVICE void step_cut(Place *p, CONSTANT Desc *desc, u32 i) {
	p->d += i * desc->d;
	p->s += i * desc->s;
	p->a += i * desc->sa;
}

// place_of is block_of on all sides.
DEVICE u32 place_of(CONSTANT Desc *desc, u32 block, Place *p) {
	const u32 first = digit(&block, AXES(desc));
	step_to(p, desc, 0, first);
	ROLLED
	for (u32 k = 1; k < desc->outer; k++) {
		step_to(p, desc, k, digit(&block, AXES(desc) + k));
	}
	return first;
}

// index_at reads an index of 32 or 64 bits.
DEVICE i64 index_at(GLOBAL const u8 *at, i64 position, u32 bits) {
	return bits == 32 ? (i64)((GLOBAL const i32 *)at)[position] : ((GLOBAL const i64 *)at)[position];
}

// find moves a position in src by the indices at a position of at. If one of them
// is out of range it returns 0, and the first to find one notes it: status 0 is 1
// then, and the others are the index and the extent, low words first.
DEVICE u32 find(CONSTANT Desc *desc, GLOBAL const u8 *at, u32 bits, i64 position, i64 *s, GLOBAL u32 *status) {
	CONSTANT Index *by = (CONSTANT Index *)(at_axes(desc) + desc->outer + desc->inner + desc->run);
	ROLLED
	for (u32 k = 0; k < desc->na; k++) {
		const i64 index = index_at(at, position + by[k].offset, bits);
		const i64 extent = by[k].extent;
		if (index < -extent || index >= extent) {
			if (ATOMIC_OR(status, 1) == 0) {
				status[1] = (u32)index;
				status[2] = (u32)((u64)index >> 32);
				status[3] = (u32)extent;
				status[4] = (u32)((u64)extent >> 32);
			}
			return 0;
		}
		// The extent is added if the index is negative: by a shift, as Mesa 22.3 gets
		// index < 0 wrong of an i32 that was widened.
		*s += (index + (extent & index >> 63)) * by[k].stride;
	}
	return 1;
}
