// Package engine is a device over a GPU's driver: what devices of all drivers
// have in common. It keeps buffers in a pool, work in order, what work uses alive
// until it is done, and launches planned.
//
// What it asks of a driver is in [Driver], [Stream] and [Mark]; packages opencl
// and cuda have one each, and know nothing of buffers and queues.
//
// Work of a queue is numbered. A queue knows up to which number it is done, and a
// buffer the last number of each queue that uses it: that is when its memory, once
// it is freed, may be used again. Until then it is in limbo.
//
// Locks are taken in this order: a device's life, a queue's (of two, that of the
// older one first), a buffer's, and last those of limbo, the pool and the device's
// lists, of which nobody holds two.
package gpu

import (
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/kernels"
)

// Mem is device memory, in the driver's own words. Two that are alive differ
// (==), and one that is freed differs from all later ones.
type Mem any

// Driver is one device behind a driver. Calls may come from any goroutine.
// Errors for want of memory are device.ErrOutOfMemory.
type Driver interface {
	Properties() Properties
	// Alloc returns memory that kernels may access by vectors of 16 bytes; bytes
	// is a multiple of 16.
	Alloc(bytes int64) (Mem, error)
	// Free takes back what Alloc returned. No work uses it any more.
	Free(Mem) error
	// AllocHost returns host memory that transfers are fast from and to.
	AllocHost(bytes int64) ([]byte, error)
	FreeHost([]byte) error
	// Describe takes a launch's descriptor to the device; Forget takes it back,
	// perhaps while launches that use it are under way.
	LoadParameters(parameters []byte) (Mem, error)
	FreeParameters(Mem)
	NewStream() (Stream, error)
	// Close comes last, when streams are closed and memory is freed.
	Close() error
}

// Traits are what a driver says of its device.
type Properties struct {
	Info   device.Info
	Target kernels.Target
	// Direct is the size from which Write waits for the device instead of copying
	// to pinned memory first: where both are the host's memory. 0: never.
	Direct int64
	// Pinned: AllocHost gives faster memory than Go's, which is not the device's.
	Pinned bool
}

// Stream is a driver's queue of work, in order. It is called by one goroutine at
// a time. The hot calls (all but Mark) do not allocate.
type Stream interface {
	// Upload and Download queue a transfer. The host memory stays in its place
	// and as it is until the stream has got there.
	Upload(dst Mem, off int64, src []byte) error
	Download(dst []byte, src Mem, off int64) error
	// Launch queues a kernel.
	Launch(l *kernels.Launch, a *Args) error
	// Mark marks the point behind all work so far, and flushes. With an error,
	// the Mark is nil.
	Record() (Event, error)
	// WaitFor makes later work wait for the mark of another stream.
	WaitFor(Event) error
	// Finish waits for all work, and returns an error of it. With an error, too,
	// none of it goes on.
	Finish() error
	// Close ends the stream, whose work is done.
	Close() error
}

// Args are what a kernel is called with, in the order of its parameters. nil is
// what the kernel has no parameter for (see kernels.Spec.Parameters).
type Args struct {
	Dst, Src, Parameters Mem
	Bases                [2]int64  // of dst and src
	Pattern              [2]uint64 // of a fill; of a take: first the base of its indices
	At, Status           Mem       // of a take: its indices, and where a wrong one is noted
}

// Mark is a point in a stream. Calls may come from any goroutine, and when the
// stream and the driver are closed.
type Event interface {
	// Done reports whether the point has been reached: with an error, too.
	Done() bool
	// Wait waits for it, and returns the error of the work before it, as far as
	// the driver tells.
	Wait() error
	// Since returns the device time from an earlier mark to this one; both are
	// done.
	Since(earlier Event) (time.Duration, error)
	// Release is the last call.
	Release()
}
