// map: replaces elements of 2 to 8 bits by the entries of a table in memory that they index. It
// stands for cast.h in element.h, pack.h and lookup.h. lo is the element index at which the
// table begins, hi the width of src's elements.

#include "kernel.h"
#include "conversions.h"

// looked is an element of the table.
DEVICE u32 PASTE(NAME, _looked)(GLOBAL const u8 *entries, i64 at) {
#if DBITS < 8
	return entries[at / (8 / DBITS)] >> (at % (8 / DBITS) * DBITS) & ((1 << DBITS) - 1);
#else
	return ((GLOBAL const WORD *)entries)[at];
#endif
}

#define ELEMENT(x) PASTE(NAME, _looked)(entries, (i64)lo + (x))

#if CAST
#define SETUP
#define LOADED u32
#define LOAD(at) PASTE(NAME, _bits)(src, at, (u32)hi)
#define CONVERT(x) ELEMENT(x)

// bits reads the element at a position.
DEVICE u32 PASTE(NAME, _bits)(GLOBAL const u8 *src, i64 at, u32 bits) {
	if (bits == 8) {
		return src[at];
	}
	return bits == 4 ? src[at >> 1] >> (at & 1) * 4 & 15 : src[at >> 2] >> (at & 3) * 2 & 3;
}
#else
#define LEARN
#endif
