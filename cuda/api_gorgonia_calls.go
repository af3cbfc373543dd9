//go:build gorgonia

package cuda

/*
#include <cuda.h>

// A result in a struct needs no memory of Go's, unlike one behind a pointer.
typedef struct {
	CUcontext context;
	CUresult code;
} current;

static current currentContext(void) {
	current c;
	c.code = cuCtxGetCurrent(&c.context);
	return c;
}

typedef struct {
	int value;
	CUresult code;
} number;

static number captureMode(int mode) {
	CUstreamCaptureMode m = (CUstreamCaptureMode)mode;
	number n;
	n.code = cuThreadExchangeStreamCaptureMode(&m);
	n.value = m;
	return n;
}

static number isCapturing(CUstream s) {
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	number n;
	n.code = cuStreamIsCapturing(s, &status);
	n.value = status;
	return n;
}

// Calls of functions that some drivers lack.
static CUresult allocAsync(void *f, CUdeviceptr *p, size_t n, CUstream s) {
	return ((CUresult (*)(CUdeviceptr *, size_t, CUstream))f)(p, n, s);
}

static CUresult freeAsync(void *f, CUdeviceptr p, CUstream s) {
	return ((CUresult (*)(CUdeviceptr, CUstream))f)(p, s);
}

static CUresult graphInstantiate(void *f, CUgraphExec *g, CUgraph draft) {
	return ((CUresult (*)(CUgraphExec *, CUgraph, unsigned long long))f)(g, draft, 0);
}

// A kernel's arguments, each of 8 bytes, as many as planner.MaxArguments; number 2 is
// elsewhere.
typedef struct {
	unsigned long long at[11];
} arguments;

static CUresult launch(CUfunction f, unsigned groups, unsigned local, CUstream s, arguments a, void *parameters) {
	void *params[11];
	for (int i = 0; i < 11; i++) params[i] = i == 2 ? parameters : &a.at[i];
	return cuLaunchKernel(f, groups, 1, 1, local, 1, 1, 0, s, params, 0);
}
*/
import "C"

import (
	"bytes"
	"errors"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
)

// The compiler checks that there is room for all arguments.
var _ = [...][planner.MaxArguments]struct{}{[len(C.arguments{}.at)]struct{}{}}

func (l *gorgoniaCU) retainPrimary(ordinal int) (cuContext, error) {
	ctx, err := cu.Device(ordinal).RetainPrimaryCtx()
	return cuContext(from(ctx)), do("cuDevicePrimaryCtxRetain", err)
}

func (l *gorgoniaCU) releasePrimary(ordinal int) error {
	return do("cuDevicePrimaryCtxRelease", cu.Device(ordinal).ReleasePrimaryCtx())
}

func (l *gorgoniaCU) setCurrent(_ *frame, ctx cuContext) error {
	return do("cuCtxSetCurrent", cu.SetCurrentContext(as[cu.CUContext](ctx)))
}

// current does not use cu.CurrentContext, which allocates: it is called all the time.
func (l *gorgoniaCU) current(*frame) (cuContext, error) {
	now := C.currentContext()
	return cuContext(unsafe.Pointer(now.context)), checkC("cuCtxGetCurrent", now.code)
}

func (l *gorgoniaCU) ordinal() (int, error) {
	d, err := cu.CurrentDevice()
	return int(d), do("cuCtxGetDevice", err)
}

func (l *gorgoniaCU) captureMode(_ *frame, mode int32) (int32, error) {
	before := C.captureMode(C.int(mode))
	return int32(before.value), checkC("cuThreadExchangeStreamCaptureMode", before.code)
}

func (l *gorgoniaCU) memory() (free, total int64, err error) {
	free, total, err = cu.MemInfo()
	return free, total, do("cuMemGetInfo", err)
}

func (l *gorgoniaCU) alloc(bytes int64) (cuDevicePtr, error) {
	p, err := cu.MemAlloc(bytes)
	return cuDevicePtr(p), do("cuMemAlloc", err)
}

func (l *gorgoniaCU) free(p cuDevicePtr) error { return do("cuMemFree", cu.MemFree(cu.DevicePtr(p))) }

func (l *gorgoniaCU) ordered() bool { return l.allocAsync != nil && l.freeAsync != nil }

func (l *gorgoniaCU) allocOn(s cuStream, bytes int64) (cuDevicePtr, error) {
	var p C.CUdeviceptr
	err := checkC("cuMemAllocAsync", C.allocAsync(l.allocAsync, &p, C.size_t(bytes), asC[C.CUstream](s)))
	return cuDevicePtr(p), err
}

func (l *gorgoniaCU) freeOn(s cuStream, p cuDevicePtr) error {
	return checkC("cuMemFreeAsync", C.freeAsync(l.freeAsync, C.CUdeviceptr(p), asC[C.CUstream](s)))
}

func (l *gorgoniaCU) allocHost(bytes int64) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := checkC("cuMemHostAlloc", C.cuMemHostAlloc(&p, C.size_t(bytes), C.CU_MEMHOSTALLOC_PORTABLE))
	return p, err
}

func (l *gorgoniaCU) freeHost(p unsafe.Pointer) error {
	return do("cuMemFreeHost", cu.MemFreeHost(p))
}

// locate does not use DevicePtr.PtrAttribute, which has the driver write to nil.
func (l *gorgoniaCU) locate(p cuDevicePtr) (location, error) {
	var ordinal C.int
	var kind C.uint
	var base C.CUdeviceptr
	var bytes C.size_t
	for _, q := range []struct {
		key  C.CUpointer_attribute
		into unsafe.Pointer
	}{
		{C.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, unsafe.Pointer(&ordinal)},
		{C.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unsafe.Pointer(&kind)},
		{C.CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, unsafe.Pointer(&base)},
		{C.CU_POINTER_ATTRIBUTE_RANGE_SIZE, unsafe.Pointer(&bytes)},
	} {
		if err := checkC("cuPointerGetAttribute", C.cuPointerGetAttribute(q.into, q.key, C.CUdeviceptr(p))); err != nil {
			return location{}, err
		}
	}
	var ctx C.CUcontext // memory of no context need not have one
	if err := checkC("cuPointerGetAttribute", C.cuPointerGetAttribute(unsafe.Pointer(&ctx), C.CU_POINTER_ATTRIBUTE_CONTEXT, C.CUdeviceptr(p))); err != nil {
		if codeOf(err) != codeInvalidValue {
			return location{}, err
		}
		ctx = nil
	}
	return location{int(ordinal), kind == C.CU_MEMORYTYPE_DEVICE, cuContext(unsafe.Pointer(ctx)), cuDevicePtr(base), int64(bytes)}, nil
}

func (l *gorgoniaCU) newStream() (cuStream, error) {
	s, err := cu.MakeStream(cu.NonBlocking)
	return cuStream(from(s)), do("cuStreamCreate", err)
}

func (l *gorgoniaCU) destroyStream(s cuStream) error {
	it := as[cu.Stream](s)
	return do("cuStreamDestroy", it.Destroy())
}

func (l *gorgoniaCU) contextOf(s cuStream) (cuContext, error) {
	var ctx C.CUcontext
	err := checkC("cuStreamGetCtx", C.cuStreamGetCtx(asC[C.CUstream](s), &ctx))
	return cuContext(unsafe.Pointer(ctx)), err
}

func (l *gorgoniaCU) isCapturing(_ *frame, s cuStream) (bool, error) {
	status := C.isCapturing(asC[C.CUstream](s))
	return status.value != C.CU_STREAM_CAPTURE_STATUS_NONE, checkC("cuStreamIsCapturing", status.code)
}

func (l *gorgoniaCU) synchronize(_ *frame, s cuStream) error {
	return do("cuStreamSynchronize", as[cu.Stream](s).Synchronize())
}

func (l *gorgoniaCU) waitEvent(_ *frame, s cuStream, e cuEvent) error {
	return do("cuStreamWaitEvent", as[cu.Stream](s).Wait(as[cu.Event](e), 0))
}

func (l *gorgoniaCU) newEvent() (cuEvent, error) {
	e, err := cu.MakeEvent(cu.DefaultEvent)
	return cuEvent(from(e)), do("cuEventCreate", err)
}

func (l *gorgoniaCU) destroyEvent(e cuEvent) error {
	it := as[cu.Event](e)
	return do("cuEventDestroy", cu.DestroyEvent(&it))
}

func (l *gorgoniaCU) record(_ *frame, e cuEvent, s cuStream) error {
	return do("cuEventRecord", as[cu.Event](e).Record(as[cu.Stream](s)))
}

// done does not use Event.Query, whose "not ready" is an error that is allocated.
func (l *gorgoniaCU) done(_ *frame, e cuEvent) (bool, error) {
	result := C.cuEventQuery(asC[C.CUevent](e))
	if result == C.CUDA_ERROR_NOT_READY {
		return false, nil
	}
	err := checkC("cuEventQuery", result)
	return err == nil, err
}

func (l *gorgoniaCU) await(_ *frame, e cuEvent) error {
	return do("cuEventSynchronize", as[cu.Event](e).Synchronize())
}

func (l *gorgoniaCU) elapsed(since, to cuEvent) (milliseconds float32, err error) {
	ms, err := as[cu.Event](since).Elapsed(as[cu.Event](to))
	return float32(ms), do("cuEventElapsedTime", err)
}

func (l *gorgoniaCU) upload(_ *frame, dst cuDevicePtr, src unsafe.Pointer, n int64, s cuStream) error {
	return do("cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, n, as[cu.Stream](s)))
}

func (l *gorgoniaCU) download(_ *frame, dst unsafe.Pointer, src cuDevicePtr, n int64, s cuStream) error {
	return do("cuMemcpyDtoHAsync", cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), n, as[cu.Stream](s)))
}

func (l *gorgoniaCU) copyWithin(_ *frame, dst, src cuDevicePtr, n int64, s cuStream) error {
	return do("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), n, as[cu.Stream](s)))
}

// load uses cu.LoadDataEx, which takes a string up to the first zero, for PTX only.
func (l *gorgoniaCU) load(image []byte) (cuModule, error) {
	if bytes.HasPrefix(image, []byte("\x7fELF")) {
		var m C.CUmodule
		err := checkC("cuModuleLoadDataEx", C.cuModuleLoadDataEx(&m, unsafe.Pointer(&image[0]), 0, nil, nil))
		return cuModule(unsafe.Pointer(m)), err
	}
	log := &cu.JITErrorLogBuffer{Buffer: make([]byte, 16<<10)}
	var pins runtime.Pinner // cu passes its address as a number, in a list
	pins.Pin(&log.Buffer[0])
	defer pins.Unpin()
	m, err := cu.LoadDataEx(text(image), log)
	err = do("cuModuleLoadDataEx", err)
	var failed *device.DriverError
	if errors.As(err, &failed) {
		failed.Log = text(log.Buffer)
	}
	return cuModule(from(m)), err
}

func (l *gorgoniaCU) unload(m cuModule) error {
	return do("cuModuleUnload", as[cu.Module](m).Unload())
}

func (l *gorgoniaCU) lookup(m cuModule, name string) (cuFunction, error) {
	f, err := as[cu.Module](m).Function(name)
	return cuFunction(from(f)), do("cuModuleGetFunction", err)
}

// launch does not use Function.Launch, which writes Go pointers into memory fresh from
// malloc: while the collector marks, its write barrier takes the former content for a
// pointer, too, and ends the process if that is a stale one.
func (l *gorgoniaCU) launch(_ *frame, fn cuFunction, groups, local uint32, s cuStream, arguments []unsafe.Pointer) error {
	var a C.arguments
	for i, p := range arguments {
		a.at[i] = *(*C.ulonglong)(p)
	}
	return checkC("cuLaunchKernel", C.launch(asC[C.CUfunction](fn), C.uint(groups), C.uint(local), asC[C.CUstream](s), a, arguments[byValue]))
}

func (l *gorgoniaCU) beginCapture(s cuStream) error {
	if l.graphInstantiate == nil {
		return errNoReplay
	}
	return checkC("cuStreamBeginCapture", C.cuStreamBeginCapture(asC[C.CUstream](s), C.CU_STREAM_CAPTURE_MODE_RELAXED))
}

func (l *gorgoniaCU) endCapture(s cuStream) (cuGraphExec, error) {
	var draft C.CUgraph
	if err := checkC("cuStreamEndCapture", C.cuStreamEndCapture(asC[C.CUstream](s), &draft)); err != nil {
		return 0, err
	}
	var g C.CUgraphExec
	err := checkC("cuGraphInstantiate", C.graphInstantiate(l.graphInstantiate, &g, draft))
	return cuGraphExec(unsafe.Pointer(g)), errors.Join(err, checkC("cuGraphDestroy", C.cuGraphDestroy(draft)))
}

func (l *gorgoniaCU) replay(_ *frame, g cuGraphExec, s cuStream) error {
	return checkC("cuGraphLaunch", C.cuGraphLaunch(asC[C.CUgraphExec](g), asC[C.CUstream](s)))
}

func (l *gorgoniaCU) destroyGraph(g cuGraphExec) error {
	return do("cuGraphExecDestroy", as[cu.ExecGraph](g).Destroy())
}
