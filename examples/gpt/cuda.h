// The words of kernels.cl that are OpenCL C, in CUDA C for clang without CUDA's headers.
#define BLOCK 128
#define ROWS 4
#define COLUMNS 4
#define LANES (BLOCK / COLUMNS)
#define KERNEL extern "C" __attribute__((__global__)) __attribute__((launch_bounds(BLOCK)))
#define SHARED(type, name, n) __attribute__((shared)) static type name[n]
#define FUNCTION static __attribute__((device))
#define global
#define local
#define barrier(which) __syncthreads()
#define get_local_id(axis) ((int)__nvvm_read_ptx_sreg_tid_x())
#define get_group_id(axis) ((axis) == 0 ? (int)__nvvm_read_ptx_sreg_ctaid_x() : (int)__nvvm_read_ptx_sreg_ctaid_y())
#define exp(x) __nvvm_ex2_approx_f(1.44269504f * (x))
#define sqrt(x) __nvvm_sqrt_rn_f(x)
#define fmax(a, b) __nvvm_fmax_f(a, b)
#define INFINITY __builtin_inff()
#ifdef HALF
#define T unsigned short
#define LOAD(x, i) ((float)__builtin_bit_cast(_Float16, (x)[i]))
#define STORE(x, i, v) (x)[i] = __builtin_bit_cast(unsigned short, (_Float16)(v))
#else
#define T float
#define LOAD(x, i) (x)[i]
#define STORE(x, i, v) (x)[i] = (v)
#endif
