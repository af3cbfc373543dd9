package cuda

import "unsafe"

// Handles of the driver.
type (
	context  uintptr // CUcontext
	stream   uintptr // CUstream
	event    uintptr // CUevent
	module   uintptr // CUmodule
	function uintptr // CUfunction
	graph    uintptr // CUgraphExec
	pointer  uintptr // CUdeviceptr
)

// driver is the part of CUDA's driver API that the device needs. Calls act on
// the context that is current on the calling OS thread, where that matters: see
// Device.enter. There are two: libcuda (the default) and, behind the build tag
// gorgonia, that of package gorgonia.org/cu.
type driver interface {
	name() string
	version() (int, error) // 12040 is CUDA 12.4
	deviceCount() (int, error)
	describe(ordinal int) (facts, error)

	retainPrimary(ordinal int) (context, error)
	releasePrimary(ordinal int) error
	setCurrent(context) error
	current(into *context) error
	ordinal() (int, error) // of the current context's device

	synchronizeAll() error // all work of the current context

	memory() (free, total int64, err error)
	alloc(bytes int64) (pointer, error)
	free(pointer) error
	// allocOn and freeOn are in the order of a stream; not every driver has them.
	ordered() bool
	allocOn(s stream, bytes int64) (pointer, error)
	freeOn(s stream, p pointer) error
	allocHost(bytes int64) (unsafe.Pointer, error)
	freeHost(unsafe.Pointer) error

	newStream() (stream, error)
	destroyStream(stream) error
	synchronize(stream) error
	waitEvent(stream, event) error
	newEvent() (event, error)
	destroyEvent(event) error
	record(event, stream) error
	done(event) (bool, error)
	await(event) error
	elapsed(from, to event) (milliseconds float32, err error)

	upload(dst pointer, src unsafe.Pointer, n int64, s stream) error
	download(dst unsafe.Pointer, src pointer, n int64, s stream) error
	copyPeer(dst pointer, dstContext context, src pointer, srcContext context, n int64, s stream) error

	load(ptx []byte) (module, error)
	unload(module) error
	lookup(module, string) (function, error)
	// launch passes as many parameters of 8 bytes as there are pointers to them.
	launch(f function, groups, local uint32, s stream, params *unsafe.Pointer) error

	beginCapture(stream) error
	endCapture(stream) (graph, error)
	replay(graph, stream) error
	destroyGraph(graph) error
}

// facts are what the driver says of a device.
type facts struct {
	name         string
	memory       int64
	major, minor int // compute capability
	pools        bool
	integrated   bool
}
