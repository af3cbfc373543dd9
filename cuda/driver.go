package cuda

import (
	"fmt"
	"unsafe"
)

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
// gpu.enter. It is small, so that there can be two: libcuda, which finds the
// library when the program runs, and, in its place in builds with the tag
// gorgonia, gorgoniaCU, which is linked to it by gorgonia.org/cu. A frame is what
// a driver keeps for the frequent calls of one goroutine.
type driver interface {
	name() string
	version() (int, error) // 12040 is CUDA 12.4
	deviceCount() (int, error)
	describe(ordinal int) (facts, error)

	retainPrimary(ordinal int) (context, error)
	releasePrimary(ordinal int) error
	setCurrent(*frame, context) error
	current(*frame) (context, error)
	ordinal() (int, error) // of the current context's device

	memory() (free, total int64, err error)
	alloc(bytes int64) (pointer, error)
	free(pointer) error
	// allocOn and freeOn are in the order of a stream; not every driver has them.
	ordered() bool
	allocOn(s stream, bytes int64) (pointer, error)
	freeOn(s stream, p pointer) error
	allocHost(bytes int64) (unsafe.Pointer, error)
	freeHost(unsafe.Pointer) error
	// place says on which device and in which range memory lies.
	place(pointer) (place, error)

	newStream() (stream, error)
	destroyStream(stream) error
	contextOf(stream) (context, error)
	synchronize(*frame, stream) error
	waitEvent(*frame, stream, event) error
	newEvent() (event, error)
	destroyEvent(event) error
	record(*frame, event, stream) error
	done(*frame, event) (bool, error)
	await(*frame, event) error
	elapsed(from, to event) (milliseconds float32, err error)

	upload(f *frame, dst pointer, src unsafe.Pointer, n int64, s stream) error
	download(f *frame, dst unsafe.Pointer, src pointer, n int64, s stream) error
	copyWithin(f *frame, dst, src pointer, n int64, s stream) error

	load(ptx []byte) (module, error)
	unload(module) error
	lookup(module, string) (function, error)
	// launch passes parameters of 8 bytes, by pointers to them. Where the context of
	// function and stream is not current, it may fail, and then has done nothing.
	launch(f *frame, fn function, groups, local uint32, s stream, params []unsafe.Pointer) error

	beginCapture(stream) error
	endCapture(stream) (graph, error)
	replay(*frame, graph, stream) error
	destroyGraph(graph) error
}

// facts are what the driver says of a device.
type facts struct {
	name         string
	memory       int64
	major, minor int    // compute capability
	pools        bool   // memory in the order of a stream
	clock        int    // kHz; 0: unknown
	bus          string // the place on the PCI bus, as NVML takes it; "": unknown
}

// describeBus asks for a device's place on the bus.
func describeBus(attribute func(code int) (int, error)) string {
	var place [3]int
	for i, code := range []int{50, 33, 34} { // CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, .._BUS_ID, .._DEVICE_ID
		var err error
		if place[i], err = attribute(code); err != nil {
			return ""
		}
	}
	return fmt.Sprintf("%08x:%02x:%02x.0", place[0], place[1], place[2])
}

// place is where memory lies.
type place struct {
	ordinal int
	device  bool // memory of a device, not of the host
	base    pointer
	bytes   int64
}
