// lines: how squares.h reads elements narrower than a word: a work-item reads 16 bytes of a
// line (2 bits: 8).
//
// Lines that begin anywhere are read by aligned pieces of that size, each once: a work-item
// reads the pieces in which its elements begin. The piece in which they end belongs to the next
// work-item, and comes through local memory.

#include "kernel.h"

#define LINES (DBITS == 2 ? 16 : 8) // of src that a work-item reads
#define ACROSS_LOG (DBITS == 16 ? 3 : DBITS == 8 ? 4 : 5)
#define SLOTS_LOG 11
#define NEIGHBOURS
#define NEXT 32 // pieces from one line to the next among exchanged pieces
#define SPREAD(params) 0
#define PREPARE
#define KNOWN
#define KNOWS

#if DBITS > 2
#define PIECE u128
#define PIECE_WORDS 4
#else
#define PIECE u32x2
#define PIECE_WORDS 2
#endif

INLINED PIECE PASTE(NAME, _nothing)() {
	PIECE v;
	v.x = v.y = 0;
#if DBITS > 2
	v.z = v.w = 0;
#endif
	return v;
}

INLINED void PASTE(NAME, _words)(u32 *r, const PIECE v) {
	r[0] = v.x;
	r[1] = v.y;
#if DBITS > 2
	r[2] = v.z;
	r[3] = v.w;
#endif
}

// cut is a piece from bit shift on, followed by the start of the next piece.
INLINED void PASTE(NAME, _cut)(u32 *r, const PIECE next, u32 shift) {
#if DBITS > 2
	Pair p;
	p.lo.x = r[0];
	p.lo.y = r[1];
	p.lo.z = r[2];
	p.lo.w = r[3];
	p.hi = next;
	p.shift = shift;
	PASTE(NAME, _words)(r, shifted(p));
#else
	const u32 one = 0 - (shift >> 5 & 1);
	const u32 x = choose(one, r[1], r[0]), y = choose(one, next.x, r[1]), z = choose(one, next.y, next.x);
	r[0] = funnel(x, y, shift);
	r[1] = funnel(y, z, shift);
#endif
}

// piece_of is the place of the piece that holds an element.
INLINED GLOBAL const PIECE *PASTE(NAME, _piece_of)(GLOBAL const u8 *src, i64 element) {
	return (GLOBAL const PIECE *)src + ((u64)element >> ACROSS_LOG);
}

// lines reads the pieces of LINES lines, or of most lines if not full: the first has element
// at, and each further line an element sb further on. aligned: pieces begin with these.
INLINED void PASTE(NAME, _lines)(u32 *r, GLOBAL const u8 *src, i64 at, i64 sb, i32 most, u32 full, u32 aligned) {
	GLOBAL const PIECE *from = PASTE(NAME, _piece_of)(src, at);
	const i64 step = sb >> ACROSS_LOG;
	PIECE line[LINES];
	UNROLL
	for (u32 k = 0; k < LINES; k++) { // loads first: they overlap
		line[k] = PASTE(NAME, _nothing)();
		if (full || (i32)k < most) {
			line[k] = aligned ? from[k * step] : *PASTE(NAME, _piece_of)(src, at + k * sb);
		}
	}
	LOADED_WHOLE();
	UNROLL
	for (u32 k = 0; k < LINES; k++) {
		PASTE(NAME, _words)(r + k * PIECE_WORDS, line[k]);
	}
}

// give stores the pieces where the previous work-item reads them.
INLINED void PASTE(NAME, _give)(SHARED_POINTER PIECE *to, const u32 *r) {
	UNROLL
	for (u32 k = 0; k < LINES; k++) {
		PIECE v;
		v.x = r[k * PIECE_WORDS];
		v.y = r[k * PIECE_WORDS + 1];
#if DBITS > 2
		v.z = r[k * PIECE_WORDS + 2];
		v.w = r[k * PIECE_WORDS + 3];
#endif
		to[k * NEXT] = v;
	}
}

// join cuts a work-item's elements from its pieces and the ones it was given. The lines' first
// elements are at at, each sb further on; only their offsets within a piece matter.
INLINED void PASTE(NAME, _join)(u32 *r, SHARED_POINTER const PIECE *given, u32 at, u32 sb) {
	UNROLL
	for (u32 k = 0; k < LINES; k++) {
		const PIECE next = given[k * NEXT];
		LOADED_WHOLE();
		PASTE(NAME, _cut)(r + k * PIECE_WORDS, next, (at + k * sb) * DBITS);
	}
}
