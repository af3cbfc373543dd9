// reductions: how a put that reduces combines the bits of two elements, as device.Reduction
// defines it, and, for pick.h, stores an element by atomic operations. Floats need arithmetic.h
// and doubles.h, which fold.h includes. hi is the word of kernels.reducing.

#include "kernel.h"
#include "numbers.h"
#include "floats.h"

#define REDUCE_ADD 1
#define REDUCE_MUL 2
#define REDUCE_MIN 3
#define REDUCE_MAX 4

#if DBITS == 64
#define VALUE u64
#else
#define VALUE u32
#endif
#define TOP ((VALUE)1 << (DBITS - 1))
#define ONES (TOP + (TOP - 1))

// extreme is the smaller one, or the larger one, by patterns in the order of the numbers.
INLINED VALUE PASTE(NAME, _extreme)(VALUE a, VALUE b, u32 how, u32 kind) {
	VALUE x = a, y = b;
	if (kind == KIND_INT || kind == KIND_FLOAT) {
		x ^= kind == KIND_FLOAT && (a & TOP) != 0 ? ONES : TOP;
		y ^= kind == KIND_FLOAT && (b & TOP) != 0 ? ONES : TOP;
	}
	return (y < x) == (how == REDUCE_MIN) ? b : a;
}

#if DBITS == 16
#define INFINITE (brain ? 0x7f80 : 0x7c00)
#define SINGLE_OF(x) (brain ? (x) << 16 : float_of_half(x, 32))
#define OF_SINGLE(x) (brain ? bfloat_of_float(x, 0) : half_of_float(x, fit_of(number_of(HALF))))
#define SUM(a, b) OF_SINGLE(SUM_OF(SINGLE_OF(a), SINGLE_OF(b)))
#define PRODUCT(a, b) OF_SINGLE(PRODUCT_OF(SINGLE_OF(a), SINGLE_OF(b)))
#elif DBITS == 32
#define INFINITE 0x7f800000
#define SUM(a, b) SUM_OF(a, b)
#define PRODUCT(a, b) PRODUCT_OF(a, b)
#elif DBITS == 64
#define INFINITE 0x7ff0000000000000
#define SUM(a, b) DOUBLE_SUM_OF(a, b)
#define PRODUCT(a, b) DOUBLE_PRODUCT_OF(a, b)
#endif

#if DBITS >= 16
// of_floats is combined for floats; brain: for bfloat16.
INLINED VALUE PASTE(NAME, _of_floats)(VALUE a, VALUE b, u32 how, u32 brain) {
	const VALUE infinite = INFINITE, nan = infinite | infinite >> 1;
	VALUE v = nan;
	if ((a & ~TOP) <= infinite && (b & ~TOP) <= infinite) {
		v = PASTE(NAME, _extreme)(a, b, how, KIND_FLOAT);
#if FOLDS
		if (how == REDUCE_ADD) {
			v = SUM(a, b);
		} else if (how == REDUCE_MUL) {
			v = PRODUCT(a, b);
		}
#endif
	}
	return (v & ~TOP) <= infinite ? v : nan;
}
#endif

// combined is the reduction of two elements.
INLINED VALUE PASTE(NAME, _combined)(VALUE a, VALUE b, u32 reducing) {
	const u32 how = reducing & 255, kind = reducing >> 8 & 255; // bytes: Oclgrind tracks no smaller unit
#if DBITS >= 16
	if (kind == KIND_FLOAT) {
		return PASTE(NAME, _of_floats)(a, b, how, reducing >> 16);
	}
#endif
	if (kind == KIND_BOOL) {
		const u32 either = how == REDUCE_ADD || how == REDUCE_MAX;
		return PASTE(NAME, _extreme)(a != 0, b != 0, either ? REDUCE_MAX : REDUCE_MIN, kind);
	}
	if (how == REDUCE_ADD) {
		return (a + b) & ONES;
	}
	return how == REDUCE_MUL ? (a * b) & ONES : PASTE(NAME, _extreme)(a, b, how, kind);
}

#if !FOLDS

#if DBITS == 64
#define CELL u64
#define CAS ATOMIC_CAS64
#define ADD_TO ATOMIC_ADD64
#else
#define CELL u32
#define CAS ATOMIC_CAS
#define ADD_TO ATOMIC_ADD
#endif
#define PER_CELL (8 * (i64)sizeof(CELL) / DBITS)

// reduce combines element s of dst with v.
DEVICE void PASTE(NAME, _reduce)(GLOBAL u8 *dst, i64 s, VALUE v, u32 reducing) {
	GLOBAL CELL *cell = (GLOBAL CELL *)dst + s / PER_CELL;
	const u32 shift = (u32)(s % PER_CELL) * DBITS;
#if DBITS >= 32
	if (reducing == REDUCE_ADD || reducing == (REDUCE_ADD | KIND_INT << 8)) {
		ADD_TO(cell, v);
		return;
	}
#endif
	CELL now = CAS(cell, 0, 0), seen = now, next = now;
	do {
		seen = now;
		const VALUE old = (VALUE)(seen >> shift) & ONES;
		next = seen ^ (CELL)(old ^ PASTE(NAME, _combined)(old, v, reducing)) << shift;
		if (next != seen) {
			now = CAS(cell, seen, next);
		}
	} while (now != seen);
}

#undef CELL
#undef CAS
#undef ADD_TO
#undef PER_CELL

#endif

#undef REDUCE_ADD
#undef REDUCE_MUL
#undef REDUCE_MIN
#undef REDUCE_MAX
#undef VALUE
#undef TOP
#undef ONES
#undef INFINITE
#undef SINGLE_OF
#undef OF_SINGLE
#undef SUM
#undef PRODUCT
