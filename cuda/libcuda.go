//go:build !gorgonia

package cuda

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
)

// libcuda is the driver's own library, found at run time.
type libcuda struct {
	path string

	init, driverVersion, errorName                     uintptr
	deviceGetCount, deviceGet, deviceName              uintptr
	deviceMemory, deviceAttribute                      uintptr
	primaryRetain, primaryRelease, ctxSet, ctxGet      uintptr
	ctxDevice, ctxSync                                 uintptr
	memInfo, memAlloc, memFree                         uintptr
	hostAlloc, hostFree                                uintptr
	streamCreate, streamDestroy, streamSync            uintptr
	streamWait                                         uintptr
	eventCreate, eventDestroy, eventRecord, eventQuery uintptr
	eventSync, eventElapsed                            uintptr
	copyIn, copyOut, copyAcross                        uintptr
	moduleLoad, moduleUnload, moduleFunction           uintptr
	launchKernel                                       uintptr
	// 0 where the driver is too old for them:
	memAllocAsync, memFreeAsync                      uintptr
	captureBegin, captureEnd, graphInstantiate       uintptr
	graphLaunch, graphExecDestroy, graphDestroyDraft uintptr
}

// symbols lists the functions; those after the gap are not in all drivers.
func (l *libcuda) symbols() []symbol {
	return []symbol{
		{&l.init, "cuInit"},
		{&l.driverVersion, "cuDriverGetVersion"},
		{&l.errorName, "cuGetErrorName"},
		{&l.deviceGetCount, "cuDeviceGetCount"},
		{&l.deviceGet, "cuDeviceGet"},
		{&l.deviceName, "cuDeviceGetName"},
		{&l.deviceMemory, "cuDeviceTotalMem_v2"},
		{&l.deviceAttribute, "cuDeviceGetAttribute"},
		{&l.primaryRetain, "cuDevicePrimaryCtxRetain"},
		{&l.primaryRelease, "cuDevicePrimaryCtxRelease_v2"},
		{&l.ctxSet, "cuCtxSetCurrent"},
		{&l.ctxGet, "cuCtxGetCurrent"},
		{&l.ctxDevice, "cuCtxGetDevice"},
		{&l.ctxSync, "cuCtxSynchronize"},
		{&l.memInfo, "cuMemGetInfo_v2"},
		{&l.memAlloc, "cuMemAlloc_v2"},
		{&l.memFree, "cuMemFree_v2"},
		{&l.hostAlloc, "cuMemHostAlloc"},
		{&l.hostFree, "cuMemFreeHost"},
		{&l.streamCreate, "cuStreamCreate"},
		{&l.streamDestroy, "cuStreamDestroy_v2"},
		{&l.streamSync, "cuStreamSynchronize"},
		{&l.streamWait, "cuStreamWaitEvent"},
		{&l.eventCreate, "cuEventCreate"},
		{&l.eventDestroy, "cuEventDestroy_v2"},
		{&l.eventRecord, "cuEventRecord"},
		{&l.eventQuery, "cuEventQuery"},
		{&l.eventSync, "cuEventSynchronize"},
		{&l.eventElapsed, "cuEventElapsedTime"},
		{&l.copyIn, "cuMemcpyHtoDAsync_v2"},
		{&l.copyOut, "cuMemcpyDtoHAsync_v2"},
		{&l.copyAcross, "cuMemcpyPeerAsync"},
		{&l.moduleLoad, "cuModuleLoadDataEx"},
		{&l.moduleUnload, "cuModuleUnload"},
		{&l.moduleFunction, "cuModuleGetFunction"},
		{&l.launchKernel, "cuLaunchKernel"},
		{nil, ""},
		{&l.memAllocAsync, "cuMemAllocAsync"},
		{&l.memFreeAsync, "cuMemFreeAsync"},
		{&l.captureBegin, "cuStreamBeginCapture_v2"},
		{&l.captureEnd, "cuStreamEndCapture"},
		{&l.graphInstantiate, "cuGraphInstantiateWithFlags"},
		{&l.graphLaunch, "cuGraphLaunch"},
		{&l.graphExecDestroy, "cuGraphExecDestroy"},
		{&l.graphDestroyDraft, "cuGraphDestroy"},
	}
}

type symbol struct {
	address *uintptr
	name    string
}

// minVersion is the oldest driver that is known to have what we call: CUDA 10.0.
const minVersion = 10000

// openDriver finds and initialises the driver, once.
var openDriver = sync.OnceValues(func() (driver, error) {
	names := []string{"libcuda.so.1", "libcuda.so", "nvcuda.dll"}
	if path := os.Getenv("RESTRIDE_LIBCUDA"); path != "" {
		names = []string{path}
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("%w: there is no NVIDIA driver: %v", device.ErrNoDevice, err)
	}
	l := &libcuda{path: lib.Name}
	var missing error
	must := true
	for _, s := range l.symbols() {
		if s.address == nil {
			must = false
			continue
		}
		if *s.address, err = lib.Lookup(s.name); err != nil && must {
			missing = errors.Join(missing, err)
		}
	}
	if missing != nil {
		version := 0
		if l.driverVersion != 0 {
			version, _ = l.version()
		}
		return nil, fmt.Errorf("%w: the NVIDIA driver is for CUDA %s; at least %s is needed (%v)", device.ErrNoDevice,
			versionString(version), versionString(minVersion), missing)
	}
	if err := l.do("cuInit", dl.Call(l.init, 0)); err != nil {
		return nil, fmt.Errorf("%w: the NVIDIA driver (%s) does not start: %w", device.ErrNoDevice, l.path, err)
	}
	if v, err := l.version(); err != nil || v < minVersion {
		return nil, fmt.Errorf("%w: the NVIDIA driver is for CUDA %s; at least %s is needed", device.ErrNoDevice,
			versionString(v), versionString(minVersion))
	}
	return l, nil
})

func versionString(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// do makes an error of a call's result.
func (l *libcuda) do(call string, result uintptr) error {
	if code := int64(int32(result)); code != 0 {
		return driverError(call, code, l.codeName(code), "")
	}
	return nil
}

func (l *libcuda) codeName(code int64) string {
	text := new(uintptr)
	if int32(dl.Call(l.errorName, uintptr(code), uintptr(unsafe.Pointer(text)))) != 0 || *text == 0 {
		return "unknown error"
	}
	return goString(*text)
}

// goString reads a C string of the library's.
func goString(at uintptr) string {
	p := (*byte)(dl.Pointer(at))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// text is a C string in memory of ours.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

func (l *libcuda) name() string { return l.path }

func (l *libcuda) version() (int, error) {
	v := new(int32)
	err := l.do("cuDriverGetVersion", dl.Call(l.driverVersion, uintptr(unsafe.Pointer(v))))
	return int(*v), err
}

func (l *libcuda) deviceCount() (int, error) {
	n := new(int32)
	err := l.do("cuDeviceGetCount", dl.Call(l.deviceGetCount, uintptr(unsafe.Pointer(n))))
	return int(*n), err
}

// Attributes of a device.
const (
	attributeMajor      = 75
	attributeMinor      = 76
	attributeIntegrated = 18
	attributePools      = 115
)

func (l *libcuda) describe(ordinal int) (facts, error) {
	var f facts
	handle, bytes, name := new(int32), new(uint64), make([]byte, 256)
	err := l.do("cuDeviceGet", dl.Call(l.deviceGet, uintptr(unsafe.Pointer(handle)), uintptr(ordinal)))
	if err == nil {
		err = l.do("cuDeviceGetName", dl.Call(l.deviceName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)-1), uintptr(*handle)))
	}
	if err == nil {
		err = l.do("cuDeviceTotalMem", dl.Call(l.deviceMemory, uintptr(unsafe.Pointer(bytes)), uintptr(*handle)))
	}
	attribute := func(code int) int {
		v := new(int32)
		if err != nil {
			return 0
		}
		// A driver that does not know a newer attribute does not have it either.
		if e := l.do("cuDeviceGetAttribute", dl.Call(l.deviceAttribute, uintptr(unsafe.Pointer(v)), uintptr(code), uintptr(*handle))); e != nil && code != attributePools {
			err = e
		}
		return int(*v)
	}
	f.major, f.minor = attribute(attributeMajor), attribute(attributeMinor)
	f.integrated = attribute(attributeIntegrated) == 1
	f.pools = attribute(attributePools) == 1
	f.memory = int64(*bytes)
	f.name = text(name)
	return f, err
}
