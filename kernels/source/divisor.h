// divisor: several quotients by the same number, as its reciprocal where a product and a sum can
// be fused. A division then takes no branch, so that several go on at a time. What a quotient
// lacks is found from its remainder, which is exact if nothing is out of range, and makes the
// second correction the nearest float (Markstein, "Computation of elementary functions on the IBM
// RISC System/6000 processor", theorem 8.1). It goes behind arithmetic.h.

#ifdef FUSED
typedef struct { float by, inverse, scale; } Divisor;

// divisor_of moves a divisor that is not 2^-48 to 2^48 towards 1, and what it divides with it, so
// that neither its reciprocal nor a remainder is subnormal.
DEVICE Divisor divisor_of(u32 by) {
	const u32 magnitude = by & ~FLOAT_SIGN, least = (127 - 48) << 23, most = (127 + 48) << 23;
	Divisor d;
	d.scale = magnitude < least ? 0x1p96f : magnitude < most ? 1 : 0x1p-96f;
	d.by = AS_FLOAT(by) * d.scale;
	d.inverse = AS_FLOAT(QUOTIENT_OF(AS_BITS(1.0f), AS_BITS(d.by)));
	return d;
}

// divided is QUOTIENT_OF of any magnitude from 2^-40 to 2^20. Beyond, it is a few units in the
// last place off, which codes of 8 bits do not show: they are 0 there, or saturate.
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
