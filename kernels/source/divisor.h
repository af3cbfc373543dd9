// divisor: several quotients by the same number, by its reciprocal where a product and a sum
// can be fused. A division is then free of branches, so that several overlap.

#pragma once
#include "arithmetic.h"

#ifdef FUSED
typedef struct { float by, inverse, scale; } Divisor;

// divisor_of scales a divisor outside 2^-48 to 2^48 towards 1, and its dividend with it: then
// its reciprocal is not subnormal, nor is the remainder of a quotient whose rounding matters.
DEVICE Divisor divisor_of(u32 by) {
	const u32 magnitude = by & ~FLOAT_SIGN, least = (127 - 48) << 23, most = (127 + 48) << 23;
	Divisor d;
	d.scale = magnitude < least ? 0x1p96f : magnitude < most ? 1 : 0x1p-96f;
	d.by = AS_FLOAT(by) * d.scale;
	d.inverse = AS_FLOAT(QUOTIENT_OF(AS_BITS(1.0f), AS_BITS(d.by)));
	return d;
}

// divided is a quotient as precise as codes of 8 bits can show: equal to QUOTIENT_OF from 2^-39
// to 2^19. Below, it may be smaller, or zero, and above, larger, or infinite, with the same
// sign. Two corrections by the remainder: the first leaves an error below one unit in the last
// place, the second makes it the nearest float (P. Markstein, 1990).
DEVICE u32 divided(u32 a, const Divisor d) {
	const float x = AS_FLOAT(a) * d.scale, near = x * d.inverse;
	const float nearer = FUSED(FUSED(-near, d.by, x), d.inverse, near);
	const float nearest = FUSED(FUSED(-nearer, d.by, x), d.inverse, nearer);
	const u32 magnitude = AS_BITS(near) & ~FLOAT_SIGN, least = (127 - 40) << 23, most = (127 + 20) << 23;
	return magnitude - least < most - least ? AS_BITS(nearest) : AS_BITS(near);
}
#else
typedef struct { u32 by; } Divisor;

DEVICE Divisor divisor_of(u32 by) {
	Divisor d;
	d.by = by;
	return d;
}

DEVICE u32 divided(u32 a, const Divisor d) { return QUOTIENT_OF(a, d.by); }
#endif
