//go:build !gorgonia

package cuda

import (
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

func (l *libcuda) retainPrimary(ordinal int) (context, error) {
	c := new(context)
	err := l.do("cuDevicePrimaryCtxRetain", dl.Call(l.primaryRetain, uintptr(unsafe.Pointer(c)), uintptr(ordinal)))
	return *c, err
}

func (l *libcuda) releasePrimary(ordinal int) error {
	return l.do("cuDevicePrimaryCtxRelease", dl.Call(l.primaryRelease, uintptr(ordinal)))
}

func (l *libcuda) setCurrent(c context) error {
	return l.do("cuCtxSetCurrent", dl.Call(l.ctxSet, uintptr(c)))
}

func (l *libcuda) current(into *context) error {
	return l.do("cuCtxGetCurrent", dl.Call(l.ctxGet, uintptr(unsafe.Pointer(into))))
}

func (l *libcuda) synchronizeAll() error {
	return l.do("cuCtxSynchronize", dl.Call(l.ctxSync))
}

func (l *libcuda) ordinal() (int, error) {
	n := new(int32)
	err := l.do("cuCtxGetDevice", dl.Call(l.ctxDevice, uintptr(unsafe.Pointer(n))))
	return int(*n), err
}

func (l *libcuda) memory() (free, total int64, err error) {
	v := new([2]uint64)
	err = l.do("cuMemGetInfo", dl.Call(l.memInfo, uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1]))))
	return int64(v[0]), int64(v[1]), err
}

func (l *libcuda) alloc(bytes int64) (pointer, error) {
	p := new(pointer)
	err := l.do("cuMemAlloc", dl.Call(l.memAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes)))
	return *p, err
}

func (l *libcuda) free(p pointer) error { return l.do("cuMemFree", dl.Call(l.memFree, uintptr(p))) }

func (l *libcuda) ordered() bool { return l.memAllocAsync != 0 && l.memFreeAsync != 0 }

func (l *libcuda) allocOn(s stream, bytes int64) (pointer, error) {
	p := new(pointer)
	err := l.do("cuMemAllocAsync", dl.Call(l.memAllocAsync, uintptr(unsafe.Pointer(p)), uintptr(bytes), uintptr(s)))
	return *p, err
}

func (l *libcuda) freeOn(s stream, p pointer) error {
	return l.do("cuMemFreeAsync", dl.Call(l.memFreeAsync, uintptr(p), uintptr(s)))
}

// portable makes pinned memory that of all contexts.
const portable = 1

func (l *libcuda) allocHost(bytes int64) (unsafe.Pointer, error) {
	p := new(uintptr)
	err := l.do("cuMemHostAlloc", dl.Call(l.hostAlloc, uintptr(unsafe.Pointer(p)), uintptr(bytes), portable))
	return dl.Pointer(*p), err
}

func (l *libcuda) freeHost(p unsafe.Pointer) error {
	return l.do("cuMemFreeHost", dl.Call(l.hostFree, uintptr(p)))
}

// nonBlocking streams do not wait for the legacy default stream.
const nonBlocking = 1

func (l *libcuda) newStream() (stream, error) {
	s := new(stream)
	err := l.do("cuStreamCreate", dl.Call(l.streamCreate, uintptr(unsafe.Pointer(s)), nonBlocking))
	return *s, err
}

func (l *libcuda) destroyStream(s stream) error {
	return l.do("cuStreamDestroy", dl.Call(l.streamDestroy, uintptr(s)))
}

func (l *libcuda) synchronize(s stream) error {
	return l.do("cuStreamSynchronize", dl.Call(l.streamSync, uintptr(s)))
}

func (l *libcuda) waitEvent(s stream, e event) error {
	return l.do("cuStreamWaitEvent", dl.Call(l.streamWait, uintptr(s), uintptr(e), 0))
}

func (l *libcuda) newEvent() (event, error) {
	e := new(event)
	err := l.do("cuEventCreate", dl.Call(l.eventCreate, uintptr(unsafe.Pointer(e)), 0))
	return *e, err
}

func (l *libcuda) destroyEvent(e event) error {
	return l.do("cuEventDestroy", dl.Call(l.eventDestroy, uintptr(e)))
}

func (l *libcuda) record(e event, s stream) error {
	return l.do("cuEventRecord", dl.Call(l.eventRecord, uintptr(e), uintptr(s)))
}

func (l *libcuda) done(e event) (bool, error) {
	result := dl.Call(l.eventQuery, uintptr(e))
	if int32(result) == codeNotReady {
		return false, nil
	}
	err := l.do("cuEventQuery", result)
	return err == nil, err
}

func (l *libcuda) await(e event) error {
	return l.do("cuEventSynchronize", dl.Call(l.eventSync, uintptr(e)))
}

func (l *libcuda) elapsed(from, to event) (milliseconds float32, err error) {
	ms := new(float32)
	err = l.do("cuEventElapsedTime", dl.Call(l.eventElapsed, uintptr(unsafe.Pointer(ms)), uintptr(from), uintptr(to)))
	return *ms, err
}

func (l *libcuda) upload(dst pointer, src unsafe.Pointer, n int64, s stream) error {
	return l.do("cuMemcpyHtoDAsync", dl.Call(l.copyIn, uintptr(dst), uintptr(src), uintptr(n), uintptr(s)))
}

func (l *libcuda) download(dst unsafe.Pointer, src pointer, n int64, s stream) error {
	return l.do("cuMemcpyDtoHAsync", dl.Call(l.copyOut, uintptr(dst), uintptr(src), uintptr(n), uintptr(s)))
}

func (l *libcuda) copyPeer(dst pointer, dstContext context, src pointer, srcContext context, n int64, s stream) error {
	return l.do("cuMemcpyPeerAsync", dl.Call(l.copyAcross,
		uintptr(dst), uintptr(dstContext), uintptr(src), uintptr(srcContext), uintptr(n), uintptr(s)))
}

// Options of the PTX compiler.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

func (l *libcuda) load(ptx []byte) (module, error) {
	m := new(module)
	log := make([]byte, 16<<10)
	options := &[2]uint32{jitErrorLog, jitErrorLogSize}
	values := &[2]uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
	result := dl.Call(l.moduleLoad, uintptr(unsafe.Pointer(m)), uintptr(unsafe.Pointer(&ptx[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(options)), uintptr(unsafe.Pointer(values)))
	if code := int64(int32(result)); code != 0 {
		n := min(len(log), int(uint32(values[1])))
		return 0, driverError("cuModuleLoadDataEx", code, l.codeName(code), text(log[:n]))
	}
	return *m, nil
}

func (l *libcuda) unload(m module) error {
	return l.do("cuModuleUnload", dl.Call(l.moduleUnload, uintptr(m)))
}

func (l *libcuda) lookup(m module, name string) (function, error) {
	f, z := new(function), append([]byte(name), 0)
	err := l.do("cuModuleGetFunction", dl.Call(l.moduleFunction, uintptr(unsafe.Pointer(f)), uintptr(m), uintptr(unsafe.Pointer(&z[0]))))
	return *f, err
}

func (l *libcuda) launch(f function, groups, local uint32, s stream, params *unsafe.Pointer) error {
	return l.do("cuLaunchKernel", dl.Call(l.launchKernel, uintptr(f), uintptr(groups), 1, 1, uintptr(local), 1, 1,
		0, uintptr(s), uintptr(unsafe.Pointer(params)), 0))
}

// relaxed captures let other threads go on as they please.
const relaxed = 2

func (l *libcuda) beginCapture(s stream) error {
	if l.captureBegin == 0 || l.graphInstantiate == 0 {
		return layout.Errorf(device.ErrUnsupported, "Capture", "this driver cannot replay work: it is for a CUDA before 11.4")
	}
	return l.do("cuStreamBeginCapture", dl.Call(l.captureBegin, uintptr(s), relaxed))
}

func (l *libcuda) endCapture(s stream) (graph, error) {
	draft, g := new(uintptr), new(graph)
	if err := l.do("cuStreamEndCapture", dl.Call(l.captureEnd, uintptr(s), uintptr(unsafe.Pointer(draft)))); err != nil {
		return 0, err
	}
	err := l.do("cuGraphInstantiate", dl.Call(l.graphInstantiate, uintptr(unsafe.Pointer(g)), *draft, 0))
	dl.Call(l.graphDestroyDraft, *draft)
	return *g, err
}

func (l *libcuda) replay(g graph, s stream) error {
	return l.do("cuGraphLaunch", dl.Call(l.graphLaunch, uintptr(g), uintptr(s)))
}

func (l *libcuda) destroyGraph(g graph) error {
	return l.do("cuGraphExecDestroy", dl.Call(l.graphExecDestroy, uintptr(g)))
}
