// Package gpu is a device over a GPU's driver: what the devices of all drivers have
// in common. It pools memory, numbers work, keeps buffers until the work that uses
// them is done, plans launches, and counts.
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
// freed buffer returns to the pool when all of these are done: until then it is a
// deferred free, for which nobody waits.
//
// # Late errors
//
// An index out of range shows when a take or put runs: the kernel notes it in a slot of
// its own, and the slot comes to the host before a wait, an event or a read needs it.
// Until then the outcome is unknown. The bytes that the take wrote are marked with it, and
// whatever work reads marked bytes marks those that it writes. A read returns the error of
// the marks in its range; bytes that are written anew have none. A fault of the device is
// an outcome, too, of all work that it may have hit.
//
// # Locks
//
// Locks are taken in this order: that of a device's life, that of a GL buffer, that of a
// queue (of two, the older queue's first), that of a buffer, and last that of a queue's
// records, the deferred frees, the pool, or the device's lists, of which no two are held at
// once. A driver is called with
// any of them held but those of the lists: it must not call back. Locks of its own
// come after all of these.
package gpu

import (
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
)

// Mem is device memory, as a driver represents it. Two that are alive differ (==),
// and one that is freed differs from all later ones.
type Mem any

// Driver is one device behind a driver. Calls come from any goroutine, at once.
// Errors for want of memory are device.ErrOutOfMemory, others device.ErrDriver.
type Driver interface {
	// Properties is called once.
	Properties() Properties
	// Alloc returns memory that all streams may use, and kernels access by vectors
	// of 16 bytes: it begins on 16 bytes, and bytes is a multiple of 16.
	Alloc(bytes int64) (Mem, error)
	// Free frees what Alloc returned. No work uses it any more.
	Free(Mem) error
	// AllocHost returns host memory from and to which transfers are fast; bytes is
	// positive.
	AllocHost(bytes int64) ([]byte, error)
	// FreeHost frees the whole of what AllocHost returned.
	FreeHost([]byte) error
	// LoadKernel makes a kernel ready, which the first launch would do otherwise.
	LoadKernel(planner.Spec) error
	// NewStream returns a stream that waits for no other.
	NewStream() (Stream, error)
	// Close is the last call of the driver: streams are closed, and memory is freed.
	// Events live on.
	Close() error
}

// Loader is implemented by drivers whose kernels read the parameters of a launch from
// memory. Those of other drivers get them by value.
type Loader interface {
	// LoadParameters copies a launch's parameters to the device, where they are when
	// it returns.
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

// Properties are what a driver says of its device.
type Properties struct {
	Info   device.Info
	Target planner.Target // what kernels are planned for
	// Direct is the size in bytes from which Write waits for the device instead of
	// copying to pinned memory first: where device memory is the host's. 0: never.
	Direct int64
	// Pinned: what AllocHost returns is faster than Go's memory, and is no part of
	// the device's.
	Pinned bool
	// Shared: a launch of a user's kernel has local memory that is no parameter.
	Shared bool
}

// Stream is a driver's queue of work, in order. One goroutine at a time calls it.
// Upload, Download, Launch and Finish allocate nothing in the steady state. A call
// that fails has queued nothing, and is made again after device.ErrOutOfMemory, when
// there may be memory. Errors of queued work are returned by Finish and Event.Wait.
type Stream interface {
	// Upload and Download queue a transfer of a part of device memory. The host
	// memory stays where it is and as it is until the transfer is done.
	Upload(dst Mem, off int64, src []byte) error
	Download(dst []byte, src Mem, off int64) error
	// Launch queues a kernel with its arguments, in order. The Launch stays as it is, and
	// may be kept to recognise it; the arguments change when the call has returned.
	Launch(l *planner.Launch, args []Argument) error
	// Record returns an event behind all work so far, and flushes: the work begins
	// even if no call follows. With an error, the Event is nil.
	Record() (Event, error)
	// WaitFor makes later work wait for an event of another stream.
	WaitFor(Event) error
	// Finish waits for all work, and returns an error of it. After an error, too,
	// none of it goes on.
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

// Argument is one of the arguments of a kernel, which planner.Launch.Arguments lists:
// memory or, without, a number. Without memory, parameters are passed by value.
type Argument struct {
	Mem    Mem
	Number uint64
}

// Event is a point in a stream. Calls come from any goroutine, at once, and also
// when the stream and the driver are closed.
type Event interface {
	// Done reports whether the point has been reached: also after an error.
	Done() bool
	// Wait waits until then, and returns the error of the work before it, as far as
	// the driver tells.
	Wait() error
	// Since returns the device time from an earlier event to this one. Both are done.
	Since(earlier Event) (time.Duration, error)
	// Release is the last call.
	Release()
}
