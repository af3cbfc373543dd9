// chunk_loads: how forms whose items are chunks (parts.h) read src, by run.h, repack.h or
// gather.h, which define
//
//	LOADED      a type: what is read of src for a chunk
//	LOAD(c)     reads it, of a Chunk c (parts.h): slots [c.a, c.b) are wanted
//	MAKE(c, x)  makes a u128 of it; other slots have any bits
//	ROWS        1: a chunk is assembled from parts of rows, each by LOAD and MAKE;
//	            0: LOAD itself gathers elements across several axes
//
// or, if rows are dense in src, too, forwards or (STEP is -1) backwards,
//
//	OF_BITS(v)  makes a u128 of the next 128 bits of src; chunks are smaller where
//	            a chunk of 16 bytes would need more
//
// They see src, params, lo and hi. A 16-byte word of src is read only if one of its bits is
// wanted.

#include "kernel.h"
#include ELEMENTS
#include "store.h"

#define PER (CHUNK / DBITS)

#ifdef OF_BITS

// place locates the bits of slots [a, b) of a chunk.
DEVICE Place PASTE(NAME, _place)(GLOBAL const u8 *src, const Chunk c, i32 a, i32 b) {
#if STEP < 0
	return place_of(src, (c.s - c.e + 1 - PER) * SBITS, (PER - b) * SBITS, (PER - a) * SBITS);
#else
	return place_of(src, (c.s + c.e) * SBITS, a * SBITS, b * SBITS);
#endif
}

#define FOUND Place
#define FIND(c) PASTE(NAME, _place)(src, c, c.a, c.b)
#define FORWARD(p, steps) (p).from += steps
#define LOADED Pair
#define READ(p) pair_at(p)
#define NOTHING no_pair()
#define LOAD(c) READ(FIND(c))
#define MAKE(c, x) OF_BITS(shifted(x))
#define ROWS 1

#endif
