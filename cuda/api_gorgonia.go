//go:build gorgonia

package cuda

/*
#cgo linux CFLAGS: -I/usr/local/cuda/include
#cgo LDFLAGS: -lcuda -ldl
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>

static void *find(const char *name) { return dlsym(RTLD_DEFAULT, name); }
*/
import "C"

import (
	"reflect"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// gorgoniaCU is the api of gorgonia.org/cu. That package initialises the driver before
// main, and ends the process if it cannot. What it lacks, does wrong, or does not do
// without allocating is called through cgo here: both are linked to one library.
type gorgoniaCU struct {
	// Functions that some drivers since CUDA 11.0 lack: nil where they do.
	allocAsync, freeAsync, graphInstantiate                                 unsafe.Pointer
	poolCreate, poolDestroy, poolAlloc, poolAttribute, poolTrim, poolAccess unsafe.Pointer
	functionParameter                                                       unsafe.Pointer
	glDevices, glRegister, resourceUnregister                               unsafe.Pointer
	resourceMap, resourcePointer, resourceUnmap                             unsafe.Pointer
}

// frame is empty: cgo keeps arguments and results itself.
type frame struct{}

// openAPI checks the driver, once.
var openAPI = sync.OnceValues(func() (api, error) {
	l := new(gorgoniaCU)
	v, err := l.version()
	if err != nil {
		return nil, startError(l.name(), err)
	}
	if err := checkVersion(l.name(), v); err != nil {
		return nil, err
	}
	for name, at := range map[string]*unsafe.Pointer{
		"cuMemAllocAsync": &l.allocAsync, "cuMemFreeAsync": &l.freeAsync, "cuGraphInstantiateWithFlags": &l.graphInstantiate,
		"cuMemPoolCreate": &l.poolCreate, "cuMemPoolDestroy": &l.poolDestroy, "cuMemAllocFromPoolAsync": &l.poolAlloc,
		"cuFuncGetParamInfo": &l.functionParameter, "cuMemPoolSetAttribute": &l.poolAttribute, "cuMemPoolTrimTo": &l.poolTrim, "cuMemPoolSetAccess": &l.poolAccess,
		"cuGLGetDevices_v2": &l.glDevices, "cuGraphicsGLRegisterBuffer": &l.glRegister, "cuGraphicsUnregisterResource": &l.resourceUnregister,
		"cuGraphicsMapResources": &l.resourceMap, "cuGraphicsResourceGetMappedPointer_v2": &l.resourcePointer, "cuGraphicsUnmapResources": &l.resourceUnmap,
	} {
		symbol := C.CString(name)
		*at = C.find(symbol)
		C.free(unsafe.Pointer(symbol))
	}
	return l, nil
})

// The types of gorgonia.org/cu are structs of the one handle, which they keep to
// themselves: as and from look at it as such.
type handles interface {
	cu.CUContext | cu.Stream | cu.Event | cu.Module | cu.Function | cu.ExecGraph
}

func as[T handles, H ~uintptr](h H) T { return *(*T)(unsafe.Pointer(&h)) }

func from[T handles](t T) uintptr { return *(*uintptr)(unsafe.Pointer(&t)) }

// That they are of one size is checked when this is compiled.
var _ = [...][unsafe.Sizeof(uintptr(0))]byte{
	[unsafe.Sizeof(cu.CUContext{})]byte{}, [unsafe.Sizeof(cu.Stream{})]byte{}, [unsafe.Sizeof(cu.Event{})]byte{},
	[unsafe.Sizeof(cu.Module{})]byte{}, [unsafe.Sizeof(cu.Function{})]byte{}, [unsafe.Sizeof(cu.ExecGraph{})]byte{},
}

// asC is a handle as C's functions take it.
func asC[T C.CUstream | C.CUevent | C.CUgraphExec | C.CUcontext | C.CUfunction | C.CUmemoryPool | C.CUgraphicsResource, H ~uintptr](h H) T {
	return *(*T)(unsafe.Pointer(&h))
}

// do makes an error of one of gorgonia.org/cu, whose type, a number, has no name
// outside.
func do(call string, err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return driverError(call, v.Int(), codeName(v.Int()), "")
	}
	return err
}

// checkC makes an error of a result of C's.
func checkC(call string, result C.CUresult) error {
	if result == C.CUDA_SUCCESS {
		return nil
	}
	return driverError(call, int64(result), codeName(int64(result)), "")
}

func codeName(code int64) string {
	var name *C.char
	if C.cuGetErrorName(C.CUresult(code), &name) != C.CUDA_SUCCESS || name == nil {
		return "unknown error"
	}
	return C.GoString(name)
}

func (l *gorgoniaCU) name() string { return "libcuda.so.1" }

// version is not cu.Version, which keeps the reason of a failure to itself.
func (l *gorgoniaCU) version() (int, error) {
	var v C.int
	err := checkC("cuDriverGetVersion", C.cuDriverGetVersion(&v))
	return int(v), err
}

func (l *gorgoniaCU) deviceCount() (int, error) {
	n, err := cu.NumDevices()
	return n, do("cuDeviceGetCount", err)
}

func (l *gorgoniaCU) properties(ordinal int) (properties, error) {
	d, err := cu.GetDevice(ordinal)
	if err != nil {
		return properties{}, do("cuDeviceGet", err)
	}
	var f properties
	if f.name, err = d.Name(); err != nil {
		return properties{}, do("cuDeviceGetName", err)
	}
	if f.memory, err = d.TotalMem(); err != nil {
		return properties{}, do("cuDeviceTotalMem", err)
	}
	if f.major, err = d.Attribute(cu.ComputeCapabilityMajor); err != nil {
		return properties{}, do("cuDeviceGetAttribute", err)
	}
	if f.minor, err = d.Attribute(cu.ComputeCapabilityMinor); err != nil {
		return properties{}, do("cuDeviceGetAttribute", err)
	}
	const attributePools = 115 // newer than some headers
	pools, err := d.Attribute(attributePools)
	f.pools = err == nil && pools == 1 // a driver that does not know the question has none
	f.clock, _ = d.Attribute(cu.ClockRate)
	f.units, _ = d.Attribute(cu.MultiprocessorCount)
	f.bus = pciAddress(func(code int) (int, error) { return d.Attribute(cu.DeviceAttribute(code)) })
	return f, nil
}
