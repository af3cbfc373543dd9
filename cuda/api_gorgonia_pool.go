//go:build gorgonia

package cuda

/*
#include <cuda.h>

// Functions that drivers before CUDA 11.2 lack.
static CUresult poolCreate(void *f, CUmemoryPool *pool, CUdevice ordinal) {
	CUmemPoolProps properties = {CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_NONE, {CU_MEM_LOCATION_TYPE_DEVICE, ordinal}};
	return ((CUresult (*)(CUmemoryPool *, const CUmemPoolProps *))f)(pool, &properties);
}

static CUresult poolDestroy(void *f, CUmemoryPool pool) { return ((CUresult (*)(CUmemoryPool))f)(pool); }

static CUresult poolAlloc(void *f, CUdeviceptr *p, size_t n, CUmemoryPool pool, CUstream s) {
	return ((CUresult (*)(CUdeviceptr *, size_t, CUmemoryPool, CUstream))f)(p, n, pool, s);
}

static CUresult poolThreshold(void *f, CUmemoryPool pool, cuuint64_t bytes) {
	return ((CUresult (*)(CUmemoryPool, CUmemPool_attribute, void *))f)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes);
}

static CUresult poolTrim(void *f, CUmemoryPool pool) { return ((CUresult (*)(CUmemoryPool, size_t))f)(pool, 0); }

static CUresult poolAccess(void *f, CUmemoryPool pool, CUdevice guest) {
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, guest}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	return ((CUresult (*)(CUmemoryPool, const CUmemAccessDesc *, size_t))f)(pool, &access, 1);
}
*/
import "C"

import (
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

func (l *gorgoniaCU) newPool(ordinal int) (cuPool, error) {
	if l.poolCreate == nil || l.poolDestroy == nil || l.poolAlloc == nil || l.poolAttribute == nil || l.poolTrim == nil {
		return 0, layout.Errorf(device.ErrUnsupported, "Open", "this driver has no pools: it is for a CUDA before 11.2")
	}
	var pool C.CUmemoryPool
	err := checkC("cuMemPoolCreate", C.poolCreate(l.poolCreate, &pool, C.CUdevice(ordinal)))
	return cuPool(unsafe.Pointer(pool)), err
}

func (l *gorgoniaCU) destroyPool(pool cuPool) error {
	return checkC("cuMemPoolDestroy", C.poolDestroy(l.poolDestroy, asC[C.CUmemoryPool](pool)))
}

func (l *gorgoniaCU) allocFrom(pool cuPool, s cuStream, bytes int64) (cuDevicePtr, error) {
	var p C.CUdeviceptr
	err := checkC("cuMemAllocFromPoolAsync", C.poolAlloc(l.poolAlloc, &p, C.size_t(bytes), asC[C.CUmemoryPool](pool), asC[C.CUstream](s)))
	return cuDevicePtr(p), err
}

func (l *gorgoniaCU) setThreshold(pool cuPool, bytes int64) error {
	return checkC("cuMemPoolSetAttribute", C.poolThreshold(l.poolAttribute, asC[C.CUmemoryPool](pool), C.cuuint64_t(bytes)))
}

func (l *gorgoniaCU) trimPool(pool cuPool) error {
	return checkC("cuMemPoolTrimTo", C.poolTrim(l.poolTrim, asC[C.CUmemoryPool](pool)))
}

func (l *gorgoniaCU) openPool(pool cuPool, guest int) error {
	if l.poolAccess == nil {
		return nil
	}
	return checkC("cuMemPoolSetAccess", C.poolAccess(l.poolAccess, asC[C.CUmemoryPool](pool), C.CUdevice(guest)))
}
