// Kernels of the self test: barriers, and errors that a kernel may make.

#define TEST_KERNEL(name) \
	KERNEL(256) \
	void name(GLOBAL u8 *dst, GLOBAL const u8 *src, CONSTANT Params *params, i64 dBase, i64 sBase, u64 lo, u64 hi)
#define UNUSED(x) (void)(x)

// Reverses each block's lo words, hi times, through shared memory.
TEST_KERNEL(test_reverse) {
	SHARED(u32, tile, 256);
	UNUSED(params), UNUSED(dBase), UNUSED(sBase);
	const u64 first = GROUP_ID * lo;
	tile[LOCAL_ID] = ((const u32 *)src)[first + LOCAL_ID];
	BARRIER();
	for (u64 i = 0; i < hi; i++) {
		const u32 other = tile[lo - 1 - LOCAL_ID];
		BARRIER();
		tile[LOCAL_ID] = other;
		BARRIER();
	}
	((u32 *)dst)[first + LOCAL_ID] = tile[LOCAL_ID];
}

// The work-items below lo reach a barrier.
TEST_KERNEL(test_diverge) {
	UNUSED(dst), UNUSED(src), UNUSED(params), UNUSED(dBase), UNUSED(sBase), UNUSED(hi);
	if (LOCAL_ID < lo) {
		BARRIER();
	}
}

// Work-item hi of block 1 writes a word dBase bytes into dst, shifted by lo.
TEST_KERNEL(test_write) {
	UNUSED(src), UNUSED(params), UNUSED(sBase);
	if (GROUP_ID == 1 && LOCAL_ID == hi) {
		*(u32 *)(dst + dBase) = 1u << lo;
	}
}

#undef TEST_KERNEL
#undef UNUSED
