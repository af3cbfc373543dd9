// store: how chunks are written.

#include "kernel.h"

#if defined(OF_BITS) && SBITS > DBITS
#define CHUNK (128 * DBITS / SBITS)
#else
#define CHUNK 128
#endif

// store writes bits [a, b) of a chunk.
INLINED void PASTE(NAME, _store)(GLOBAL u32 *to, u128 v, u32 a, u32 b) {
	if (b - a == CHUNK) {
#if CHUNK == 128
		STORE_GLOBAL(u128, to, v);
#elif CHUNK == 64
		STORE_GLOBAL(u64, to, (u64)v.y << 32 | v.x);
#else
		STORE_GLOBAL(u32, to, v.x);
#endif
		return;
	}
#define INSIDE(k, v) \
	if (32 * k < CHUNK && a <= 32 * k && b >= 32 * k + 32) { \
		to[k] = v; \
	}
	INSIDE(0, v.x)
	INSIDE(1, v.y)
	INSIDE(2, v.z)
	INSIDE(3, v.w)
#undef INSIDE
	const u32 first = a / 32, last = b / 32;
	if (a % 32 > 0) {
		MERGE(to + first, word_of(v, first), bits_between(a % 32, MIN(b - first * 32, 32)));
	}
	if (b % 32 > 0 && (a % 32 == 0 || last > first)) {
		MERGE(to + last, word_of(v, last), bits_between(0, b % 32));
	}
}
