// Follows the kernels' prelude: the device's results, contiguous.

__kernel void try_floats(__global uint *out, __global const uint *in, uint n) {
	const uint i = get_global_id(0);
	if (i < n) {
		const uint a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
		out[4 * i] = SUM_OF(a, b);
		out[4 * i + 1] = PRODUCT_OF(a, b);
		out[4 * i + 2] = SUM_OF(PRODUCT_OF(a, b), c);
#ifdef QUOTIENTS
		out[4 * i + 3] = QUOTIENT_OF(a, b);
#else
		out[4 * i + 3] = 0;
#endif
	}
}

#ifdef DOUBLES
__kernel void try_doubles(__global ulong *out, __global const ulong *in, uint n) {
	const uint i = get_global_id(0);
	if (i < n) {
		const ulong a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
		out[4 * i] = DOUBLE_SUM_OF(a, b);
		out[4 * i + 1] = DOUBLE_PRODUCT_OF(a, b);
		out[4 * i + 2] = DOUBLE_SUM_OF(DOUBLE_PRODUCT_OF(a, b), c);
		out[4 * i + 3] = 0;
	}
}
#endif
