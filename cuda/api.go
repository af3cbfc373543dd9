package cuda

import (
	"unsafe"
)

// Handles of the driver.
type (
	cuContext   uintptr // CUcontext
	cuStream    uintptr // CUstream
	cuEvent     uintptr // CUevent
	cuModule    uintptr // CUmodule
	cuFunction  uintptr // CUfunction
	cuGraphExec uintptr // CUgraphExec
	cuPool      uintptr // CUmemoryPool
	cuDevicePtr uintptr // CUdeviceptr
)

// api is the part of CUDA's driver API that the device needs. Calls act on the
// context that is current on the calling OS thread, where that matters: see
// driver.enter. There are two: libcuda, which finds the library when the program runs, and, in
// builds with the tag gorgonia, gorgoniaCU, which makes some of the calls through
// gorgonia.org/cu. A frame holds the arguments and results of the frequent calls of one
// goroutine.
type api interface {
	deviceAPI
	memoryAPI
	poolAPI
	streamAPI
	eventAPI
	copyAPI
	moduleAPI
	graphAPI
	glAPI
}

// deviceAPI is about the library, devices and contexts.
type deviceAPI interface {
	name() string
	libraryHandle() uintptr // of the library, as dlopen returns it
	version() (int, error)  // 12040 is CUDA 12.4
	deviceCount() (int, error)
	properties(ordinal int) (properties, error)

	retainPrimary(ordinal int) (cuContext, error)
	releasePrimary(ordinal int) error
	setCurrent(*frame, cuContext) error
	current(*frame) (cuContext, error)
	ordinal() (int, error) // of the current context's device
	// captureMode sets which calls captures forbid to the calling thread, and returns the
	// previous mode: a CUstreamCaptureMode.
	captureMode(*frame, int32) (int32, error)
}

// memoryAPI is about memory.
type memoryAPI interface {
	memory() (free, total int64, err error)
	alloc(bytes int64) (cuDevicePtr, error)
	free(cuDevicePtr) error
	// ordered reports whether the driver has allocOn and freeOn, which are in the order of a
	// stream.
	ordered() bool
	allocOn(s cuStream, bytes int64) (cuDevicePtr, error)
	freeOn(s cuStream, p cuDevicePtr) error
	allocHost(bytes int64) (unsafe.Pointer, error)
	freeHost(unsafe.Pointer) error
	// locate returns the allocation that an address is in.
	locate(cuDevicePtr) (location, error)
}

// poolAPI is about pools of memory.
type poolAPI interface {
	// newPool returns a pool of a device's memory for allocFrom, which is allocOn; an error
	// where the driver has only the default one. setThreshold sets how much it holds before
	// waits release freed memory; trimPool releases all freed memory.
	newPool(ordinal int) (cuPool, error)
	destroyPool(cuPool) error
	allocFrom(pool cuPool, s cuStream, bytes int64) (cuDevicePtr, error)
	setThreshold(pool cuPool, bytes int64) error
	trimPool(cuPool) error
}

// streamAPI is about streams.
type streamAPI interface {
	newStream() (cuStream, error)
	destroyStream(cuStream) error
	contextOf(cuStream) (cuContext, error)
	isCapturing(*frame, cuStream) (bool, error)
	synchronize(*frame, cuStream) error
	waitEvent(*frame, cuStream, cuEvent) error
}

// eventAPI is about events.
type eventAPI interface {
	newEvent() (cuEvent, error)
	destroyEvent(cuEvent) error
	record(*frame, cuEvent, cuStream) error
	done(*frame, cuEvent) (bool, error)
	await(*frame, cuEvent) error
	elapsed(from, to cuEvent) (milliseconds float32, err error)
}

// copyAPI copies.
type copyAPI interface {
	upload(f *frame, dst cuDevicePtr, src unsafe.Pointer, n int64, s cuStream) error
	download(f *frame, dst unsafe.Pointer, src cuDevicePtr, n int64, s cuStream) error
	copyWithin(f *frame, dst, src cuDevicePtr, n int64, s cuStream) error
}

// moduleAPI loads kernels and launches them.
type moduleAPI interface {
	load(image []byte) (cuModule, error) // PTX, zero-terminated, or a cubin
	unload(cuModule) error
	lookup(cuModule, string) (cuFunction, error)
	// launch passes arguments of 8 bytes, by pointers to them; argument byValue has the
	// kernel's own length, and contains no Go pointers. Where the context of function and
	// stream is not current, it may fail without effect.
	launch(f *frame, fn cuFunction, groups, local uint32, s cuStream, arguments []unsafe.Pointer) error
	// launchUser launches with a value for each of the function's parameters, which begin in
	// data at the offsets at.
	launchUser(f *frame, fn cuFunction, grid, block [3]uint32, shared uint32, s cuStream, data []byte, at []uint32) error
	functionAttribute(fn cuFunction, attribute int) (int, error)
	setFunctionAttribute(fn cuFunction, attribute, value int) error
	// parameter returns the bytes of a function's parameter; false: it does not exist.
	parameter(fn cuFunction, i int) (bytes int, ok bool, err error)
}

// graphAPI captures and replays.
type graphAPI interface {
	beginCapture(cuStream) error
	endCapture(cuStream) (cuGraphExec, error) // both if only its clean-up failed
	replay(*frame, cuGraphExec, cuStream) error
	destroyGraph(cuGraphExec) error
}

// relaxed is the capture mode in which captures of any thread forbid only calls on the
// capturing streams, and no other call ends them.
const relaxed = 2

// byValue is the index of the argument that holds a launch's parameters.
const byValue = 2

// location describes where memory lies.
type location struct {
	ordinal int
	device  bool      // memory of a device, not of the host
	context cuContext // its context; 0: the device's, like pool memory
	base    cuDevicePtr
	bytes   int64
}
