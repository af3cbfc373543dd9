// clang++ --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_70 -O3 -S -o scale.ptx scale.cu
// nvcc, or clang with CUDA's headers, knows __global__ and blockIdx.x in place of these.
#define __global__ __attribute__((global))
#define blockIdx_x __nvvm_read_ptx_sreg_ctaid_x()
#define blockIdx_y __nvvm_read_ptx_sreg_ctaid_y()

extern "C" __global__ void scale(float *y, float by, const float *x,
	long offset, long rows, long columns, long down, long right) {
	long i = blockIdx_x, j = blockIdx_y;
	y[i * columns + j] = by * x[offset + i * down + j * right];
}
