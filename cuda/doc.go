// Package cuda is the CUDA device: NVIDIA's GPUs since Volta, with a driver for
// CUDA 11.0 or later. CUDA itself need not be installed.
//
//	import _ "github.com/restride/restride/cuda" // device.Open("cuda:0") works
//
// The driver's library is loaded by name at the first call, without a C compiler and
// without headers. Without a driver or a GPU, and with a driver that is too old or that
// the user may not use, Open returns device.ErrNoDevice and the reason. Devices have
// CUDA's own numbers (see CUDA_VISIBLE_DEVICES); those that are too old for the kernels
// are not listed.
//
// # Kernels
//
// Package kernels chooses them. They are here as PTX (make ptx), a module for each,
// which the driver compiles when a queue first needs it, and keeps in its own cache
// (CUDA_CACHE_PATH). Preload (device.Preloader) has it do so before, for the types that
// are needed.
//
// A program that cannot wait for that brings them compiled: make cubins writes an
// archive for compute capabilities 8.0, 9.0 and 10.0, with NVIDIA's ptxas, and the build
// tag cubins embeds it (or Options.Cubins has it). A cubin runs on GPUs of its major
// version that are not older than it. Elsewhere, and where the driver is too old for it,
// it is the PTX.
//
// # Threads
//
// A context is current on an OS thread, not in a goroutine. Each call makes the device's
// context current, and the thread's former one again when it returns. Where there was
// none, the device's stays: programs with cgo that lock a thread for CUDA's runtime API
// call cudaSetDevice on it first. A launch, whose handles are of one context, is tried
// first with the context that is current, as asking for that takes as long as
// launching. With another context, or none, the driver refuses it, and it is made again
// in the device's: tools that report each error of the API show that once for a thread.
//
// # Queues and memory
//
// A queue is a stream that does not wait for the legacy default stream. Write copies
// its bytes to a ring of pinned memory and returns. WriteAsync and ReadAsync transfer
// without the processor only from and to memory of AllocHost: with other memory the
// driver may wait for the work before. The steady state of Copy, Fill, Convert, Write
// and Read allocates nothing.
//
// Memory is stream-ordered where the driver can, as freeing that waits for nothing, and
// comes from a pool of the device's own, which keeps some of what is freed
// (cuMemPoolCreate, with a release threshold); [Options] says how much, and has the
// alternative. Drivers before CUDA 11.2 and some virtual GPUs have no pools: there it is
// the default pool, or cuMemAlloc.
//
// Calls that a capture on another thread would forbid, and be ended by, are made in
// relaxed mode (cuThreadExchangeStreamCaptureMode).
//
// The device is device.Sensors, by NVML, which comes with the driver and is loaded by
// the first call of Readings. Without NVML, Readings are empty.
//
// Queues are device.Recorder with drivers for CUDA 11.4 or later: a captured sequence
// of copies is a CUDA graph. Buffers that it uses, and those that are allocated and
// freed meanwhile, live until it is closed.
//
// # Several devices
//
// Queues are device.PeerQueue: copies between devices are ordered by events, and go
// direct where the GPUs reach each other's memory. The first such copy lets the
// destination's context use the source's (cuCtxEnablePeerAccess), and its device the
// source's pool (cuMemPoolSetAccess), for as long as those live. Elsewhere the
// driver takes the bytes through the host's memory. CopyPeer is
// device.ErrUnsupported between two devices that are one GPU.
//
// # OpenGL
//
// The device is device.GLSharer, for GL contexts on its own GPU, by EGL, GLX or WGL:
// ShareGL registers a buffer object, Acquire maps it on the queue's stream, and Release
// unmaps it (cuGraphicsGLRegisterBuffer, cuGraphicsMapResources). The driver puts the work
// of both in order, so that nobody waits. Under WSL2 the driver has none of that. It ran on an
// H100 (see docs/gl.md); without a GPU it is tested on the simulated driver, over buffers of
// Mesa's llvmpipe.
//
// # Errors
//
// A kernel that fails, whosever it is, takes the context with it: then all calls return
// [ErrLost], until the device is closed. Whoever else in the process uses the primary
// context has lost it, too.
//
// # Sharing with an engine
//
// [Adopt], [Device.AdoptHandle] and [Device.AdoptStream] take an inference engine's own
// handles, which are never owned: they must outlive what was made of them.
// [Device.Handles], [Device.HandleOf] and [StreamOf] return the device's. A buffer's pointer
// is valid until Free, which gives the memory to the pool. Memory of another context is
// refused (device.ErrInvalid), and so are calls on a queue whose adopted stream its owner
// is capturing: Capture of the queue is for that.
//
// Queues are device.Sharer. An engine that queues a kernel of its own on a queue's
// stream tells the queue which buffers it uses, so that Free takes account of it:
//
//	launch(cuda.StreamOf(q), kernel, dev.HandleOf(src), dev.HandleOf(dst))
//	sharer, _ := device.As[device.Sharer](q)
//	err := sharer.MarkUsed(src, dst) // after the launch, before Free
//
// Package opencl has a whole example.
//
// [Device.Load] spares the engine that: what it returns, Launch of the queue queues, and
// keeps account of what it uses. [Library] tells a binding of the engine's own which
// library is loaded.
//
// # With gorgonia.org/cu
//
// For programs whose contexts, streams and memory are of gorgonia.org/cu, the build tag
// gorgonia makes calls of the driver by way of that package. It needs cgo and the headers of CUDA 11 or
// 12, on Linux. The library is linked, and must be there, with a GPU: without,
// gorgonia.org/cu ends the process. All else is the same, and these are added (go doc
// does not list what has a tag):
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
