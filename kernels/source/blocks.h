// blocks: quantizes blocks of floats to codes and a scale per block, as device.Quantization
// defines it where scales are found. An item is a block, whose axis is the parameters' run.
// Codes of 4 bits are written by words.

#include "kernel.h"
#include "conversions.h"
#include "arithmetic.h"
#include "terms.h"
#include "float32.h"

#define ONE 0x3f800000
#define QUARTER 0x3e800000
#define THREE_QUARTERS 0x3f400000
#define MINUS_EIGHTH 0xbe000000
#define EIGHT_AND_A_HALF 0x41080000
#define FIFTEEN 0x41700000
#define ONE_HUNDRED_TWENTY_SEVEN 0x42fe0000
#define LARGEST 0x7f7fffff
#define PLAIN 0x0d800000 // 2^-100
#define AS_WHOLE 0x1p23f // adding it rounds to the nearest integer, ties to even
#define AS_WHOLE_BITS 0x4b000000

// counted is the value with which a number of a block enters the search for its scale.
DEVICE u32 PASTE(NAME, _counted)(u32 x) { return is_nan(x) ? 0 : MIN(x & ~FLOAT_SIGN, LARGEST) | (x & FLOAT_SIGN); }

#define TOGETHER 8 // loads that overlap
#define HELD 32    // numbers of a block that is held in registers
#define EVERY UNROLL for (u32 k = 0; k < HELD; k++)

// some reads numbers of a block from a given one on, and zeros behind its end. wide: all that
// it reads exist, are contiguous, and begin at pieces of 16 bytes.
INLINED void PASTE(NAME, _some)(u32 *v, GLOBAL const u8 *src, i64 at, i64 step, u32 left, u32 wide, const Number is) {
	if (is.bits == 32) {
		if (wide) {
			words_128(v, ((GLOBAL const Piece128 *)src)[at >> 2]);
			words_128(v + 4, ((GLOBAL const Piece128 *)src)[(at >> 2) + 1]);
		} else {
			UNROLL
			for (u32 j = 0; j < TOGETHER; j++) {
				v[j] = j < left ? ((GLOBAL const u32 *)src)[at + j * step] : 0;
			}
		}
	} else if (is.bits == 16) {
		if (wide) {
			u32 words[4];
			words_128(words, ((GLOBAL const Piece128 *)src)[at >> 3]);
			UNROLL
			for (u32 j = 0; j < TOGETHER; j++) {
				v[j] = words[j / 2] >> (j % 2 * 16) & 0xffff;
			}
		} else {
			UNROLL
			for (u32 j = 0; j < TOGETHER; j++) {
				v[j] = j < left ? ((GLOBAL const u16 *)src)[at + j * step] : 0;
			}
		}
		if (is.mantissa == 10) {
			UNROLL
			for (u32 j = 0; j < TOGETHER; j++) {
				v[j] = float_of_half(v[j], 8); // NaN is ignored
			}
		} else {
			UNROLL
			for (u32 j = 0; j < TOGETHER; j++) {
				v[j] = v[j] << 16;
			}
		}
	} else {
		UNROLL
		for (u32 j = 0; j < TOGETHER; j++) {
			v[j] = j < left ? PASTE(NAME, _single)(src, at + j * step, is) : 0;
		}
	}
}

// counted_some is some with each number counted.
INLINED void PASTE(NAME, _counted_some)(u32 *v, GLOBAL const u8 *src, i64 at, i64 step, u32 left, u32 wide, const Number is) {
	PASTE(NAME, _some)(v, src, at, step, left, wide, is);
	UNROLL
	for (u32 j = 0; j < TOGETHER; j++) {
		v[j] = PASTE(NAME, _counted)(v[j]);
	}
}

// LARGER sets x to the first value of the largest magnitude among x and n numbers. (A macro, as
// clang unrolls a function too late to keep them in registers.)
#define LARGER(x, v, n) \
	UNROLL \
	for (u32 j = 0; j < n; j++) { \
		x = (v[j] & ~FLOAT_SIGN) > (x & ~FLOAT_SIGN) ? v[j] : x; \
	}

// reciprocal returns 0 for 0.
INLINED u32 PASTE(NAME, _reciprocal)(u32 x) { return (x & ~FLOAT_SIGN) == 0 ? 0 : QUOTIENT_OF(ONE, x); }

#if DBITS == 8

// code is the integer nearest to a float of at most 127, ties away from zero.
INLINED u32 PASTE(NAME, _code)(u32 x, u32 factor) {
	const u32 v = PRODUCT_OF(x, factor), a = is_nan(v) ? 0 : MIN(v & ~FLOAT_SIGN, ONE_HUNDRED_TWENTY_SEVEN);
	const float whole = AS_FLOAT(a) + AS_WHOLE;
	const u32 m = AS_BITS(whole) - AS_WHOLE_BITS + (AS_FLOAT(a) - (whole - AS_WHOLE) == 0.5f);
	return v >> 31 ? 0 - m : m;
}

#else

// code is the integer part of x * factor + 8.5, from 0 to 15.
INLINED u32 PASTE(NAME, _code)(u32 x, u32 factor) {
	const u32 v = SUM_OF(PRODUCT_OF(x, factor), EIGHT_AND_A_HALF);
	const u32 a = is_nan(v) ? EIGHT_AND_A_HALF : MIN((u32)MAX((i32)v, 0), FIFTEEN);
	const float whole = AS_FLOAT(a) + AS_WHOLE;
	return AS_BITS(whole) - AS_WHOLE_BITS - (whole - AS_WHOLE > AS_FLOAT(a));
}

// micro_exponent is the biased exponent of MXFP4's scale: floor(log2 |x|) - 2, where the
// logarithm is rounded to a float. The rounding raises numbers a few units below a power of two
// to that power: the more units, the larger the logarithm.
INLINED u32 PASTE(NAME, _micro_exponent)(u32 x) {
	const u32 biased = x >> 23 & 255, size = biased < 127 ? 126 - biased : biased - 127;
	const u32 vanish = size == 0 ? 0 : 11 << (31 - LEADING32(size)) >> 4;
	const u32 power = biased + (0x800000 - (x & 0x7fffff) <= vanish);
	return (u32)(MAX((i32)power, 2) - 2); // with a sign: Oclgrind lacks llvm.usub.sat
}

// micro_code is the Float4E2M1 code nearest to x / 2^(exponent - 127), ties to the smaller
// magnitude.
INLINED u32 PASTE(NAME, _micro_code)(u32 x, u32 exponent) {
	if (exponent > 24) { // subnormal quotients become zero
		// The quotient's bits: its mantissa is rounded to one bit, from 1 on.
		const i32 q = (i32)(x & ~FLOAT_SIGN) - (i32)((exponent - 127) << 23);
		const i32 code = q < ONE ? (q > QUARTER) + (q > THREE_QUARTERS) : MIN(((q - ONE + 0x1fffff) >> 22) + 2, 7);
		return code == 0 ? 0 : (u32)code | (x >> 28 & 8);
	}
	// Four times the quotient, rounded up, as thresholds are integers.
	const u32 m = significand(x), down = exponent + 21 - MAX(x >> 23 & 255, 1);
	const u32 v = down > 24 ? m != 0 : (m + ((u32)1 << down) - 1) >> down;
	const u32 code = (v > 1) + (v > 3) + (v > 5) + (v > 7) + (v > 10) + (v > 14) + (v > 20);
	return code == 0 ? 0 : code | (x >> 31) << 3;
}

#endif

// put writes a scale.
INLINED void PASTE(NAME, _put)(GLOBAL u8 *to, i64 at, u32 bits, u32 v) {
	if (bits == 8) {
		to[at] = (u8)v;
	} else if (bits == 16) {
		((GLOBAL u16 *)to)[at] = (u16)v;
	} else {
		((GLOBAL u32 *)to)[at] = v;
	}
}

// factor writes the scale of a block whose largest number is x. It returns the factor of its
// numbers or, for MXFP4, the scale's exponent.
INLINED u32 PASTE(NAME, _factor)(u32 x, GLOBAL u8 *scale, i64 at, const Number unit) {
#if DBITS == 8
	const u32 found = QUOTIENT_OF(x & ~FLOAT_SIGN, ONE_HUNDRED_TWENTY_SEVEN);
#else
	if (unit.scale) {
		const u32 exponent = PASTE(NAME, _micro_exponent)(x);
		PASTE(NAME, _put)(scale, at, unit.bits, exponent);
		return exponent;
	}
	const u32 found = PRODUCT_OF(x, MINUS_EIGHTH);
#endif
	const u32 halves = unit.kind == KIND_FLOAT && unit.mantissa == 10;
	PASTE(NAME, _put)(scale, at, unit.bits, halves ? half_of_number(found, fit_of(unit)) : (u32)PASTE(NAME, _cast)(found, number_of(SINGLE), unit));
	return PASTE(NAME, _reciprocal)(found);
}

// coded returns the code of a number.
INLINED u32 PASTE(NAME, _coded)(u32 x, u32 factor, u32 micro) {
#if DBITS == 4
	if (micro) {
		return PASTE(NAME, _micro_code)(x, factor);
	}
#endif
	return PASTE(NAME, _code)(x, factor);
}

// plain reports whether numbers of a block with this largest magnitude need no special care:
// neither it nor their factor is near the ends of the range of floats, except infinity, so no
// other product exceeds the largest one's by more than a rounding.
DEVICE u32 PASTE(NAME, _plain)(u32 most) { return most == 0 || most >= PLAIN; }

// plain_code is code for such a number, in the low bits of a word: for 8 bits, code of a
// magnitude.
INLINED u32 PASTE(NAME, _plain_code)(u32 x, u32 factor) {
#ifndef TRUNCATED_SUM
	return PASTE(NAME, _code)(x, factor);
#elif DBITS == 8
	const u32 v = MIN(PRODUCT_OF(x, factor), ONE_HUNDRED_TWENTY_SEVEN);
	return AS_BITS(TRUNCATED_SUM(TRUNCATED_SUM(AS_FLOAT(v), 0.5f), AS_WHOLE));
#else
	const u32 v = SUM_OF(PRODUCT_OF(x, factor), EIGHT_AND_A_HALF);
	return AS_BITS(TRUNCATED_SUM(AS_FLOAT(MIN((i32)v, FIFTEEN)), AS_WHOLE)); // for -infinity, its low bits
#endif
}

#if DBITS == 4

// plain_micro is micro_code for such a magnitude, in the low bits of a word. With q, the
// quotient, it is the integer nearest to the smallest of 2q, q + 2 and q / 2 + 4, ties down, as
// q's factor is one unit in the last place too small.
INLINED u32 PASTE(NAME, _plain_micro)(u32 a, u32 exponent) {
#ifdef FUSED
	const u32 below = ((254 - exponent) << 23) - 1; // one unit less than 2^(127 - exponent)
	const u32 x = AS_BITS(FUSED(AS_FLOAT(a), AS_FLOAT(below + (1 << 23)), AS_WHOLE));
	const u32 y = AS_BITS(FUSED(AS_FLOAT(a), AS_FLOAT(below), AS_WHOLE + 2));
	const u32 z = AS_BITS(FUSED(AS_FLOAT(a), AS_FLOAT(below - (1 << 23)), AS_WHOLE + 4));
	return MIN(MIN(x, y), MIN(z, AS_WHOLE_BITS + 7));
#else
	return PASTE(NAME, _micro_code)(a, exponent);
#endif
}

// eight packs the low bytes of eight words as codes.
INLINED u32 PASTE(NAME, _eight)(const u32 *v) { return pack_bytes(v[0], v[2], v[4], v[6]) | pack_bytes(v[1], v[3], v[5], v[7]) << 4; }

#endif

// signs returns the signs of eight numbers, floats of 32 bits if wide, else of 16, at the
// positions of the signs in their codes; for codes of 8 bits, in all eight bits of the code. A
// sign is found in the last byte of its number.
INLINED void PASTE(NAME, _signs)(u32 *signs, const u32 *v, u32 wide) {
	u32 ends[4]; // the last bytes of two numbers each, twice
	UNROLL
	for (u32 j = 0; j < 4; j++) {
		ends[j] = wide ? bytes_of(v[2 * j], v[2 * j + 1], 0x7373) : bytes_of(v[j], v[j], 0x3131);
	}
#if DBITS == 8
	signs[0] = signs_of(ends[0], ends[1], 0x5410);
	signs[1] = signs_of(ends[2], ends[3], 0x5410);
#else
	const u32 even = bytes_of(bytes_of(ends[0], ends[1], 0x0040), bytes_of(ends[2], ends[3], 0x0040), 0x5410);
	const u32 odd = bytes_of(bytes_of(ends[0], ends[1], 0x0051), bytes_of(ends[2], ends[3], 0x0051), 0x5410);
	signs[0] = choose(0x08080808, even >> 4, odd) & 0x88888888;
#endif
}

#if SERIAL
#define TILE
#define TILE_OF
#else
// A group reads contiguous blocks into a tile: adjacent work-items read adjacent pieces of
// memory. SLOT is where a piece lies in the tile: pieces that work-items read together are in
// different banks.
#define TILE , Local tile, u32 near
#define TILE_OF , tile, near
#define SLOT(q) ((q) ^ ((q) >> 3 & 7))

// fill reads four pieces for the tile, from a given one on; pieces behind the last one are
// ignored.
INLINED void PASTE(NAME, _fill)(SHARED_POINTER u128 *tile, GLOBAL const u128 *from, u32 begin, u32 last) {
	u128 piece[4];
	UNROLL
	for (u32 k = 0; k < 4; k++) { // loads first: they overlap
		piece[k] = from[MIN(begin + k * GROUP + LOCAL_ID, last)];
	}
	UNROLL
	for (u32 k = 0; k < 4; k++) {
		tile[begin + k * GROUP + SLOT(LOCAL_ID)] = piece[k];
	}
}
#endif

// PIECES reads n pieces of a work-item's block. (Like LARGER, a macro.)
#define READ_PIECES(words, n, piece) \
	UNROLL \
	for (u32 k = 0; k < n; k++) { \
		words_128(words + 4 * k, piece); \
	}
#if SERIAL
#define PIECES(words, n) READ_PIECES(words, n, from[k])
#else
#define PIECES(words, n) \
	if (near) { \
		const u32 first = SLOT(LOCAL_ID * n); \
		READ_PIECES(words, n, local_128(tile + (first ^ k) * 16)) \
	} else { \
		READ_PIECES(words, n, from[k]) \
	}
#endif

// numbers reads a block of HELD numbers; NaN becomes 0. apart: signs receives their signs, and
// v the magnitudes.
INLINED void PASTE(NAME, _numbers)(u32 *v, u32 *signs, u32 apart, GLOBAL const Piece128 *from, const Number is TILE) {
	if (is.bits == 32) {
		PIECES(v, HELD / 4)
		UNROLL
		for (u32 k = 0; apart && k < HELD / 8; k++) {
			PASTE(NAME, _signs)(signs + k * DBITS / 4, v + 8 * k, 1);
		}
		EVERY {
			const u32 a = v[k] & ~FLOAT_SIGN;
			v[k] = a > FLOAT_INFINITY ? 0 : apart ? a : v[k];
		}
		return;
	}
	u32 words[HELD / 2];
	PIECES(words, HELD / 8)
	UNROLL
	for (u32 k = 0; apart && k < HELD / 8; k++) {
		PASTE(NAME, _signs)(signs + k * DBITS / 4, words + 4 * k, 0);
	}
	const u32 finite = is.mantissa == 10 ? 0x03ff03ff : 0x007f007f; // up to infinity
	UNROLL
	for (u32 k = 0; k < HELD / 2; k++) {
		const u32 a = words[k] & 0x7fff7fff, above = a + finite;
		words[k] = choose(signs_of(above, above, 0x3311), 0, apart ? a : words[k]);
	}
	if (is.mantissa == 10) {
		EVERY {
			v[k] = float_of_half(words[k / 2] >> (k % 2 * 16) & 0xffff, 8);
		}
	} else {
		EVERY {
			v[k] = k % 2 ? words[k / 2] & 0xffff0000 : words[k / 2] << 16;
		}
	}
}

// held quantizes a block of HELD numbers, contiguous on both sides, where pieces of 16 bytes
// begin. If they are not plain it returns 0 and writes nothing.
INLINED u32 PASTE(NAME, _held)(GLOBAL u8 *dst, GLOBAL const u8 *src, GLOBAL u8 *scale, const Spot p, const Number is, const Number unit TILE) {
	GLOBAL const Piece128 *from = (GLOBAL const Piece128 *)src + (p.s * is.bits >> 7);
	u32 v[HELD], signs[HELD / 4], words[HELD * DBITS / 32], x = 0;
#if DBITS == 8
	PASTE(NAME, _numbers)(v, signs, 1, from, is TILE_OF);
	EVERY {
		x = MAX(x, v[k]);
	}
#else
	if (unit.scale) {
		PASTE(NAME, _numbers)(v, signs, 1, from, is TILE_OF);
		EVERY {
			x = MAX(x, v[k]);
		}
	} else {
		PASTE(NAME, _numbers)(v, signs, 0, from, is TILE_OF);
		u32 low = v[0];
		x = v[0];
		EVERY {
			x = (u32)MAX((i32)x, (i32)v[k]);
			low = MAX(low, v[k]); // among negative numbers, if any, the largest magnitude
		}
		const i32 up = (i32)x, down = low >> 31 ? (i32)(low & ~FLOAT_SIGN) : -1;
		x = up > down ? x : low;
		if (up == down) { // the first one decides
			x = v[0];
			LARGER(x, v, HELD)
		}
	}
#endif
	u32 most = x & ~FLOAT_SIGN;
	if (!PASTE(NAME, _plain)(most) || (most > LARGEST && (is.bits == 32 || unit.scale))) {
		return 0;
	}
	x = MIN(most, LARGEST) | (x & FLOAT_SIGN);
	const u32 factor = PASTE(NAME, _factor)(x, scale, p.scale, unit);
#if DBITS == 8
	UNROLL
	for (u32 k = 0; k < HELD / 4; k++) {
		UNROLL
		for (u32 j = 0; j < 4; j++) {
			v[4 * k + j] = PASTE(NAME, _plain_code)(v[4 * k + j], factor);
		}
		const u32 four = four_bytes(v + 4 * k), minus = 0x80808080 - four; // with another top bit
		words[k] = choose(signs[k], minus, four) ^ (signs[k] & 0x80808080);
	}
#else
	if (unit.scale) {
		EVERY {
			v[k] = PASTE(NAME, _plain_micro)(v[k], factor);
		}
	} else {
		EVERY {
			v[k] = PASTE(NAME, _plain_code)(v[k], factor);
		}
	}
	UNROLL
	for (u32 k = 0; k < HELD / 8; k++) {
		words[k] = PASTE(NAME, _eight)(v + 8 * k);
		if (unit.scale) { // zeros get no sign
			words[k] |= (words[k] + 0x77777777) & signs[k];
		}
	}
#endif
	UNROLL
	for (u32 k = 0; k < HELD * DBITS / 128; k++) {
		((GLOBAL Piece128 *)dst)[(p.d * DBITS >> 7) + k] = piece_128(words + 4 * k);
	}
	return 1;
}

ENTRY {
#if !SERIAL
	SHARED(u128, held, 8 * GROUP); // of all work-items
	const Local tile = local_of(held);
#endif
	CONSTANT Meanings *meanings = MEANINGS(params);
	CONSTANT Axis *run = AXES(params) + params->outer + params->inner;
	const Number is = number_of(meanings->src), unit = number_of(meanings->scale);
	const u32 n = run->n;
	const i64 dStep = run->d, sStep = run->s;
	for (u32 block = GROUP_ID; block < params->blocks; block += GROUPS) {
		Spot begin = {dBase, sBase, (i64)lo, (i64)hi, addBase};
		const u32 first = spot_of(params, block, &begin), left = items_of(params, first);
#if !SERIAL
		const u32 near = n == HELD && sStep == 1 && params->inner == 0 && params->s == HELD && is.bits >= 16 && ((u64)src + (u64)begin.s * (is.bits / 8)) % 16 == 0;
		GLOBAL const u128 *from = (GLOBAL const u128 *)src + ((u64)begin.s * is.bits >> 7);
#endif
		for (u32 round = 0; round < left; round += GROUP) {
			const u32 item = round + LOCAL_ID;
#if !SERIAL
			if (near) {
				const u32 per = is.bits * HELD / 128, last = MIN(left - round, GROUP) * per - 1; // pieces of a block, and the last one
				BARRIER(); // before the last round's pieces are overwritten
				PASTE(NAME, _fill)(held, from + round * per, 0, last);
				if (per > 4) {
					PASTE(NAME, _fill)(held, from + round * per, 4 * GROUP, last);
				}
				BARRIER();
			}
#endif
			if (item >= left) {
				continue;
			}
			Spot p = begin;
			move_item(&p, params, item);
			const u32 wide = sStep == 1 && n % TOGETHER == 0 && is.bits >= 16 && ((u64)src + (u64)p.s * (is.bits / 8)) % 16 == 0;
			// These write contiguous codes that begin at words.
			const u32 words = dStep == 1 && n % TOGETHER == 0 && ((u64)dst * 8 + (u64)p.d * DBITS) % 32 == 0;
			const u32 aligned = ((u64)dst * 8 + (u64)p.d * DBITS) % 128 == 0;
			if (n == HELD && wide && words && aligned && PASTE(NAME, _held)(dst, src, (GLOBAL u8 *)scale, p, is, unit TILE_OF)) {
				continue;
			}
			u32 x = 0;
			for (u32 k = 0; k < n; k += TOGETHER) {
				u32 v[TOGETHER];
				PASTE(NAME, _counted_some)(v, src, p.s + k * sStep, sStep, n - k, wide, is);
				x = k == 0 ? v[0] : x;
				LARGER(x, v, TOGETHER)
			}
			const u32 factor = PASTE(NAME, _factor)(x, (GLOBAL u8 *)scale, p.scale, unit);
#if DBITS == 8
			for (u32 k = 0; k < n; k += TOGETHER) {
				u32 v[TOGETHER];
				PASTE(NAME, _counted_some)(v, src, p.s + k * sStep, sStep, n - k, wide, is);
				UNROLL
				for (u32 j = 0; j < TOGETHER; j++) {
					v[j] = PASTE(NAME, _code)(v[j], factor);
				}
				if (words) {
					UNROLL
					for (u32 j = 0; j < TOGETHER; j += 4) {
						((GLOBAL u32 *)(dst + p.d + k))[j / 4] = four_bytes(v + j);
					}
					continue;
				}
				UNROLL
				for (u32 j = 0; j < TOGETHER; j++) {
					if (k + j < n) {
						dst[p.d + (k + j) * dStep] = (u8)v[j];
					}
				}
			}
#else
			i64 word = p.d >> 3;
			u32 value = 0, mask = 0;
			for (u32 k = 0; k < n; k += TOGETHER) {
				u32 v[TOGETHER];
				PASTE(NAME, _counted_some)(v, src, p.s + k * sStep, sStep, n - k, wide, is);
				UNROLL
				for (u32 j = 0; j < TOGETHER; j++) {
					v[j] = PASTE(NAME, _coded)(v[j], factor, unit.scale);
				}
				if (words) {
					UNROLL
					for (u32 j = 0; j < TOGETHER; j++) {
						value |= v[j] << (j * 4);
					}
					((GLOBAL u32 *)dst)[(p.d + k) >> 3] = value;
					value = 0;
					continue;
				}
				UNROLL
				for (u32 j = 0; j < TOGETHER; j++) {
					const i64 at = p.d + (k + j) * dStep;
					if (k + j >= n) {
						continue;
					}
					if (at >> 3 != word) {
						merge_bits((GLOBAL u32 *)dst + word, value, mask);
						word = at >> 3;
						value = mask = 0;
					}
					value |= v[j] << ((u32)at & 7) * 4;
					mask |= (u32)15 << ((u32)at & 7) * 4;
				}
			}
			if (!words) {
				merge_bits((GLOBAL u32 *)dst + word, value, mask);
			}
#endif
		}
	}
}

#undef TOGETHER
#undef HELD
#undef TILE
#undef TILE_OF
#undef SLOT
#undef READ_PIECES
#undef PIECES
#undef EVERY
#undef LARGER
#undef AS_WHOLE
#undef AS_WHOLE_BITS
#undef QUARTER
#undef THREE_QUARTERS
#undef FIFTEEN
#undef ONE
#undef MINUS_EIGHTH
#undef EIGHT_AND_A_HALF
#undef ONE_HUNDRED_TWENTY_SEVEN
#undef LARGEST
#undef PLAIN
