package device

import (
	"fmt"
	"time"
)

// Allocator is implemented by queues that can hand out memory again while their own earlier work
// still uses it, in order. Only work of this queue may use such a buffer, and work of others that
// waits for an event recorded after the call. A chain of work that runs ahead of the device then
// needs no more memory than one that waits after each step.
type Allocator interface {
	Alloc(bytes int64) (Buffer, error)
}

// AsyncQueue is implemented by queues that transfer without waiting. The host memory must not be
// changed or read until the event is done; the queue keeps it alive. Transfers are fastest with
// memory of a HostAllocator.
type AsyncQueue interface {
	WriteAsync(dst Buffer, off int64, src []byte) (Event, error)
	ReadAsync(dst []byte, src Buffer, off int64) (Event, error)
}

// Checker is implemented by queues that learn of errors after a call has returned.
type Checker interface {
	// CheckBuffer returns the error that Read would return for n bytes of a buffer from byte off.
	// It waits only if it is not known yet whether there is one.
	CheckBuffer(b Buffer, off, n int64) error
}

// PeerQueue is implemented by queues that copy from another device's memory without the host, as
// GPUs of one driver can.
type PeerQueue interface {
	// CopyPeer copies from src, a buffer of the device of the queue from, at byte srcOff to dst
	// at byte dstOff. It is work of this queue that runs after all work of from so far; later
	// work of from runs after it, so src may be written or freed at once. The call does not wait.
	// ErrUnsupported says that the two devices cannot do this: then nothing was queued.
	CopyPeer(dst Buffer, dstOff int64, src Buffer, srcOff, bytes int64, from Queue) error
}

// HostMemory is implemented by devices with buffers in the host's memory, which are read and
// written without a transfer once the work on them is done.
type HostMemory interface {
	// HostBytes returns a buffer's memory, valid until the buffer is freed; false if the buffer
	// belongs to another device, holds strings, or was freed.
	HostBytes(Buffer) ([]byte, bool)
	// WrapHost returns a buffer over the caller's memory, for the device's queues.
	WrapHost([]byte) Buffer
}

// HandleMemory is implemented by devices whose buffers have driver handles: a cl_mem or a
// CUdeviceptr.
type HandleMemory interface {
	// HandleOf returns a buffer's handle, valid until the buffer is freed; 0 for an empty buffer
	// or one of another backend.
	HandleOf(Buffer) uintptr
	// AdoptHandle returns a buffer over the caller's memory: AdoptHandle of packages opencl and
	// cuda has the rules. done, unless it is nil, is called once the buffer is freed and the work
	// on it is over, at the latest by the device's Close: by Free itself, or in a new goroutine.
	// After an error it is not called.
	AdoptHandle(handle uintptr, bytes int64, done func()) (Buffer, error)
}

// HostAdopter is implemented by devices that are, or may be, the host's processor, and then work
// on the host's memory in place.
type HostAdopter interface {
	// AdoptHost returns a buffer over the caller's memory, with its content. The memory starts on
	// a multiple of 16 bytes, and its size is a multiple of 4; the cpu device accepts any. It
	// belongs to the device until done is called. done may be nil; it is called once, when the
	// buffer is freed and the work on it is over, at the latest by the device's Close: by Free
	// itself, or in a new goroutine. After an error it is not called. The buffer does not count
	// in Stats. A device with memory of its own gives ErrUnsupported.
	AdoptHost(memory []byte, done func()) (Buffer, error)
}

// HostAllocator is implemented by devices whose driver has host memory for faster transfers
// (pinned memory). FreeHost frees it, or the device's Close: it must not be used afterwards.
type HostAllocator interface {
	AllocHost(bytes int64) ([]byte, error)
	FreeHost([]byte) error
}

// DriverCopier is implemented by devices whose driver can copy one dense buffer to another: a
// baseline for copies.
type DriverCopier interface {
	// CopyByDriver queues a copy of the first bytes of src.
	CopyByDriver(q Queue, dst, src Buffer, bytes int64) error
}

// Sharer is implemented by queues on whose driver handle an engine can queue its own work.
type Sharer interface {
	// MarkUsed says that such work uses buffers, so that freeing them waits for it as for the
	// queue's own. Call it after the work was queued and before the buffers are freed. On CUDA
	// devices a capture contains such work, and keeps the buffers; on others a call during a
	// capture is an error.
	MarkUsed(buffers ...Buffer) error
}

// Recorder is implemented by queues that can record many small calls and replay them for the
// price of one.
type Recorder interface {
	// Capture calls f and returns the work that f queues, without running it. f may call the
	// queue's operations on Operands (Copy, Take, Dequantize and so on) and launch users' kernels
	// (Launcher). Meanwhile all other calls of the queue are ErrInvalid, and others may not use
	// it. An error of f is Capture's. Devices that cannot replay work give ErrUnsupported.
	Capture(f func() error) (Replay, error)
}

// Replay is captured work.
type Replay interface {
	// Run queues the work again, on the queue and buffers of the capture: buffers and kernels
	// stay until Close, even if they are freed. An index out of range is an error of Run, as on
	// the cpu, or a late error (see Queue); the rest of the work is done. With users' kernels,
	// Run waits until it is known whether the work reads anything that depends on a late error,
	// and if so returns it and runs nothing. See ReadOnly and Overwritten.
	Run() error
	// Close waits for the queue. Closing the queue also closes the replay.
	Close() error
}

// Attributor is implemented by queues that find an index out of range after the call that queued
// it, if only in the runs of a Replay: its error should name the operation that the call was part
// of.
type Attributor interface {
	// Position returns a number that grows with the work of the queue.
	Position() uint64
	// Attribute prefixes a name to the errors of takes and puts into a buffer that were queued
	// after a position and have no name yet.
	Attribute(b Buffer, after uint64, name fmt.Stringer)
}

// TimedEvent is implemented by the events of devices that keep time.
type TimedEvent interface {
	Event
	// Since returns the device time between an earlier event of the same device and this one.
	// Both must be done.
	Since(earlier Event) (time.Duration, error)
}
