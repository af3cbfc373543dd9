//go:build gorgonia

package cuda

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stddef.h>

// Pointers to values are made here: Go's memory may not hold any that C is given.
static CUresult launchUser(CUfunction f, const unsigned *size, unsigned shared, CUstream s, char *data, const unsigned *at, int n) {
	void *values[n + 1];
	for (int i = 0; i < n; i++) values[i] = data + at[i];
	return cuLaunchKernel(f, size[0], size[1], size[2], size[3], size[4], size[5], shared, s, values, 0);
}

static CUresult parameter(void *f, CUfunction fn, size_t i, size_t *bytes) {
	size_t offset;
	return ((CUresult (*)(CUfunction, size_t, size_t *, size_t *))f)(fn, i, &offset, bytes);
}

static void *libraryHandle(void) {
	void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return handle ? handle : dlopen(0, RTLD_LAZY);
}
*/
import "C"

import "unsafe"

func (l *gorgoniaCU) libraryHandle() uintptr { return uintptr(C.libraryHandle()) }

func (l *gorgoniaCU) launchUser(_ *frame, fn cuFunction, grid, block [3]uint32, shared uint32, s cuStream, data []byte, at []uint32) error {
	size := [6]C.uint{C.uint(grid[0]), C.uint(grid[1]), C.uint(grid[2]), C.uint(block[0]), C.uint(block[1]), C.uint(block[2])}
	data, at = append(data, 0), append(at, 0) // never empty, so that there is an address
	return checkC("cuLaunchKernel", C.launchUser(asC[C.CUfunction](fn), &size[0], C.uint(shared), asC[C.CUstream](s),
		(*C.char)(unsafe.Pointer(&data[0])), (*C.uint)(unsafe.Pointer(&at[0])), C.int(len(at)-1)))
}

func (l *gorgoniaCU) functionAttribute(fn cuFunction, attribute int) (int, error) {
	var v C.int
	err := checkC("cuFuncGetAttribute", C.cuFuncGetAttribute(&v, C.CUfunction_attribute(attribute), asC[C.CUfunction](fn)))
	return int(v), err
}

func (l *gorgoniaCU) setFunctionAttribute(fn cuFunction, attribute, value int) error {
	return checkC("cuFuncSetAttribute", C.cuFuncSetAttribute(asC[C.CUfunction](fn), C.CUfunction_attribute(attribute), C.int(value)))
}

func (l *gorgoniaCU) parameter(fn cuFunction, i int) (bytes int, ok bool, err error) {
	if l.functionParameter == nil {
		return 0, false, errNoParameters
	}
	var n C.size_t
	result := C.parameter(l.functionParameter, asC[C.CUfunction](fn), C.size_t(i), &n)
	if result == C.CUDA_ERROR_INVALID_VALUE { // beyond the last
		return 0, false, nil
	}
	err = checkC("cuFuncGetParamInfo", result)
	return int(n), err == nil, err
}
