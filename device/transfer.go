package device

import (
	"fmt"
	"time"
)

// Allocator is implemented by queues that can give memory again that their own
// work still uses, in order. Only work of the queue may use such a buffer, and
// work of others that waits for an event which was recorded after the call. A
// chain of work that runs ahead of the device then needs no more memory than one
// that waits after each step.
type Allocator interface {
	Alloc(bytes int64) (Buffer, error)
}

// AsyncQueue is implemented by queues that transfer without waiting. The host
// memory must stay as it is, and unread, until the event is done; the queue
// keeps it alive. Transfers are fastest from and to what a HostAllocator gives.
type AsyncQueue interface {
	WriteAsync(dst Buffer, off int64, src []byte) (Event, error)
	ReadAsync(dst []byte, src Buffer, off int64) (Event, error)
}

// Checker is implemented by queues that learn of errors after a call has returned.
type Checker interface {
	// CheckBuffer returns the error of the work that n bytes of a buffer from byte off
	// depend on, as Read would. It waits only if it is not known yet whether there is one.
	CheckBuffer(b Buffer, off, n int64) error
}

// PeerQueue is implemented by queues that copy from another device's memory
// without the host, as GPUs of one driver can.
type PeerQueue interface {
	// CopyPeer copies bytes of src from byte srcOff, a buffer of the device of the
	// queue from, to dst from byte dstOff. It is work of this queue, and comes
	// after all that from has so far; later work of from comes after it, so that
	// src may be written or freed at once. It does not wait. ErrUnsupported says
	// that the two devices have no such way: then nothing was queued.
	CopyPeer(dst Buffer, dstOff int64, src Buffer, srcOff, bytes int64, from Queue) error
}

// HostMemory is implemented by devices with buffers in the host's memory, read and
// written without a transfer, once the work on them is done.
type HostMemory interface {
	// HostBytes returns a buffer's memory, valid until the buffer is freed; false if
	// the buffer is another device's, holds strings, or was freed.
	HostBytes(Buffer) ([]byte, bool)
	// WrapHost returns a buffer over memory of the caller's, for the device's queues.
	WrapHost([]byte) Buffer
}

// HandleMemory is implemented by devices whose buffers have handles of the driver's: a
// cl_mem or a CUdeviceptr.
type HandleMemory interface {
	// HandleOf returns a buffer's handle, valid until the buffer is freed; 0 for a
	// buffer of no bytes, or of another backend.
	HandleOf(Buffer) uintptr
	// AdoptHandle makes a buffer of memory of the caller's: AdoptHandle of packages
	// opencl and cuda has the rules. done, unless it is nil, is called once the buffer
	// is freed and the work on it is over, at the latest by the device's Close: by Free
	// itself, or in a goroutine of its own. After an error it is not called.
	AdoptHandle(handle uintptr, bytes int64, done func()) (Buffer, error)
}

// HostAdopter is implemented by devices that are, or may be, the host's processor, and then
// work on memory of the host's in place.
type HostAdopter interface {
	// AdoptHost returns a buffer of memory of the caller's, with what is in it. It begins on
	// a multiple of 16, and its size is one of 4; the cpu device takes any. The memory is the
	// device's until done is called, unless it is nil: once, when the buffer is freed and the
	// work on it is over, at the latest by the device's Close; by Free itself, or in a
	// goroutine of its own. After an error it is not called. The buffer counts in no Stats. A
	// device with memory of its own gives ErrUnsupported.
	AdoptHost(memory []byte, done func()) (Buffer, error)
}

// HostAllocator is implemented by devices whose driver has host memory that it
// transfers faster (pinned memory). The memory is freed by FreeHost, or by the
// device's Close: it must not be used afterwards.
type HostAllocator interface {
	AllocHost(bytes int64) ([]byte, error)
	FreeHost([]byte) error
}

// DriverCopier is implemented by devices whose driver has a copy of its own from
// one dense buffer to another: what copies are compared with.
type DriverCopier interface {
	// CopyByDriver queues a copy of the first bytes.
	CopyByDriver(q Queue, dst, src Buffer, bytes int64) error
}

// Sharer is implemented by queues whose handle an engine can queue work of its
// own on.
type Sharer interface {
	// MarkUsed says that such work uses buffers, so that freeing them waits for it as
	// for the queue's own. It is called after the work was queued and before the
	// buffers are freed. On CUDA devices a capture contains such work, and keeps the buffers;
	// on others a call during a capture is an error.
	MarkUsed(buffers ...Buffer) error
}

// Recorder is implemented by queues that can record work to replay it: that of
// many small calls for the price of one.
type Recorder interface {
	// Capture calls f, which queues calls on the queue that work on Operands (Copy, Take,
	// Dequantize and so on) or launch kernels of the user's (Launcher), and returns what
	// they would do, without doing it. Meanwhile all other calls of the queue are
	// ErrInvalid, and others may not use it. An error of f is Capture's. Devices that
	// cannot replay work give ErrUnsupported.
	Capture(f func() error) (Replay, error)
}

// Replay is captured work.
type Replay interface {
	// Run queues the work again, on the queue that it was captured on, in the
	// same buffers: these and the kernels stay until Close, even if they are freed.
	// An index out of range is an error of Run, as on the cpu, or a late one (see
	// Queue); the rest of the work is done. With kernels of the user's, Run waits until
	// it is known whether what the work reads depends on a late error, and returns
	// that: then nothing runs. See ReadOnly and Overwritten.
	Run() error
	// Close waits for the queue. That of the queue does the same.
	Close() error
}

// Attributor is implemented by queues that find an index out of range after the call that
// queued it: its error is to name the operation that the call was part of.
type Attributor interface {
	// Position returns a number that grows with the work of the queue.
	Position() uint64
	// Attribute has the errors of takes and puts into a buffer begin with a name: of
	// those that were queued after a position, and have no name yet.
	Attribute(b Buffer, after uint64, name fmt.Stringer)
}

// TimedEvent is implemented by the events of devices that keep time.
type TimedEvent interface {
	Event
	// Since returns how much device time passed between an earlier event of the
	// same device and this one. Both must be done.
	Since(earlier Event) (time.Duration, error)
}
