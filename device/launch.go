package device

// Kernel is a kernel of the user's, ready to run on one device, as opencl.Device.Compile and
// cuda.Device.Load return it, or on every cpu device, as cpu.Kernel does.
type Kernel interface {
	// Name returns the kernel's name in its source.
	Name() string
	// Close waits for the device's queues, or on the cpu for launches, and frees the kernel;
	// later launches are ErrClosed. A Replay keeps the kernel until its own Close. The
	// device's Close frees it, too, but not on the cpu. A second Close is ErrClosed.
	Close() error
}

// Dim3 is a number of blocks (work-groups), or of threads (work-items) in a block, along
// x, y and z. Zeros behind the last extent that is not 0 stand for 1: Dim3{6} and
// Dim3{6, 1, 1} are the same. Any other 0 is one: Dim3{0}, Dim3{} and Dim3{6, 0, 2} have
// nothing.
type Dim3 [3]uint32

// Launcher is implemented by queues that run kernels of the user's.
type Launcher interface {
	// Launch queues a kernel, in the order of the queue's other work: grid blocks of
	// block threads each. Freeing a buffer that is an argument waits for the kernel,
	// as it does for work of the queue's own. The arguments fill the kernel's
	// parameters one after the other:
	//
	//	a Buffer or an Operander     a pointer to the start of the buffer (OpenCL: its cl_mem)
	//	Strided(x)                   that, and integers: the offset, the extents, then the strides
	//	ReadOnly(x), Overwritten(x)  x, one of these, with what the kernel does to the memory
	//	int                          a signed integer of the width that the parameter has
	//	int8 ... uint64              an integer of just that width
	//	float32, float64             a number of just that width
	//	[]byte                       a struct or vector, by value
	//	Local(n)                     n bytes of local memory: in OpenCL a pointer to them, in CUDA
	//	                             and in Go no parameter but what extern __shared__ refers to,
	//	                             or cpu.Local
	//
	// Offsets, extents and strides count elements. What the driver tells of the
	// kernel's parameters is checked before anything runs: a wrong count or kind, a
	// number that does not fit, a buffer that is freed or another device's is
	// ErrInvalid. A grid that has no blocks runs nothing, after the same checks; a block
	// that has no threads is ErrInvalid.
	Launch(k Kernel, grid, block Dim3, args ...any) error
}

// Operander is memory with a layout: an Operand, or a tensor.
type Operander interface{ Operand() Operand }

// Operand returns o itself.
func (o Operand) Operand() Operand { return o }

// StridedArgument is an argument of Launcher that Strided returns.
type StridedArgument struct{ X Operander }

// Strided returns an argument that stands for a pointer to x's memory and for where its
// elements lie in it, in elements of x's type. For a kernel that begins
//
//	kernel void f(global float *x, long offset, int rows, int columns, long down, long right, ...
//
// it is the first six arguments, if x has two axes.
func Strided(x Operander) StridedArgument { return StridedArgument{x} }

// AccessArgument is an argument of Launcher that ReadOnly or Overwritten returns: X, a Buffer, an
// Operander or a StridedArgument, with what the kernel does to the memory. Of memory alone it is
// assumed that the kernel may read and write any byte of the buffer.
type AccessArgument struct {
	X             any
	Reads, Writes bool
}

// ReadOnly returns an argument that stands for x and says that the kernel does not write to it,
// which nothing checks. Where a replay finds an index out of range, whatever its kernels may have
// written to stays wrong until it is overwritten: not what is ReadOnly, such as weights.
func ReadOnly(x any) AccessArgument { return AccessArgument{X: x, Reads: true} }

// Overwritten returns an argument that stands for x and says that the kernel writes all elements
// of x and no other bytes of its buffer, and reads none of these, which nothing checks. Each run
// of a replay makes them right again, as any work does that overwrites them.
func Overwritten(x any) AccessArgument { return AccessArgument{X: x, Writes: true} }

// Local is an argument of Launcher: so many bytes of local memory.
type Local uint32
