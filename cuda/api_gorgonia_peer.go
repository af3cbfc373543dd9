//go:build gorgonia

package cuda

// #include <cuda.h>
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

func (l *gorgoniaCU) copyPeer(_ *frame, dst cuDevicePtr, to cuContext, src cuDevicePtr, from cuContext, n int64, s cuStream) error {
	return checkC("cuMemcpyPeerAsync", C.cuMemcpyPeerAsync(C.CUdeviceptr(dst), asC[C.CUcontext](to),
		C.CUdeviceptr(src), asC[C.CUcontext](from), C.size_t(n), asC[C.CUstream](s)))
}
