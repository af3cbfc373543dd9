// The words of kernels.cl that depend on the language: OpenCL C.
#define BLOCK 128
#define ROWS 4
#define COLUMNS 4
#define LANES (BLOCK / COLUMNS)
#define FUNCTION static
#define KERNEL kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
#define SHARED(type, name, n) local type name[n]
#ifdef HALF
#define T half
#define LOAD(x, i) vload_half(i, x)
#define STORE(x, i, v) vstore_half(v, i, x)
#else
#define T float
#define LOAD(x, i) x[i]
#define STORE(x, i, v) x[i] = v
#endif
