// Pieces are 8 to 128 bits of memory that one instruction reads or writes. In registers they
// are words of 32 bits.

#pragma once
#include "parts.h"

typedef u8 Piece8;
typedef u16 Piece16;
typedef u32 Piece32;
typedef u32x2 Piece64;
typedef u128 Piece128;

// words_N splits a piece into words.
INLINED void words_8(u32 *words, Piece8 v) { words[0] = v; }
INLINED void words_16(u32 *words, Piece16 v) { words[0] = v; }
INLINED void words_32(u32 *words, Piece32 v) { words[0] = v; }
INLINED void words_64(u32 *words, Piece64 v) {
	words[0] = v.x;
	words[1] = v.y;
}
INLINED void words_128(u32 *words, Piece128 v) {
	words[0] = v.x;
	words[1] = v.y;
	words[2] = v.z;
	words[3] = v.w;
}

// piece_N joins words to a piece.
INLINED Piece8 piece_8(const u32 *words) { return (Piece8)words[0]; }
INLINED Piece16 piece_16(const u32 *words) { return (Piece16)words[0]; }
INLINED Piece32 piece_32(const u32 *words) { return words[0]; }
INLINED Piece64 piece_64(const u32 *words) {
	Piece64 v;
	v.x = words[0];
	v.y = words[1];
	return v;
}
INLINED Piece128 piece_128(const u32 *words) {
	Piece128 v;
	v.x = words[0];
	v.y = words[1];
	v.z = words[2];
	v.w = words[3];
	return v;
}

// joined_N packs elements of N bits, one in each of eight bytes. The other bits are 0.
DEVICE u32 joined_4(u32 a, u32 b) { return bytes_of(a | a >> 4, b | b >> 4, 0x6420); }
DEVICE u32 joined_2(u32 a, u32 b) {
	const u32 v = bytes_of(a | a >> 6, b | b >> 6, 0x6420), w = v | v >> 4;
	return bytes_of(w, w, 0x0020);
}

// across_N splits a piece that begins at a bit of lo and continues in hi.
INLINED void across_32(u32 *words, Piece32 lo, Piece32 hi, u32 bit) { words[0] = funnel(lo, hi, bit); }
INLINED void across_64(u32 *words, Piece64 lo, Piece64 hi, u32 bit) {
	const u32 odd = 0 - (bit >> 5 & 1), middle = choose(odd, hi.x, lo.y);
	words[0] = funnel(choose(odd, lo.y, lo.x), middle, bit);
	words[1] = funnel(middle, choose(odd, hi.y, hi.x), bit);
}
INLINED void across_128(u32 *words, Piece128 lo, Piece128 hi, u32 bit) {
	Pair p;
	p.lo = lo;
	p.hi = hi;
	p.shift = bit;
	words_128(words, shifted(p));
}
