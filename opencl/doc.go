// Package opencl is the OpenCL device: GPUs, and whatever else has a driver of
// OpenCL 1.2 or later with a compiler.
//
//	import _ "github.com/restride/restride/opencl" // device.Open("opencl:0") works
//
// The driver is found when it is first asked for, by name, without a C compiler
// and without headers. A machine without an OpenCL library, without a driver or
// without a device gives device.ErrNoDevice and the reason. Devices are numbered
// through all platforms, in the order of the OpenCL library; those that are of no
// use (no compiler, big-endian, too small work-groups) have no number. They are
// listed once for a process.
//
// # Queues and memory
//
// A device.Queue of this package is an in-order command queue. Write copies what
// it is given to a ring of pinned memory and returns; only large writes to devices
// that are the processor itself wait. Kernels are chosen by package kernels; the
// steady state of Copy, Fill, Convert, Write and Read allocates nothing.
//
// Freed memory goes to a pool, but not before the work that uses it is done:
// until then it is in limbo, where Alloc and Free look after it without waiting.
// Alloc waits only when limbo holds more than an eighth of the device's memory
// (or 1 GiB, or 1024 blocks). A device never holds more than the memory that its
// driver says it has: drivers on the host's memory would take it all.
//
// # The disk cache
//
// A kernel is compiled when a queue first needs it, and kept as the driver's
// binary in a file of its own in the folder restride/opencl of
// [os.UserCacheDir]. The file's name and content tell all that the binary depends
// on (platform, device, driver, options, source), and end with a checksum: what
// is damaged or of another driver is compiled again. The folder may be deleted
// at any time. PoCL would compile a kernel once for its binary and once more for
// its first launch: its binaries are kept when the device is closed. Its final
// code is in a cache of its own (POCL_CACHE_DIR); a kernel that is in both runs
// after some 5 ms, in PoCL's alone 30 ms, in ours alone 200 to 500 ms.
//
// # Sharing with an engine
//
// [Adopt], [Device.AdoptBuffer] and [Device.AdoptQueue] take an engine's own
// handles, which are retained and released but never owned; [Device.Handles],
// [MemoryOf] and [CommandQueueOf] give ours. An engine that queues its own work on
// our buffers says so by [device.Sharer], which our queues are. The handle of a
// buffer is valid until Free, even if it is retained: the pool hands the memory
// out again.
//
// # Environment
//
//	RESTRIDE_LIBOPENCL=path             the library, in place of the system's
//	RESTRIDE_CACHE_DIR=folder, or off   where compiled kernels are kept (in its folder opencl)
//	RESTRIDE_OPENCL_PLANNER=parallel    or serial: kernels as for another kind of processor
package opencl
