// Kernels as a user of the package writes them. user.ptx is what clang-16 makes of them:
// clang-16 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -O1 -S
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define X(axis) (__nvvm_read_ptx_sreg_ctaid_##axis() * __nvvm_read_ptx_sreg_ntid_##axis() + __nvvm_read_ptx_sreg_tid_##axis())

extern "C" __global__ void scale(float *y, long yOff, int y0, int y1, const float *x, long xOff, int xRows, int xCols,
	long x0, long x1, float by) {
	long i = X(x), j = X(y);
	y[yOff + i * y0 + j * y1] = by * x[xOff + i * x0 + j * x1];
}

extern __shared__ unsigned room[];

extern "C" __global__ void turned(unsigned *y) {
	unsigned i = __nvvm_read_ptx_sreg_tid_x(), n = __nvvm_read_ptx_sreg_ntid_x();
	room[i] = y[X(x)];
	__nvvm_bar_sync(0);
	y[X(x)] = room[n - 1 - i];
}

struct Pair {
	int a;
	float b;
};

extern "C" __global__ void kinds(int *y, signed char c, unsigned short s, Pair p, double d, int n) {
	int sum = 0;
	for (int i = 0; i < n; i++) sum += i % 7 == 3 ? i / 3 : -i;
	y[0] = c, y[1] = s, y[2] = p.a, y[3] = (int)p.b, y[4] = (int)d, y[5] = sum, y[6] = (int)(sum * p.b / (float)d);
	unsigned tile[8];
	for (int i = 0; i < 8; i++) tile[(i * 3 + n) & 7] = i;
	y[7] = tile[n & 7];
	__nvvm_atom_add_gen_i(&y[8], n);
}

extern "C" __global__ void wild(int *y, long at) { y[at] = 1; }
