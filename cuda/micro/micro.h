// Kernels that measure the constants of the GPU model (see docs/gpu-model.md): not part of the
// library. scripts/ptx.sh compiles them with the prelude of the library's kernels. All of them
// have the arguments of other kernels, and use dst, src, lo and hi.

#define MICRO(name) \
	KERNEL(256) \
	void micro_##name(GLOBAL u8 *dst, GLOBAL const u8 *src, CONSTANT Params *params, i64 dBase, i64 sBase, u64 lo, u64 hi)
#define UNUSED (void)dst, (void)src, (void)params, (void)dBase, (void)sBase, (void)lo, (void)hi
#define FIRST(n) (GROUP_ID * (256 * (n)) + LOCAL_ID) // the first of a work-item's n vectors

// copy: n loads of 16 bytes, then as many stores.
#define MICRO_COPY(n) \
	MICRO(copy_##n) { \
		UNUSED; \
		GLOBAL const u128 *RESTRICT from = (GLOBAL const u128 *)src + FIRST(n); \
		GLOBAL u128 *RESTRICT to = (GLOBAL u128 *)dst + FIRST(n); \
		u128 v[n]; \
		UNROLL \
		for (u32 j = 0; j < n; j++) { \
			v[j] = from[j * 256]; \
		} \
		UNROLL \
		for (u32 j = 0; j < n; j++) { \
			to[j * 256] = v[j]; \
		} \
	}
MICRO_COPY(1)
MICRO_COPY(2)
MICRO_COPY(4)
MICRO_COPY(8)

// read: loads only. It stores their exclusive or if that equals lo.
MICRO(read) {
	UNUSED;
	GLOBAL const u128 *RESTRICT from = (GLOBAL const u128 *)src + FIRST(8);
	u32 all = 0;
	UNROLL
	for (u32 j = 0; j < 8; j++) {
		const u128 v = from[j * 256];
		all ^= v.x ^ v.y ^ v.z ^ v.w;
	}
	if (all == (u32)lo) {
		((GLOBAL u32 *)dst)[0] = all;
	}
}

// write: stores only, of lo.
MICRO(write) {
	UNUSED;
	u128 v;
	v.x = v.y = v.z = v.w = (u32)lo;
	GLOBAL u128 *to = (GLOBAL u128 *)dst + FIRST(8);
	UNROLL
	for (u32 j = 0; j < 8; j++) {
		to[j * 256] = v;
	}
}

// sectors: writes 4 of each 32 bytes, with lo.
MICRO(sectors) {
	UNUSED;
	UNROLL
	for (u32 j = 0; j < 8; j++) {
		((GLOBAL u32 *)dst)[(u64)(FIRST(8) + j * 256) * 8] = (u32)lo;
	}
}

// operations: hi times 64 of 32 bits, in four chains.
MICRO(operations) {
	UNUSED;
	u32 a = LOCAL_ID, b = (u32)lo, c = a ^ b, d = a + b, e = 1, f = 2, g = 3, h = 4;
	for (u32 i = 0; i < (u32)hi; i++) {
		UNROLL
		for (u32 j = 0; j < 8; j++) {
			a += b;
			c ^= d;
			e += f;
			g ^= h;
			b ^= a;
			d += c;
			f ^= e;
			h += g;
		}
	}
	((GLOBAL u32 *)dst)[GROUP_ID * 256 + LOCAL_ID] = a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;
}

// chase: hi loads, each from the address that the previous one returns.
MICRO(chase) {
	UNUSED;
	if (LOCAL_ID == 0) {
		u32 at = (u32)lo;
		for (u32 i = 0; i < (u32)hi; i++) {
			at = ((GLOBAL const u32 *)src)[at];
		}
		((GLOBAL u32 *)dst)[0] = at;
	}
}

// nothing: an empty launch.
MICRO(nothing) { UNUSED; }

#undef MICRO_COPY
#undef FIRST
#undef UNUSED
#undef MICRO
