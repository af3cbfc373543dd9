//go:build gorgonia

package cuda

import (
	"reflect"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// gorgoniaCU is libcuda with calls of gorgonia.org/cu instead of its own, where that package
// has them, they are correct, and they allocate nothing:
//
//   - cu.Version drops the reason of a failure
//   - cu.CurrentContext and Event.Query, which are frequent, allocate
//   - DevicePtr.PtrAttribute makes the driver write to nil
//   - cu.LoadDataEx ends at the first zero of a cubin
//   - Function.Launch writes Go pointers into memory fresh from malloc: while the collector
//     marks, its write barrier treats the former content as a pointer, too, and aborts the
//     process if it is a stale one
//   - it lacks pools, OpenGL resources and everything else newer than CUDA 9
//
// Both call one library: the one that gorgonia.org/cu is linked to. That package
// initialises the driver before main, and ends the process if it cannot.
type gorgoniaCU struct{ *libcuda }

var openAPI = sync.OnceValues(func() (api, error) {
	l, err := load("libcuda.so.1")
	if err != nil {
		return nil, err
	}
	return &gorgoniaCU{l}, nil
})

// The types of gorgonia.org/cu are structs of one unexported handle: as and from convert by
// their representation.
type handles interface {
	cu.CUContext | cu.Stream | cu.Event | cu.Module | cu.Function | cu.ExecGraph
}

func as[T handles, H ~uintptr](h H) T { return *(*T)(unsafe.Pointer(&h)) }

func from[T handles](t T) uintptr { return *(*uintptr)(unsafe.Pointer(&t)) }

// A compile-time check that their sizes are equal.
var _ = [...][unsafe.Sizeof(uintptr(0))]byte{
	[unsafe.Sizeof(cu.CUContext{})]byte{}, [unsafe.Sizeof(cu.Stream{})]byte{}, [unsafe.Sizeof(cu.Event{})]byte{},
	[unsafe.Sizeof(cu.Module{})]byte{}, [unsafe.Sizeof(cu.Function{})]byte{}, [unsafe.Sizeof(cu.ExecGraph{})]byte{},
}

// told converts an error of gorgonia.org/cu, whose type, a number, has no exported name.
func (l *gorgoniaCU) told(call string, err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return l.failed(call, v.Int())
	}
	return err
}

func (l *gorgoniaCU) deviceCount() (int, error) {
	n, err := cu.NumDevices()
	return n, l.told("cuDeviceGetCount", err)
}

func (l *gorgoniaCU) retainPrimary(ordinal int) (cuContext, error) {
	ctx, err := cu.Device(ordinal).RetainPrimaryCtx()
	return cuContext(from(ctx)), l.told("cuDevicePrimaryCtxRetain", err)
}

func (l *gorgoniaCU) releasePrimary(ordinal int) error {
	return l.told("cuDevicePrimaryCtxRelease", cu.Device(ordinal).ReleasePrimaryCtx())
}

func (l *gorgoniaCU) setCurrent(_ *frame, ctx cuContext) error {
	return l.told("cuCtxSetCurrent", cu.SetCurrentContext(as[cu.CUContext](ctx)))
}

func (l *gorgoniaCU) ordinal() (int, error) {
	d, err := cu.CurrentDevice()
	return int(d), l.told("cuCtxGetDevice", err)
}

func (l *gorgoniaCU) memory() (free, total int64, err error) {
	free, total, err = cu.MemInfo()
	return free, total, l.told("cuMemGetInfo", err)
}

func (l *gorgoniaCU) alloc(bytes int64) (cuDevicePtr, error) {
	p, err := cu.MemAlloc(bytes)
	return cuDevicePtr(p), l.told("cuMemAlloc", err)
}

func (l *gorgoniaCU) free(p cuDevicePtr) error {
	return l.told("cuMemFree", cu.MemFree(cu.DevicePtr(p)))
}

func (l *gorgoniaCU) freeHost(p unsafe.Pointer) error {
	return l.told("cuMemFreeHost", cu.MemFreeHost(p))
}

func (l *gorgoniaCU) newStream() (cuStream, error) {
	s, err := cu.MakeStream(cu.NonBlocking)
	return cuStream(from(s)), l.told("cuStreamCreate", err)
}

func (l *gorgoniaCU) destroyStream(s cuStream) error {
	it := as[cu.Stream](s)
	return l.told("cuStreamDestroy", it.Destroy())
}

func (l *gorgoniaCU) synchronize(_ *frame, s cuStream) error {
	return l.told("cuStreamSynchronize", as[cu.Stream](s).Synchronize())
}

func (l *gorgoniaCU) waitEvent(_ *frame, s cuStream, e cuEvent) error {
	return l.told("cuStreamWaitEvent", as[cu.Stream](s).Wait(as[cu.Event](e), 0))
}

func (l *gorgoniaCU) newEvent() (cuEvent, error) {
	e, err := cu.MakeEvent(cu.DefaultEvent)
	return cuEvent(from(e)), l.told("cuEventCreate", err)
}

func (l *gorgoniaCU) destroyEvent(e cuEvent) error {
	it := as[cu.Event](e)
	return l.told("cuEventDestroy", cu.DestroyEvent(&it))
}

func (l *gorgoniaCU) record(_ *frame, e cuEvent, s cuStream) error {
	return l.told("cuEventRecord", as[cu.Event](e).Record(as[cu.Stream](s)))
}

func (l *gorgoniaCU) await(_ *frame, e cuEvent) error {
	return l.told("cuEventSynchronize", as[cu.Event](e).Synchronize())
}

func (l *gorgoniaCU) elapsed(since, to cuEvent) (milliseconds float32, err error) {
	ms, err := as[cu.Event](since).Elapsed(as[cu.Event](to))
	return float32(ms), l.told("cuEventElapsedTime", err)
}

func (l *gorgoniaCU) upload(_ *frame, dst cuDevicePtr, src unsafe.Pointer, n int64, s cuStream) error {
	return l.told("cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, n, as[cu.Stream](s)))
}

func (l *gorgoniaCU) download(_ *frame, dst unsafe.Pointer, src cuDevicePtr, n int64, s cuStream) error {
	return l.told("cuMemcpyDtoHAsync", cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), n, as[cu.Stream](s)))
}

func (l *gorgoniaCU) copyWithin(_ *frame, dst, src cuDevicePtr, n int64, s cuStream) error {
	return l.told("cuMemcpyDtoDAsync", cu.MemcpyDtoDAsync(cu.DevicePtr(dst), cu.DevicePtr(src), n, as[cu.Stream](s)))
}

func (l *gorgoniaCU) unload(m cuModule) error {
	return l.told("cuModuleUnload", as[cu.Module](m).Unload())
}

func (l *gorgoniaCU) lookup(m cuModule, name string) (cuFunction, error) {
	f, err := as[cu.Module](m).Function(name)
	return cuFunction(from(f)), l.told("cuModuleGetFunction", err)
}

func (l *gorgoniaCU) destroyGraph(g cuGraphExec) error {
	return l.told("cuGraphExecDestroy", as[cu.ExecGraph](g).Destroy())
}

func (l *gorgoniaCU) reaches(ordinal, other int) (bool, error) {
	can, err := cu.Device(ordinal).CanAccessPeer(cu.Device(other))
	return can != 0, l.told("cuDeviceCanAccessPeer", err)
}

func (l *gorgoniaCU) openContext(c cuContext) error {
	return l.told("cuCtxEnablePeerAccess", as[cu.CUContext](c).EnablePeerAccess(0))
}
