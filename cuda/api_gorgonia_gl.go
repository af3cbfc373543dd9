//go:build gorgonia

package cuda

/*
#include <cuda.h>

// gorgonia.org/cu has none of these functions, and cudaGL.h, which declares some, needs the
// headers of GL.
static CUresult glDevices(void *f, unsigned *n, int *all, unsigned room, int which) {
	return ((CUresult (*)(unsigned *, int *, unsigned, int))f)(n, all, room, which);
}

static CUresult glRegister(void *f, CUgraphicsResource *r, unsigned name, unsigned flags) {
	return ((CUresult (*)(CUgraphicsResource *, unsigned, unsigned))f)(r, name, flags);
}

// turn is cuGraphicsMapResources or cuGraphicsUnmapResources.
static CUresult turn(void *f, CUgraphicsResource r, CUstream s) {
	return ((CUresult (*)(unsigned, CUgraphicsResource *, CUstream))f)(1, &r, s);
}

static CUresult resourcePointer(void *f, CUdeviceptr *p, size_t *bytes, CUgraphicsResource r) {
	return ((CUresult (*)(CUdeviceptr *, size_t *, CUgraphicsResource))f)(p, bytes, r);
}

static CUresult unregister(void *f, CUgraphicsResource r) {
	return ((CUresult (*)(CUgraphicsResource))f)(r);
}
*/
import "C"

import (
	"slices"
	"unsafe"
)

// gorgoniaCU is a glAPI.

func (l *gorgoniaCU) hasGL() bool {
	return l.glRegister != nil && l.resourceMap != nil && l.resourcePointer != nil && l.resourceUnmap != nil && l.resourceUnregister != nil
}

// onGL: a CUdevice is its ordinal.
func (l *gorgoniaCU) onGL(ordinal int) (bool, error) {
	if l.glDevices == nil { // cuGraphicsGLRegisterBuffer will tell
		return true, nil
	}
	var n C.uint
	var all [mostGLDevices]C.int
	err := checkC("cuGLGetDevices", C.glDevices(l.glDevices, &n, &all[0], mostGLDevices, allDevices))
	return err == nil && slices.Contains(all[:min(n, mostGLDevices)], C.int(ordinal)), err
}

func (l *gorgoniaCU) registerGL(name, flags uint32) (cuResource, error) {
	var r C.CUgraphicsResource
	err := checkC("cuGraphicsGLRegisterBuffer", C.glRegister(l.glRegister, &r, C.uint(name), C.uint(flags)))
	return cuResource(unsafe.Pointer(r)), err
}

func (l *gorgoniaCU) unregister(r cuResource) error {
	return checkC("cuGraphicsUnregisterResource", C.unregister(l.resourceUnregister, asC[C.CUgraphicsResource](r)))
}

func (l *gorgoniaCU) mapResource(r cuResource, s cuStream) error {
	return checkC("cuGraphicsMapResources", C.turn(l.resourceMap, asC[C.CUgraphicsResource](r), asC[C.CUstream](s)))
}

func (l *gorgoniaCU) mapped(r cuResource) (cuDevicePtr, int64, error) {
	var p C.CUdeviceptr
	var bytes C.size_t
	err := checkC("cuGraphicsResourceGetMappedPointer", C.resourcePointer(l.resourcePointer, &p, &bytes, asC[C.CUgraphicsResource](r)))
	return cuDevicePtr(p), int64(bytes), err
}

func (l *gorgoniaCU) unmapResource(r cuResource, s cuStream) error {
	return checkC("cuGraphicsUnmapResources", C.turn(l.resourceUnmap, asC[C.CUgraphicsResource](r), asC[C.CUstream](s)))
}
