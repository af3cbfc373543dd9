// Package cuda is the CUDA device: NVIDIA's GPUs since Volta, with a driver for
// CUDA 11.0 or later. CUDA itself need not be installed.
//
//	import _ "github.com/restride/restride/cuda" // device.Open("cuda:0") works
//
// The driver's library is loaded by name at the first call, without a C compiler and
// without headers. Without a driver or a GPU, and with a driver that is too old or that
// the user may not use, Open returns device.ErrNoDevice and the reason. Devices have CUDA's own
// numbers (see CUDA_VISIBLE_DEVICES); devices too old for the kernels are not listed.
//
// # Kernels
//
// The planner chooses kernels. They are embedded as PTX (make ptx), a module for each, which
// the driver compiles when a queue first needs it, and keeps in its own cache
// (CUDA_CACHE_PATH). Preload (device.Preloader) compiles those for given types in advance.
//
// A program that cannot wait for the compiler brings compiled kernels: make cubins writes an
// archive for compute capabilities 8.0, 9.0 and 10.0, with NVIDIA's ptxas, and the build tag
// cubins embeds it (or Options.Cubins names it). A cubin runs on GPUs of its major version that
// are not older than it. Elsewhere, and where the driver is too old for it, the PTX is used.
//
// # Threads
//
// A context is current on an OS thread, not in a goroutine. Each call makes the device's
// context current, and the thread's former one again when it returns. If there was none, the
// device's stays: programs with cgo that lock a thread for CUDA's runtime API call
// cudaSetDevice on it first. A launch, whose handles are of one context, is tried first with
// the current context, as querying it costs as much as launching. With another context, or
// none, the driver refuses the launch, and it is repeated in the device's: tools that report
// each error of the API show one such error per thread.
//
// # Queues and memory
//
// A queue is a stream that does not wait for the legacy default stream. Write copies its bytes
// to a ring of pinned memory and returns. WriteAsync and ReadAsync are asynchronous only with
// memory of AllocHost: with other memory the driver may wait for earlier work. The steady state
// of Copy, Fill, Convert, Write and Read allocates nothing.
//
// Memory is stream-ordered where the driver supports it, as such frees wait for nothing, and
// comes from the device's own pool, which keeps some of the freed memory (cuMemPoolCreate, with
// a release threshold); [Options] sets how much, and has the alternative. Drivers before CUDA
// 11.2 and some virtual GPUs have no pools: there it is the default pool, or cuMemAlloc.
//
// Calls that a capture on another thread would forbid, and that would end it, are made in
// relaxed mode (cuThreadExchangeStreamCaptureMode).
//
// The device is device.Sensors, by NVML, which comes with the driver and is loaded by
// the first call of Readings. Without NVML, Readings are empty.
//
// Queues are device.Recorder with drivers for CUDA 11.4 or later: a captured sequence
// of copies and users' kernels is a CUDA graph. Buffers that it uses, and those that are
// allocated and freed meanwhile, live until it is closed.
//
// # Several devices
//
// Queues are device.PeerQueue: copies between devices are ordered by events, and are direct
// where the GPUs reach each other's memory. The first such copy lets the destination's context
// use the source's (cuCtxEnablePeerAccess), and its device the source's pool
// (cuMemPoolSetAccess), for as long as those live. Elsewhere the driver copies through host
// memory. CopyPeer is device.ErrUnsupported between two devices that are one GPU.
//
// # OpenGL
//
// The device is device.GLSharer, for GL contexts on its own GPU, by EGL, GLX or WGL:
// ShareGL registers a buffer object, Acquire maps it on the queue's stream, and Release unmaps
// it (cuGraphicsGLRegisterBuffer, cuGraphicsMapResources). The driver orders the work of both,
// without waits on the host. Under WSL2 the driver does not support this. It ran on an H100
// (see docs/gl.md); without a GPU it is tested on the simulated driver, over buffers of Mesa's
// llvmpipe.
//
// # Errors
//
// Any kernel that fails, also another library's, destroys the context: then all calls return
// [ErrLost], until the device is closed. Other users of the primary context in the process have
// lost it, too.
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
// Queues are device.Sharer. An engine that queues its own kernel on a queue's stream tells the
// queue which buffers it uses, so that Free waits for it:
//
//	launch(cuda.StreamOf(q), kernel, dev.HandleOf(src), dev.HandleOf(dst))
//	sharer, _ := device.As[device.Sharer](q)
//	err := sharer.MarkUsed(src, dst) // after the launch, before Free
//
// Package opencl has a complete example.
//
// [Device.Load] makes this unnecessary: the queue's Launch queues the kernels that it returns,
// and records the buffers they use. [Library] tells an engine's own binding which library is
// loaded.
//
// # With gorgonia.org/cu
//
// For programs whose contexts, streams and memory are of gorgonia.org/cu, the build tag
// gorgonia makes calls of the driver through that package. It needs cgo and the headers of CUDA
// 11 or 12, on Linux. The library is linked, and must be present, with a GPU: otherwise
// gorgonia.org/cu ends the process. Everything else is the same, with these additions (go doc
// does not list declarations behind a tag):
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
//	RESTRIDE_LIBCUDA=path   the driver's library, instead of the system's; not with
//	                        the tag gorgonia
package cuda
