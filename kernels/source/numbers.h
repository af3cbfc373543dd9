// Kernels that convert by value know a type as a word that internal/planner/convert.go makes:
// an argument of the launch (lo for src, hi for dst), so that one kernel serves all types of a
// width, or a constant.

#pragma once
#include "common.h"

#define KIND_UINT 0
#define KIND_INT 1
#define KIND_BOOL 2
#define KIND_FLOAT 3

// Which patterns of a float are infinite or not a number.
#define SPECIAL_IEEE 0          // the highest exponent: infinities, and NaNs
#define SPECIAL_ALL_ONES 1      // all bits set is NaN
#define SPECIAL_NEGATIVE_ZERO 2 // the pattern of -0 is NaN
#define SPECIAL_FINITE 3        // none

// The result for too large a value.
#define EXCESS_INFINITY 0
#define EXCESS_LARGEST 1
#define EXCESS_NAN 2

// How values between powers of two are rounded.
#define SCALE_UP 0
#define SCALE_DOWN 1
#define SCALE_NEAREST 2

typedef struct {
	u32 bits, kind, special, scale, excess, direction, legacy, truncate;
	i32 exponent, mantissa, bias; // widths, and the bias of the exponent
} Number;

DEVICE Number number_of(u64 word) {
	Number n;
	n.bits = word >> 11 & 0x7f;
	n.kind = word & 3;
	n.special = word >> 2 & 3;
	n.scale = word >> 4 & 1; // powers of two, without a sign
	n.excess = word >> 5 & 3;
	n.direction = word >> 7 & 3;
	n.legacy = word >> 9 & 1;
	n.truncate = word >> 10 & 1;
	n.exponent = word >> 18 & 0x3f;
	n.mantissa = word >> 24 & 0xff;
	n.bias = (i32)(word >> 32);
	return n;
}
