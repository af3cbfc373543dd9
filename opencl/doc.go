// Package opencl is the OpenCL device: GPUs and any other processor with a driver of OpenCL 1.2
// or later with a compiler.
//
//	import _ "github.com/restride/restride/opencl" // device.Open("opencl:0") works
//
// The OpenCL library is loaded by name at the first call, without a C compiler and
// without headers. Without the library, a driver or a device, Open returns
// device.ErrNoDevice and the reason. Devices are numbered through all platforms, in the
// library's order, without unusable ones (no compiler, big-endian, too small work-groups). They
// are listed once in a process. Peculiarities of drivers are in quirks.go.
//
// # Queues and memory
//
// A device.Queue of this package is an in-order command queue. Write copies its bytes to
// a ring of pinned memory and returns; only large writes to a device that is the processor
// itself wait. The planner chooses kernels. The steady state of Copy, Fill, Convert, Write and
// Read allocates nothing.
//
// Free returns memory to a pool, but not before the work that uses it is done: until then the
// free is deferred, and no call waits. Alloc waits only when deferred frees hold more than an
// eighth of the device's memory (or 1 GiB, or 1024 blocks). A device never holds more than the
// memory that its driver reports: drivers on the host's memory would exhaust it.
//
// # The disk cache
//
// A kernel is compiled when a queue first needs it, and the driver's binary is kept in a file
// in the folder restride/opencl of [os.UserCacheDir]. The file holds everything that the binary
// depends on (platform, device, driver, options, source) and a checksum: if it is damaged, or
// from another driver, the kernel is compiled again. The folder may be deleted at any time.
// PoCL's binaries are written when the device is closed (see quirks.go). PoCL has its own cache
// of final code (POCL_CACHE_DIR): a kernel that is in both first runs after some 5 ms, in
// PoCL's alone after 30 ms, in this one alone after 200 to 500 ms.
//
// # Arithmetic
//
// Scaled and summed floats have the same bits on every device. A device that keeps
// subnormal numbers, rounds to the nearest float (CL_DEVICE_SINGLE_FP_CONFIG,
// CL_DEVICE_DOUBLE_FP_CONFIG), and divides exactly, according to its properties, computes with
// floats, once a trial has confirmed it, before the first such kernel is compiled. The disk
// cache keeps the verdict. All others compute on integers, to the same result. PoCL has float
// arithmetic, Oclgrind all but quotients, llvmpipe none.
//
// # Sharing with an engine
//
// [Adopt], [Device.AdoptHandle] and [Device.AdoptQueue] take an inference engine's own
// handles, which are retained and released, but never owned. [Device.Handles],
// [Device.HandleOf] and [CommandQueueOf] return the device's. A buffer's handle is valid until
// Free, even if it is retained: Free gives the memory to the pool.
//
// Queues are [device.Sharer]. An engine that queues a kernel of its own on a queue's
// cl_command_queue calls MarkUsed with the buffers that the kernel uses: after the kernel is
// queued, and before they are freed. The example does that. [Device.Compile] spares the
// engine all of it: Launch of the queue (device.Launcher) queues the kernel and keeps
// account of what it uses. [Library] tells a binding of the engine's own which library is
// loaded.
//
// Queues are device.Recorder: a captured launch has a cl_kernel of its own, whose arguments stay
// set, and each run queues it.
//
// # OpenGL
//
// A device that is opened with [Options].GL, the GL context of [CurrentGL], is
// device.GLSharer, where the driver has cl_khr_gl_sharing and its device is that of the GL
// context: ShareGL makes a cl_mem of a buffer object, and Acquire and Release are
// clEnqueueAcquireGLObjects and clEnqueueReleaseGLObjects. With cl_khr_gl_event the driver
// orders the work of both. Without it, as with NVIDIA's driver, Acquire waits for GL
// (glFinish), and Release for the queue (clFinish). GL contexts can be EGL's (which NVIDIA's
// driver does not accept), GLX's and WGL's; macOS is not supported. This was never run on a
// driver that shares: it is tested by a library that makes PoCL and rusticl share, over buffers
// of Mesa's llvmpipe.
//
// # Environment
//
//	RESTRIDE_LIBOPENCL=path             the library, instead of the system's
//	RESTRIDE_CACHE_DIR=folder, or off   where compiled kernels are kept (in its folder opencl)
//	RESTRIDE_OPENCL_PLANNER=parallel    or serial: kernels for another kind of processor
package opencl
