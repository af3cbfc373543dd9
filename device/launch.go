package device

// Kernel is a user's kernel, ready to run: on one device, from opencl.Device.Compile or
// cuda.Device.Load, or on every cpu device, from cpu.Kernel.
type Kernel interface {
	// Name returns the kernel's name in its source.
	Name() string
	// Close waits for the device's queues, or on the cpu for launches, and frees the kernel;
	// later launches are ErrClosed. A Replay keeps the kernel until its own Close. Closing the
	// device also frees it, except on the cpu. A second Close is ErrClosed.
	Close() error
}

// Dim3 is a number of blocks (work-groups), or of threads (work-items) in a block, along x, y and
// z. Zeros after the last nonzero extent mean 1: Dim3{6} and Dim3{6, 1, 1} are the same. Any
// other 0 is a real 0: Dim3{0}, Dim3{} and Dim3{6, 0, 2} are empty.
type Dim3 [3]uint32

// Launcher is implemented by queues that run users' kernels.
type Launcher interface {
	// Launch queues a kernel, in order with the queue's other work: grid blocks of block threads
	// each. Freeing a buffer that is an argument waits for the kernel, as for the queue's own
	// work. The arguments fill the kernel's parameters in order:
	//
	//	a Buffer or an Operander     a pointer to the start of the buffer (OpenCL: its cl_mem)
	//	Strided(x)                   that, and integers: the offset, the extents, then the strides
	//	ReadOnly(x), Overwritten(x)  x, one of these, with how the kernel uses the memory
	//	int                          a signed integer as wide as the parameter
	//	int8 ... uint64              an integer of exactly that width
	//	float32, float64             a number of exactly that width
	//	[]byte                       a struct or vector, by value
	//	Local(n)                     n bytes of local memory: in OpenCL a pointer to them, in CUDA
	//	                             and in Go no parameter: the kernel uses extern __shared__
	//	                             or cpu.Local
	//
	// Offsets, extents and strides count elements. The arguments are checked against what the
	// driver says about the kernel's parameters before anything runs: a wrong count or kind, a
	// number that does not fit, or a buffer that is freed or on another device is ErrInvalid. A
	// grid without blocks runs nothing, after the same checks; a block without threads is
	// ErrInvalid.
	Launch(k Kernel, grid, block Dim3, args ...any) error
}

// Operander is memory with a layout: an Operand, or a tensor.
type Operander interface{ Operand() Operand }

// Operand returns o itself.
func (o Operand) Operand() Operand { return o }

// StridedArgument is an argument of Launcher that Strided returns.
type StridedArgument struct{ X Operander }

// Strided returns an argument for a pointer to x's memory and for the layout of its elements,
// counted in elements of x's type. For a kernel that begins
//
//	kernel void f(global float *x, long offset, int rows, int columns, long down, long right, ...
//
// it fills the first six parameters, if x has two axes.
func Strided(x Operander) StridedArgument { return StridedArgument{x} }

// AccessArgument is an argument of Launcher that ReadOnly or Overwritten returns: X, a Buffer, an
// Operander or a StridedArgument, with how the kernel uses the memory. Without it, the kernel is
// assumed to read and write any byte of the buffer.
type AccessArgument struct {
	X             any
	Reads, Writes bool
}

// ReadOnly returns an argument for x and declares that the kernel does not write to it, which is
// not checked. If a replay finds an index out of range, everything that its kernels may have
// written to stays wrong until it is overwritten; memory that is ReadOnly, such as weights, does
// not.
func ReadOnly(x any) AccessArgument { return AccessArgument{X: x, Reads: true} }

// Overwritten returns an argument for x and declares that the kernel writes all elements of x,
// writes no other bytes of its buffer, and reads none of it, which is not checked. Each run of a
// replay makes the elements valid again, as any work that overwrites them does.
func Overwritten(x any) AccessArgument { return AccessArgument{X: x, Writes: true} }

// Local is an argument of Launcher: the number of bytes of local memory.
type Local uint32
