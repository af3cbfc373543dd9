//go:build gorgonia

package cuda

/*
#include <cuda.h>

// Functions that drivers before CUDA 11.2 lack.
static CUresult openPool(void *poolOf, void *setAccess, CUdevice owner, CUdevice guest) {
	CUmemoryPool pool;
	CUresult code = ((CUresult (*)(CUmemoryPool *, CUdevice))poolOf)(&pool, owner);
	if (code != CUDA_SUCCESS) return code;
	CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, guest}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	return ((CUresult (*)(CUmemoryPool, const CUmemAccessDesc *, size_t))setAccess)(pool, &access, 1);
}
*/
import "C"

import "gorgonia.org/cu"

// gorgoniaCU is a peerAPI.

func (l *gorgoniaCU) reaches(ordinal, other int) (bool, error) {
	can, err := cu.Device(ordinal).CanAccessPeer(cu.Device(other))
	return can != 0, do("cuDeviceCanAccessPeer", err)
}

func (l *gorgoniaCU) openContext(c cuContext) error {
	return do("cuCtxEnablePeerAccess", as[cu.CUContext](c).EnablePeerAccess(0))
}

func (l *gorgoniaCU) openPool(owner, guest int) error {
	if l.poolOf == nil || l.poolAccess == nil {
		return nil
	}
	return checkC("cuMemPoolSetAccess", C.openPool(l.poolOf, l.poolAccess, C.CUdevice(owner), C.CUdevice(guest)))
}

func (l *gorgoniaCU) copyPeer(_ *frame, dst cuDevicePtr, to cuContext, src cuDevicePtr, from cuContext, n int64, s cuStream) error {
	return checkC("cuMemcpyPeerAsync", C.cuMemcpyPeerAsync(C.CUdeviceptr(dst), asC[C.CUcontext](to),
		C.CUdeviceptr(src), asC[C.CUcontext](from), C.size_t(n), asC[C.CUstream](s)))
}
