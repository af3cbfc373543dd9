package cuda

import (
	"cmp"
	"fmt"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/quote"
)

// frame holds the arguments and results of frequent calls, one at a time. It lies on the heap,
// so that calls allocate nothing.
type frame struct {
	args [11]uintptr
	ctx  cuContext
	n    int32
}

// libcuda is the api of the driver's library, found at run time.
type libcuda struct {
	*driverLibrary

	deviceCalls
	memoryCalls
	poolCalls
	streamCalls
	eventCalls
	copyCalls
	peerCalls
	moduleCalls
	graphCalls
	glCalls
}

// newLibcuda is a libcuda without functions.
func newLibcuda(l *driverLibrary) *libcuda {
	return &libcuda{
		l, deviceCalls{driverLibrary: l}, memoryCalls{driverLibrary: l}, poolCalls{driverLibrary: l}, streamCalls{driverLibrary: l}, eventCalls{driverLibrary: l},
		copyCalls{driverLibrary: l}, peerCalls{driverLibrary: l}, moduleCalls{driverLibrary: l}, graphCalls{driverLibrary: l}, glCalls{driverLibrary: l},
	}
}

// symbols lists the functions. Some drivers lack those after the gap.
func (l *libcuda) symbols() []symbol {
	return []symbol{
		{&l.initialize, "cuInit"},
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
		{&l.exchangeMode, "cuThreadExchangeStreamCaptureMode"},
		{&l.memInfo, "cuMemGetInfo_v2"},
		{&l.memAlloc, "cuMemAlloc_v2"},
		{&l.memFree, "cuMemFree_v2"},
		{&l.pointerAttribute, "cuPointerGetAttribute"},
		{&l.hostAlloc, "cuMemHostAlloc"},
		{&l.hostFree, "cuMemFreeHost"},
		{&l.streamCreate, "cuStreamCreate"},
		{&l.streamDestroy, "cuStreamDestroy_v2"},
		{&l.streamSync, "cuStreamSynchronize"},
		{&l.streamWait, "cuStreamWaitEvent"},
		{&l.streamContext, "cuStreamGetCtx"},
		{&l.streamCapturing, "cuStreamIsCapturing"},
		{&l.eventCreate, "cuEventCreate"},
		{&l.eventDestroy, "cuEventDestroy_v2"},
		{&l.eventRecord, "cuEventRecord"},
		{&l.eventQuery, "cuEventQuery"},
		{&l.eventSync, "cuEventSynchronize"},
		{&l.eventElapsed, "cuEventElapsedTime"},
		{&l.copyIn, "cuMemcpyHtoDAsync_v2"},
		{&l.copyOut, "cuMemcpyDtoHAsync_v2"},
		{&l.copyDevice, "cuMemcpyDtoDAsync_v2"},
		{&l.peerReach, "cuDeviceCanAccessPeer"},
		{&l.peerOpen, "cuCtxEnablePeerAccess"},
		{&l.peerCopy, "cuMemcpyPeerAsync"},
		{&l.moduleLoad, "cuModuleLoadDataEx"},
		{&l.moduleUnload, "cuModuleUnload"},
		{&l.moduleFunction, "cuModuleGetFunction"},
		{&l.launchKernel, "cuLaunchKernel"},
		{nil, ""},
		{&l.memAllocAsync, "cuMemAllocAsync"},
		{&l.memFreeAsync, "cuMemFreeAsync"},
		{&l.poolCreate, "cuMemPoolCreate"},
		{&l.poolDestroy, "cuMemPoolDestroy"},
		{&l.poolAlloc, "cuMemAllocFromPoolAsync"},
		{&l.poolAttribute, "cuMemPoolSetAttribute"},
		{&l.poolTrim, "cuMemPoolTrimTo"},
		{&l.poolAccess, "cuMemPoolSetAccess"},
		{&l.functionGet, "cuFuncGetAttribute"},
		{&l.functionSet, "cuFuncSetAttribute"},
		{&l.functionParameter, "cuFuncGetParamInfo"},
		{&l.captureBegin, "cuStreamBeginCapture_v2"},
		{&l.captureEnd, "cuStreamEndCapture"},
		{&l.graphInstantiate, "cuGraphInstantiateWithFlags"},
		{&l.graphLaunch, "cuGraphLaunch"},
		{&l.graphExecDestroy, "cuGraphExecDestroy"},
		{&l.graphDestroyDraft, "cuGraphDestroy"},
		{&l.glDevices, "cuGLGetDevices_v2"},
		{&l.glRegister, "cuGraphicsGLRegisterBuffer"},
		{&l.resourceUnregister, "cuGraphicsUnregisterResource"},
		{&l.resourceMap, "cuGraphicsMapResources"},
		{&l.resourcePointer, "cuGraphicsResourceGetMappedPointer_v2"},
		{&l.resourceUnmap, "cuGraphicsUnmapResources"},
	}
}

type symbol struct {
	address *uintptr
	name    string
}

// load opens the first library that it finds, and initialises the driver.
func load(names ...string) (*libcuda, error) {
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("%w: there is no NVIDIA driver: %w", device.ErrNoDevice, err)
	}
	l := newLibcuda(&driverLibrary{path: quote.Path(lib.Name), at: lib.Handle()})
	var missing []string
	must := true
	for _, s := range l.symbols() {
		if s.address == nil {
			must = false
			continue
		}
		if *s.address, err = lib.Lookup(s.name); err != nil && must {
			missing = append(missing, s.name)
		}
	}
	if l.driverVersion == 0 || l.errorName == 0 {
		return nil, fmt.Errorf("%w: %s is no NVIDIA driver", device.ErrNoDevice, l.path)
	}
	// The version comes first: a driver that is too old may fail to start, with a less helpful
	// reason.
	v, err := l.version()
	if err != nil {
		return nil, startError(l.path, err)
	}
	if err := checkVersion(l.path, v); err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: %w: the NVIDIA driver %s, for CUDA %s, lacks %d functions, %s among them", device.ErrNoDevice, device.ErrUnsupported,
			l.path, versionString(v), len(missing), missing[0])
	}
	if err := l.do("cuInit", dl.Call(l.initialize, 0)); err != nil {
		return nil, startError(l.path, err)
	}
	return l, nil
}

// goString copies a C string of the library.
func goString(at uintptr) string {
	p := (*byte)(dl.Pointer(at))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// driverLibrary is the driver's library, and what the groups of calls share.
type driverLibrary struct {
	path string
	at   uintptr // as dlopen returns it

	initialize, driverVersion, errorName, deviceGet uintptr
}

// do returns the error of a call's result.
func (l *driverLibrary) do(call string, result uintptr) error {
	if int32(result) == 0 {
		return nil
	}
	return l.failed(call, int64(int32(result)))
}

func (l *driverLibrary) failed(call string, code int64) error {
	return driverError(call, code, l.codeName(code), "")
}

func (l *driverLibrary) codeName(code int64) string {
	text := new(uintptr)
	if int32(dl.Call(l.errorName, uintptr(code), uintptr(unsafe.Pointer(text)))) != 0 || *text == 0 {
		return cmp.Or(codeNames[code], "unknown error")
	}
	return goString(*text)
}

func (l *driverLibrary) name() string { return l.path }

func (l *driverLibrary) libraryHandle() uintptr { return l.at }

func (l *driverLibrary) version() (int, error) {
	v := new(int32)
	err := l.do("cuDriverGetVersion", dl.Call(l.driverVersion, uintptr(unsafe.Pointer(v))))
	return int(*v), err
}

// handle returns a device's CUdevice.
func (l *driverLibrary) handle(ordinal int) (uintptr, error) {
	d := new(int32)
	err := l.do("cuDeviceGet", dl.Call(l.deviceGet, uintptr(unsafe.Pointer(d)), uintptr(ordinal)))
	return uintptr(*d), err
}
