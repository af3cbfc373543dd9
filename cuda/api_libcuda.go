package cuda

import (
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
	path    string
	library uintptr

	initialize, driverVersion, errorName               uintptr
	deviceGetCount, deviceGet, deviceName              uintptr
	deviceMemory, deviceAttribute                      uintptr
	primaryRetain, primaryRelease                      uintptr
	ctxSet, ctxGet, ctxDevice, exchangeMode            uintptr
	memInfo, memAlloc, memFree, pointerAttribute       uintptr
	hostAlloc, hostFree                                uintptr
	streamCreate, streamDestroy, streamSync            uintptr
	streamWait, streamContext, streamCapturing         uintptr
	eventCreate, eventDestroy, eventRecord, eventQuery uintptr
	eventSync, eventElapsed                            uintptr
	copyIn, copyOut, copyDevice                        uintptr
	peerReach, peerOpen, peerCopy                      uintptr
	moduleLoad, moduleUnload, moduleFunction           uintptr
	launchKernel                                       uintptr
	// 0 if the driver is too old:
	memAllocAsync, memFreeAsync                      uintptr
	poolCreate, poolDestroy, poolAlloc               uintptr
	poolAttribute, poolTrim, poolAccess              uintptr
	functionGet, functionSet, functionParameter      uintptr
	captureBegin, captureEnd, graphInstantiate       uintptr
	graphLaunch, graphExecDestroy, graphDestroyDraft uintptr
	glDevices, glRegister, resourceUnregister        uintptr
	resourceMap, resourcePointer, resourceUnmap      uintptr
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
	l := &libcuda{path: quote.Path(lib.Name), library: lib.Handle()}
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
		return nil, fmt.Errorf("%w: the NVIDIA driver %s, for CUDA %s, lacks %d functions, %s among them", device.ErrNoDevice,
			l.path, versionString(v), len(missing), missing[0])
	}
	if err := l.do("cuInit", dl.Call(l.initialize, 0)); err != nil {
		return nil, startError(l.path, err)
	}
	return l, nil
}

// do returns the error of a call's result.
func (l *libcuda) do(call string, result uintptr) error {
	if int32(result) == 0 {
		return nil
	}
	return l.failed(call, int64(int32(result)))
}

func (l *libcuda) failed(call string, code int64) error {
	return driverError(call, code, l.codeName(code), "")
}

func (l *libcuda) codeName(code int64) string {
	text := new(uintptr)
	if int32(dl.Call(l.errorName, uintptr(code), uintptr(unsafe.Pointer(text)))) != 0 || *text == 0 {
		return "unknown error"
	}
	return goString(*text)
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

func (l *libcuda) name() string { return l.path }

func (l *libcuda) libraryHandle() uintptr { return l.library }

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
	attributeClock = 13
	attributeUnits = 16
	attributeMajor = 75
	attributeMinor = 76
	attributePools = 115
)

func (l *libcuda) properties(ordinal int) (properties, error) {
	handle, err := l.handle(ordinal)
	if err != nil {
		return properties{}, err
	}
	bytes, name := new(uint64), make([]byte, 256)
	if err := l.do("cuDeviceGetName", dl.Call(l.deviceName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)-1), handle)); err != nil {
		return properties{}, err
	}
	if err := l.do("cuDeviceTotalMem", dl.Call(l.deviceMemory, uintptr(unsafe.Pointer(bytes)), handle)); err != nil {
		return properties{}, err
	}
	attribute := func(code int) (int, error) {
		v := new(int32)
		err := l.do("cuDeviceGetAttribute", dl.Call(l.deviceAttribute, uintptr(unsafe.Pointer(v)), uintptr(code), handle))
		return int(*v), err
	}
	f := properties{name: quote.Text(text(name)), memory: int64(*bytes)}
	if f.major, err = attribute(attributeMajor); err != nil {
		return properties{}, err
	}
	if f.minor, err = attribute(attributeMinor); err != nil {
		return properties{}, err
	}
	pools, err := attribute(attributePools)
	f.pools = err == nil && pools == 1 // a driver that does not know the attribute has no pools
	f.clock, _ = attribute(attributeClock)
	f.units, _ = attribute(attributeUnits)
	f.bus = pciAddress(attribute)
	return f, nil
}

// handle returns a device's CUdevice.
func (l *libcuda) handle(ordinal int) (uintptr, error) {
	d := new(int32)
	err := l.do("cuDeviceGet", dl.Call(l.deviceGet, uintptr(unsafe.Pointer(d)), uintptr(ordinal)))
	return uintptr(*d), err
}
