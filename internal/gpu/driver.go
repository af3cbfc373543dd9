// Package gpu implements a device over a GPU's driver: the common part of the devices of all
// drivers. It pools memory, numbers work, keeps buffers until the work that uses them is done,
// plans launches, and counts.
//
// A driver implements [Driver], [Stream] and [Event]; [New] makes a device of it,
// which the driver's package embeds in its own. What only some drivers can do is in
// [Capturer], [Peer] and [Launcher], which their streams implement, [Borrowed], [Loader],
// [Trimmer], [Divider], [Copier] and [GLDriver]. A driver knows nothing of buffers, queues and
// layouts. Packages opencl and cuda have one each, in files of the same names; package
// gputest has the tests for a new one.
//
// # Work
//
// The work of a queue is numbered. A queue knows up to which number its work is
// done, and a buffer the last number of each queue that uses it. The memory of a
// freed buffer returns to the pool when all of these are done: until then it is a deferred
// free, which blocks no caller.
//
// # Late errors
//
// An index out of range is detected when a take or put runs: the kernel records it in a slot of
// its own, which is copied to the host before a wait, an event or a read needs it. Until then
// the outcome is unknown. The bytes that the take wrote are marked with it, and work that reads
// marked bytes marks the bytes that it writes. A read returns the error of the marks in its
// range; overwritten bytes have none. A fault of the device is an outcome, too, of all work
// that it may have hit.
//
// # Locks
//
// The order of locks: a device's life, a GL buffer, a queue (the older of two first), a buffer,
// and last one of a queue's records, the deferred frees, the pool, or the device's lists: never
// two of these at a time. A driver is called with any of them held except the lists' locks: it
// must not call back. A driver's own locks come after all of these.
package gpu

import (
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
)

// Mem is device memory, as a driver represents it. Two live values differ (==), and a freed
// value differs from all later ones.
type Mem any

// Driver is one device behind a driver. Calls come from any goroutine, concurrently. If memory
// is short, errors are device.ErrOutOfMemory, otherwise device.ErrDriver.
type Driver interface {
	// Properties is called once.
	Properties() Properties
	// Alloc returns memory that all streams may use, and that kernels access by vectors of 16
	// bytes: it begins on 16 bytes, and bytes is a multiple of 16.
	Alloc(bytes int64) (Mem, error)
	// Free frees the result of Alloc. No work uses it any more.
	Free(Mem) error
	// AllocHost returns host memory for fast transfers; bytes is positive.
	AllocHost(bytes int64) ([]byte, error)
	// FreeHost frees the whole result of AllocHost.
	FreeHost([]byte) error
	// LoadKernel loads a kernel, as its first launch would otherwise.
	LoadKernel(planner.Spec) error
	// NewStream returns a stream that does not wait for any other.
	NewStream() (Stream, error)
	// Close is the last call of the driver: streams are closed, and memory is freed.
	// Events live on.
	Close() error
}

// Loader is implemented by drivers whose kernels read the parameters of a launch from memory.
// Other drivers pass parameters by value.
type Loader interface {
	// LoadParameters copies a launch's parameters to the device, and returns when they are
	// there.
	LoadParameters(parameters []byte) (Mem, error)
	// FreeParameters frees them when the launches that use them, which may be under
	// way, are done.
	FreeParameters(Mem)
}

// Trimmer is implemented by drivers that keep freed memory for later allocations.
type Trimmer interface {
	// Trim gives it back to the system.
	Trim()
}

// Properties are a driver's description of its device.
type Properties struct {
	Info   device.Info
	Target planner.Target // what kernels are planned for
	// Direct is the size in bytes from which Write waits for the device instead of copying to
	// pinned memory first, for device memory that is host memory. 0: never.
	Direct int64
	// Pinned: AllocHost's memory is faster than Go's, and is not part of the device's memory.
	Pinned bool
	// Shared: a launch of a user's kernel can have local memory that is not a parameter.
	Shared bool
}

// Stream is a driver's queue of work, in order. One goroutine at a time calls it.
// Upload, Download, Launch and Finish allocate nothing in the steady state. A call that fails
// has queued nothing. After device.ErrOutOfMemory it is repeated once memory may be available.
// Errors of queued work are returned by Finish and Event.Wait.
type Stream interface {
	// Upload and Download queue a transfer of a part of device memory. The host memory neither
	// moves nor changes until the transfer is done.
	Upload(dst Mem, off int64, src []byte) error
	Download(dst []byte, src Mem, off int64) error
	// Launch queues a kernel with its arguments, in order. The Launch does not change, and may
	// be kept to recognise it; the arguments may change after the call.
	Launch(l *planner.Launch, args []Argument) error
	// Record returns an event after all work so far, and flushes: the work begins even if no
	// call follows. With an error, the Event is nil.
	Record() (Event, error)
	// WaitFor makes later work wait for an event of another stream.
	WaitFor(Event) error
	// Finish waits for all work, and returns its error. Even after an error, no work is running
	// any more.
	Finish() error
	// Close ends the stream, whose work is done.
	Close() error
}

// Borrowed is implemented by streams that may be another's.
type Borrowed interface {
	// Captured reports whether the stream's owner is capturing it: what is queued becomes
	// part of that, and a wait ends it.
	Captured() bool
}

// Argument is one of the arguments of a kernel, which planner.Launch.Arguments lists: memory
// or, if there is none, a number. Without memory, parameters are passed by value.
type Argument struct {
	Mem    Mem
	Number uint64
}

// Event is a point in a stream. Calls come from any goroutine, concurrently, and also when the
// stream and the driver are closed.
type Event interface {
	// Done reports whether the point has been reached: also after an error.
	Done() bool
	// Wait waits for the point, and returns the error of the work before it, as far as the
	// driver reports it.
	Wait() error
	// Since returns the device time from an earlier event to this one. Both are done.
	Since(earlier Event) (time.Duration, error)
	// Release is the last call.
	Release()
}
