// cuBLAS for the simulator of CUDA, as far as the example calls it. The host can read the
// memory of simulated devices.
#include <stddef.h>

extern int cuStreamSynchronize(void *stream);
extern int cuCtxGetCurrent(void **context);

static struct { void *context, *stream; } handles[16];
static int opened;

int cublasCreate_v2(void **handle) {
	if (opened == 16) {
		return 3;
	}
	*handle = &handles[opened++];
	return cuCtxGetCurrent(*handle);
}

int cublasDestroy_v2(void *handle) { return handle == NULL; }

int cublasSetStream_v2(void *handle, void *stream) {
	((void **)handle)[1] = stream;
	return 0;
}

// c [m,n] = alpha a [m,k] b [k,n] + beta c, of columns; ta and tb say which are transposed.
int cublasSgemm_v2(void **handle, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc) {
	void *context;
	if (cuCtxGetCurrent(&context) != 0 || context != handle[0] || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) {
		return 7;
	}
	if (cuStreamSynchronize(handle[1]) != 0) {
		return 14;
	}
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < m; i++) {
			float sum = 0;
			for (int l = 0; l < k; l++) {
				sum += (ta ? a[l + i * lda] : a[i + l * lda]) * (tb ? b[j + l * ldb] : b[l + j * ldb]);
			}
			c[i + j * ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * ldc]);
		}
	}
	return 0;
}
