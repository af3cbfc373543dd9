package cuda

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

func (l *libcuda) retainPrimary(ordinal int) (cuContext, error) {
	d, err := l.handle(ordinal)
	if err != nil {
		return 0, err
	}
	c := new(cuContext)
	err = l.do("cuDevicePrimaryCtxRetain", dl.Call(l.primaryRetain, uintptr(unsafe.Pointer(c)), d))
	return *c, err
}

func (l *libcuda) releasePrimary(ordinal int) error {
	d, err := l.handle(ordinal)
	if err != nil {
		return err
	}
	return l.do("cuDevicePrimaryCtxRelease", dl.Call(l.primaryRelease, d))
}

func (l *libcuda) setCurrent(f *frame, c cuContext) error {
	f.args[0] = uintptr(c)
	return l.do("cuCtxSetCurrent", dl.Call(l.ctxSet, f.args[:1]...))
}

func (l *libcuda) current(f *frame) (cuContext, error) {
	f.args[0] = uintptr(unsafe.Pointer(&f.ctx))
	err := l.do("cuCtxGetCurrent", dl.Call(l.ctxGet, f.args[:1]...))
	return f.ctx, err
}

func (l *libcuda) ordinal() (int, error) {
	n := new(int32)
	err := l.do("cuCtxGetDevice", dl.Call(l.ctxDevice, uintptr(unsafe.Pointer(n))))
	return int(*n), err
}

func (l *libcuda) captureMode(f *frame, mode int32) (int32, error) {
	f.n = mode
	f.args[0] = uintptr(unsafe.Pointer(&f.n))
	err := l.do("cuThreadExchangeStreamCaptureMode", dl.Call(l.exchangeMode, f.args[:1]...))
	return f.n, err
}

func (l *libcuda) memory() (free, total int64, err error) {
	v := new([2]uint64)
	err = l.do("cuMemGetInfo", dl.Call(l.memInfo, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1]))))
	return int64(v[0]), int64(v[1]), err
}

func (l *libcuda) alloc(bytes int64) (cuDevicePtr, error) {
	p := new(cuDevicePtr)
	err := l.do("cuMemAlloc", dl.Call(l.memAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes)))
	return *p, err
}

func (l *libcuda) free(p cuDevicePtr) error { return l.do("cuMemFree", dl.Call(l.memFree, uintptr(p))) }

func (l *libcuda) ordered() bool { return l.memAllocAsync != 0 && l.memFreeAsync != 0 }

func (l *libcuda) allocOn(s cuStream, bytes int64) (cuDevicePtr, error) {
	p := new(cuDevicePtr)
	err := l.do("cuMemAllocAsync", dl.Call(l.memAllocAsync, uintptr(unsafe.Pointer(p)), uintptr(bytes), uintptr(s)))
	return *p, err
}

func (l *libcuda) freeOn(s cuStream, p cuDevicePtr) error {
	return l.do("cuMemFreeAsync", dl.Call(l.memFreeAsync, uintptr(p), uintptr(s)))
}

// portable pinned memory is pinned for all contexts.
const portable = 1

func (l *libcuda) allocHost(bytes int64) (unsafe.Pointer, error) {
	p := new(uintptr)
	err := l.do("cuMemHostAlloc", dl.Call(l.hostAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes), portable))
	return dl.Pointer(*p), err
}

func (l *libcuda) freeHost(p unsafe.Pointer) error {
	return l.do("cuMemFreeHost", dl.Call(l.hostFree, uintptr(p)))
}

// Attributes of a pointer.
const (
	pointerContext = 1
	pointerType    = 2
	pointerDevice  = 9
	pointerBase    = 11
	pointerBytes   = 12

	typeDevice = 2
)

func (l *libcuda) locate(p cuDevicePtr) (location, error) {
	numbers := new([4]uint64) // zeroed: some attributes have four bytes
	for i, key := range []uintptr{pointerDevice, pointerType, pointerBase, pointerBytes} {
		if err := l.do("cuPointerGetAttribute", dl.Call(l.pointerAttribute, uintptr(unsafe.Pointer(&numbers[i])), key, uintptr(p))); err != nil {
			return location{}, err
		}
	}
	ctx := new(cuContext)
	if err := l.do("cuPointerGetAttribute", dl.Call(l.pointerAttribute, uintptr(unsafe.Pointer(ctx)), pointerContext, uintptr(p))); err != nil {
		if codeOf(err) != codeInvalidValue { // memory without a context need not have the attribute
			return location{}, err
		}
		*ctx = 0
	}
	return location{int(numbers[0]), numbers[1] == typeDevice, *ctx, cuDevicePtr(numbers[2]), int64(numbers[3])}, nil
}

// nonBlocking streams do not wait for the legacy default stream.
const nonBlocking = 1

func (l *libcuda) newStream() (cuStream, error) {
	s := new(cuStream)
	err := l.do("cuStreamCreate", dl.Call(l.streamCreate, uintptr(unsafe.Pointer(s)), nonBlocking))
	return *s, err
}

func (l *libcuda) destroyStream(s cuStream) error {
	return l.do("cuStreamDestroy", dl.Call(l.streamDestroy, uintptr(s)))
}

func (l *libcuda) contextOf(s cuStream) (cuContext, error) {
	c := new(cuContext)
	err := l.do("cuStreamGetCtx", dl.Call(l.streamContext, uintptr(s), uintptr(unsafe.Pointer(c))))
	return *c, err
}

func (l *libcuda) isCapturing(f *frame, s cuStream) (bool, error) {
	f.args[0], f.args[1] = uintptr(s), uintptr(unsafe.Pointer(&f.n))
	err := l.do("cuStreamIsCapturing", dl.Call(l.streamCapturing, f.args[:2]...))
	return err == nil && f.n != 0, err
}

func (l *libcuda) synchronize(f *frame, s cuStream) error {
	f.args[0] = uintptr(s)
	return l.do("cuStreamSynchronize", dl.Call(l.streamSync, f.args[:1]...))
}

func (l *libcuda) waitEvent(f *frame, s cuStream, e cuEvent) error {
	f.args[0], f.args[1], f.args[2] = uintptr(s), uintptr(e), 0
	return l.do("cuStreamWaitEvent", dl.Call(l.streamWait, f.args[:3]...))
}

func (l *libcuda) newEvent() (cuEvent, error) {
	e := new(cuEvent)
	err := l.do("cuEventCreate", dl.Call(l.eventCreate, uintptr(unsafe.Pointer(e)), 0))
	return *e, err
}

func (l *libcuda) destroyEvent(e cuEvent) error {
	return l.do("cuEventDestroy", dl.Call(l.eventDestroy, uintptr(e)))
}

func (l *libcuda) record(f *frame, e cuEvent, s cuStream) error {
	f.args[0], f.args[1] = uintptr(e), uintptr(s)
	return l.do("cuEventRecord", dl.Call(l.eventRecord, f.args[:2]...))
}

func (l *libcuda) done(f *frame, e cuEvent) (bool, error) {
	f.args[0] = uintptr(e)
	result := dl.Call(l.eventQuery, f.args[:1]...)
	if int32(result) == codeNotReady {
		return false, nil
	}
	err := l.do("cuEventQuery", result)
	return err == nil, err
}

func (l *libcuda) await(f *frame, e cuEvent) error {
	f.args[0] = uintptr(e)
	return l.do("cuEventSynchronize", dl.Call(l.eventSync, f.args[:1]...))
}

func (l *libcuda) elapsed(from, to cuEvent) (milliseconds float32, err error) {
	ms := new(float32)
	err = l.do("cuEventElapsedTime", dl.Call(l.eventElapsed, uintptr(unsafe.Pointer(ms)), uintptr(from), uintptr(to)))
	return *ms, err
}

func (l *libcuda) upload(f *frame, dst cuDevicePtr, src unsafe.Pointer, n int64, s cuStream) error {
	f.args[0], f.args[1], f.args[2], f.args[3] = uintptr(dst), uintptr(src), uintptr(n), uintptr(s)
	return l.do("cuMemcpyHtoDAsync", dl.Call(l.copyIn, f.args[:4]...))
}

func (l *libcuda) download(f *frame, dst unsafe.Pointer, src cuDevicePtr, n int64, s cuStream) error {
	f.args[0], f.args[1], f.args[2], f.args[3] = uintptr(dst), uintptr(src), uintptr(n), uintptr(s)
	return l.do("cuMemcpyDtoHAsync", dl.Call(l.copyOut, f.args[:4]...))
}

// Options of the PTX compiler.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

func (l *libcuda) copyWithin(f *frame, dst, src cuDevicePtr, n int64, s cuStream) error {
	f.args[0], f.args[1], f.args[2], f.args[3] = uintptr(dst), uintptr(src), uintptr(n), uintptr(s)
	return l.do("cuMemcpyDtoDAsync", dl.Call(l.copyDevice, f.args[:4]...))
}

func (l *libcuda) load(image []byte) (cuModule, error) {
	m := new(cuModule)
	log := make([]byte, 16<<10)
	var pins runtime.Pinner // the list holds addresses as numbers
	pins.Pin(&log[0])
	defer pins.Unpin()
	options := &[2]uint32{jitErrorLog, jitErrorLogSize}
	values := &[2]uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	result := dl.Call(l.moduleLoad, uintptr(unsafe.Pointer(m)), uintptr(unsafe.Pointer(&image[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(options)), uintptr(unsafe.Pointer(values)))
	if code := int64(int32(result)); code != 0 {
		n := min(len(log), int(uint32(values[1])))
		return 0, driverError("cuModuleLoadDataEx", code, l.codeName(code), text(log[:n]))
	}
	return *m, nil
}

func (l *libcuda) unload(m cuModule) error {
	return l.do("cuModuleUnload", dl.Call(l.moduleUnload, uintptr(m)))
}

func (l *libcuda) lookup(m cuModule, name string) (cuFunction, error) {
	f, z := new(cuFunction), append([]byte(name), 0)
	err := l.do("cuModuleGetFunction", dl.Call(l.moduleFunction, uintptr(unsafe.Pointer(f)), uintptr(m), uintptr(unsafe.Pointer(&z[0]))))
	return *f, err
}

func (l *libcuda) launch(f *frame, fn cuFunction, groups, local uint32, s cuStream, arguments []unsafe.Pointer) error {
	a := &f.args
	a[0] = uintptr(fn)
	a[1], a[2], a[3] = uintptr(groups), 1, 1
	a[4], a[5], a[6] = uintptr(local), 1, 1
	a[7], a[8] = 0, uintptr(s)
	a[9], a[10] = uintptr(unsafe.Pointer(unsafe.SliceData(arguments))), 0
	return l.do("cuLaunchKernel", dl.Call(l.launchKernel, a[:]...))
}

func (l *libcuda) beginCapture(s cuStream) error {
	if l.captureBegin == 0 || l.graphInstantiate == 0 {
		return errNoReplay
	}
	return l.do("cuStreamBeginCapture", dl.Call(l.captureBegin, uintptr(s), relaxed))
}

func (l *libcuda) endCapture(s cuStream) (cuGraphExec, error) {
	draft, g := new(uintptr), new(cuGraphExec)
	if err := l.do("cuStreamEndCapture", dl.Call(l.captureEnd, uintptr(s), uintptr(unsafe.Pointer(draft)))); err != nil {
		return 0, err
	}
	err := l.do("cuGraphInstantiate", dl.Call(l.graphInstantiate, uintptr(unsafe.Pointer(g)), *draft, 0))
	return *g, errors.Join(err, l.do("cuGraphDestroy", dl.Call(l.graphDestroyDraft, *draft)))
}

func (l *libcuda) replay(f *frame, g cuGraphExec, s cuStream) error {
	f.args[0], f.args[1] = uintptr(g), uintptr(s)
	return l.do("cuGraphLaunch", dl.Call(l.graphLaunch, f.args[:2]...))
}

func (l *libcuda) destroyGraph(g cuGraphExec) error {
	return l.do("cuGraphExecDestroy", dl.Call(l.graphExecDestroy, uintptr(g)))
}
