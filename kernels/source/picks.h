// picks: chunks of 16 bytes of dst whose elements have an index each, contiguous in at. Extents
// are below 2^31, and all elements of src that indices reach lie within that many elements. lo
// is the base of at. Run axis 0 is a row. Partial chunks, and chunks with an index out of
// range, go element by element.

#include "kernel.h"

#define PER (128 / DBITS)
#define TOGETHER (128 / ABITS) // indices in one load
#define EVERY UNROLL for (u32 k = 0; k < PER; k++)

// read reads a chunk's indices. One that does not fit 32 bits becomes the nearest number that
// does, which is out of range on the same side.
INLINED void PASTE(NAME, _read)(i32 *index, GLOBAL const u8 *at, i64 first) {
#if ABITS == 32
	if (first % TOGETHER == 0) {
		UNROLL
		for (u32 k = 0; k < PER / TOGETHER; k++) {
			const u128 v = ((GLOBAL const u128 *)at)[first / TOGETHER + k];
			LOADED_WHOLE();
			index[4 * k] = (i32)v.x;
			index[4 * k + 1] = (i32)v.y;
			index[4 * k + 2] = (i32)v.z;
			index[4 * k + 3] = (i32)v.w;
		}
	} else {
		EVERY {
			index[k] = ((GLOBAL const i32 *)at)[first + k];
		}
	}
#else
	i64 all[PER];
	if (first % TOGETHER == 0) {
		UNROLL
		for (u32 k = 0; k < PER / TOGETHER; k++) {
			const u64x2 v = ((GLOBAL const u64x2 *)at)[first / TOGETHER + k];
			LOADED_WHOLE();
			all[2 * k] = (i64)v.x;
			all[2 * k + 1] = (i64)v.y;
		}
	} else {
		EVERY {
			all[k] = ((GLOBAL const i64 *)at)[first + k];
		}
	}
	EVERY {
		const i32 low = (i32)all[k], high = (i32)(all[k] >> 32);
		index[k] = high == low >> 31 ? low : (high >> 31) ^ 0x7fffffff;
	}
#endif
}

// step moves each element by its index, and returns whether any index is out of range.
INLINED u32 PASTE(NAME, _step)(i32 *s, const i32 *index, i32 extent, i32 stride, u32 outside) {
	const i32 around = outside >= OUTSIDE_CLAMP_ZERO ? 0 : extent;
	const u32 clamps = outside == OUTSIDE_CLAMP || outside == OUTSIDE_CLAMP_ZERO;
	u32 missing = 0;
	EVERY {
		i32 from = index[k] + (around & index[k] >> 31);
		if (clamps) {
			from = MIN(MAX(from, 0), extent - 1);
		}
		missing |= (u32)from >= (u32)extent;
		s[k] += (i32)((u32)from * (u32)stride);
	}
	return missing;
}

ENTRY {
	GLOBAL const WORD *from = (GLOBAL const WORD *)src;
	CONSTANT Axis *inner = AXES(params) + params->outer, *run = inner + params->inner;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Position begin = {dBase, sBase, (i64)lo};
		const u32 first = position_of(params, block, &begin);
		const u32 left = items_of(params, first);
		for (u32 item = LOCAL_ID; item < left; item += GROUP) {
			Position p = begin;
			u32 rest = item;
			i64 chunk = (i64)first * params->cut + item;
			if (params->words > 0) {
				chunk = digit(&rest, inner);
				ROLLED
				for (u32 k = 1; k < params->inner; k++) {
					step_to(&p, params, params->outer + k, digit(&rest, inner + k));
				}
				step_cut(&p, params, rest);
			}
			const i64 e = chunk * PER - (p.d & (PER - 1)); // index in the row of slot 0
			const i32 step = (i32)run->s;
			GLOBAL WORD *to = (GLOBAL WORD *)dst + p.d + e;
			p.s += e * step;
			p.a += e;
			u32 missing = e < 0 || params->length - e < PER;
			if (!missing) {
				i32 s[PER];
				u32 v[PER];
				EVERY {
					s[k] = (i32)k * step;
				}
				ROLLED
				for (u32 k = 0; k < params->na; k++) {
					CONSTANT Index *one = INDICES(params) + k;
					i32 index[PER];
					PASTE(NAME, _read)(index, at, p.a + one->offset);
					missing |= PASTE(NAME, _step)(s, index, (i32)one->extent, (i32)one->stride, one->outside);
				}
				if (!missing) {
					GLOBAL const WORD *origin = from + p.s;
					EVERY {
						v[k] = origin[s[k]];
					}
					u128 all;
#if DBITS == 8
					all.x = pack_bytes(v[0], v[1], v[2], v[3]);
					all.y = pack_bytes(v[4], v[5], v[6], v[7]);
					all.z = pack_bytes(v[8], v[9], v[10], v[11]);
					all.w = pack_bytes(v[12], v[13], v[14], v[15]);
#elif DBITS == 16
					all.x = pack_halves(v[0], v[1]);
					all.y = pack_halves(v[2], v[3]);
					all.z = pack_halves(v[4], v[5]);
					all.w = pack_halves(v[6], v[7]);
#else
					all.x = v[0];
					all.y = v[1];
					all.z = v[2];
					all.w = v[3];
#endif
					STORE_GLOBAL(u128, to, all);
				}
			}
			if (missing) {
				const i64 end = MIN(params->length - e, PER);
				ROLLED
				for (i64 k = MAX(-e, 0); k < end; k++) {
					i64 s = p.s + k * step;
					if (find(params, at, ABITS, p.a + k, &s, status)) {
						to[k] = from[s];
					}
				}
			}
		}
	}
}

#undef PER
#undef TOGETHER
#undef EVERY
