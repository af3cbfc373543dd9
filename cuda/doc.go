// Package cuda is the CUDA device: NVIDIA's GPUs since Volta, with a driver for
// CUDA 11.0 or later. CUDA itself need not be installed.
//
//	import _ "github.com/restride/restride/cuda" // device.Open("cuda:0") works
//
// The driver is found when it is first asked for, by name, without a C compiler
// and without headers. A machine without a driver or without a GPU gives
// device.ErrNoDevice and the reason, as does a driver that is too old or that this
// user may not use. Devices have CUDA's own numbers (see CUDA_VISIBLE_DEVICES);
// those that are too old for the kernels are not listed.
//
// # Kernels
//
// Package kernels chooses them. They are here as PTX (make ptx), a module for
// each, which the driver compiles when a queue first needs it and keeps in a cache
// of its own (CUDA_CACHE_PATH).
//
// # Threads
//
// A context is current on an OS thread, not a goroutine. Each call makes the
// device's context current for as long as it takes: one of somebody else's on that
// thread is current again afterwards. Where there was none, the device's stays:
// programs with cgo that lock a thread for CUDA's runtime API call cudaSetDevice
// on it first. A launch, whose handles are of one context, is tried first with
// what is current, as asking takes as long as launching: with another context, or
// none, the driver refuses it (tools that report each error of the API show that,
// once for a thread), and it is made in the device's.
//
// # Queues and memory
//
// A queue is a stream that does not wait for the legacy default stream. Write
// copies what it is given to a ring of pinned memory and returns. WriteAsync and
// ReadAsync transfer without the processor only from and to what AllocHost
// returned: with other memory the driver may wait for the work before. The steady
// state of Copy, Fill, Convert, Write and Read allocates nothing.
//
// Memory is the driver's stream-ordered kind, where it has that, as freeing it
// waits for nothing; see [Options] for when that is in the way.
//
// The device is device.Sensors, by NVML, which comes with the driver: it is loaded by
// the first call of Readings, and where it is missing nothing is told.
//
// Queues are device.Recorder, with drivers for CUDA 11.4 or later: a captured
// sequence of copies is a CUDA graph. Buffers that it uses, and those that are
// allocated and freed meanwhile, stay until it is closed.
//
// # Several devices
//
// Queues are device.PeerQueue: copies between devices wait for each other by
// events, and go direct where the GPUs reach each other's memory. The first such
// copy lets the destination's context use the source's (cuCtxEnablePeerAccess) and
// its device the source's memory pool (cuMemPoolSetAccess), for as long as those
// live. Elsewhere the driver takes the bytes through the host's memory. Two
// devices of ours that are one GPU, or of two drivers, have no such way.
//
// # Errors
//
// A kernel that fails, of whosever, takes the context with it: then all calls give
// [ErrLost], until the device is closed. If others in this process use the primary
// context, too, they have lost it as well.
//
// # Sharing with an engine
//
// [Adopt], [Device.AdoptBuffer] and [Device.AdoptStream] take an engine's own
// handles, which are never owned: they must outlive what was made of them.
// [Device.Handles], [PointerOf] and [StreamOf] give ours. An engine that queues its
// own work on our buffers says so by device.Sharer. A buffer's pointer is valid
// until Free: the pool hands the memory out again.
//
// # With gorgonia.org/cu
//
// For programs that have their contexts, streams and memory from gorgonia.org/cu,
// the build tag gorgonia makes that package the way to the driver. It needs cgo
// and the headers of CUDA 11 or 12, on Linux; the library is linked, and must be
// there, with a GPU: gorgonia.org/cu ends a process without. All else is the same,
// and these are there beside (go doc does not list what has a tag):
//
//	func AdoptCU(ctx cu.CUContext, o Options) (*Device, error)
//	func (d *Device) AdoptCUStream(s cu.Stream) (device.Queue, error)
//	func (d *Device) AdoptDevicePtr(p cu.DevicePtr, bytes int64) (device.Buffer, error)
//	func (d *Device) CUContext() cu.CUContext
//	func DevicePtrOf(b device.Buffer) cu.DevicePtr
//	func CUStreamOf(q device.Queue) cu.Stream
//
// # Environment
//
//	RESTRIDE_LIBCUDA=path   the driver's library, in place of the system's; not with
//	                        the tag gorgonia
package cuda
