// narrow: elements of pack.h as they are, or between a type below a byte and its container.

#include "kernel.h"

#if SBITS > 0
#define SETUP
#define LOADED u32
#define LOAD(at) PASTE(NAME, _load)(src, at)
#define CONVERT(x) x

// load reads the element at a position.
DEVICE u32 PASTE(NAME, _load)(GLOBAL const u8 *src, i64 at) {
#if SBITS < 8
	u32 v = src[at / (8 / SBITS)] >> (at % (8 / SBITS) * SBITS) & ((1 << SBITS) - 1);
#if SIGNED
	v = (v ^ 1 << (SBITS - 1)) - (1 << (SBITS - 1));
#endif
#elif SBITS == 8
	u32 v = src[at];
#else
	u32 v = ((GLOBAL const u16 *)src)[at];
#endif
	return v;
}
#endif
