package tensor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// A Stream is a device and one of its queues: the place where tensors live, and the order in
// which work on them runs. A tensor belongs to the stream that it was made on; tensors made from
// it belong to the same stream, until To moves them.
//
// The trace hook and ForbidCopies apply to all work on the stream. All methods may be called from
// any goroutine. On a nil Stream, Wait and Close return ErrInvalid, as do calls that are given
// one; the other methods panic.
type Stream struct {
	dev   device.Device
	queue device.Queue
	host  device.HostMemory  // the device, if its memory is the host's; else nil
	words device.StringQueue // the queue, if it holds strings; else nil
	// alloc is the queue's Alloc, if it has one, else the device's. Other streams wait for this
	// one before they use memory from it.
	alloc  func(bytes int64) (device.Buffer, error)
	closes func() error
	// deviceClosed: closes has closed the device, which frees the memory of all tensors.
	deviceClosed atomic.Bool

	trace    atomic.Pointer[func(Event)]
	noCopies atomic.Bool
	live     liveSet

	scope  atomic.Pointer[Scope] // the innermost
	scopes sync.Mutex            // while one is opened or closed
}

// Open opens a device by name (see device.Open: "auto", "cpu", "opencl:0", "cuda:1") and a queue.
// Close closes both.
func Open(name string) (*Stream, error) {
	dev, err := device.Open(name)
	if err != nil {
		return nil, err
	}
	s, err := NewStream(dev)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	endQueue := s.closes
	s.closes = func() error {
		err := errors.Join(endQueue(), dev.Close())
		if err == nil {
			s.deviceClosed.Store(true)
		}
		return err
	}
	return s, nil
}

// NewStream returns a stream with a new queue on an open device. Close closes the queue and
// leaves the device open.
func NewStream(dev device.Device) (*Stream, error) {
	if dev == nil {
		return nil, layout.Errorf(device.ErrInvalid, "NewStream", "the device is nil")
	}
	q, err := dev.NewQueue()
	if err != nil {
		return nil, err
	}
	s := Adopt(dev, q)
	s.closes = q.Close
	return s, nil
}

// Adopt returns a stream over the caller's device and queue, which Close leaves open. Without a
// device or a queue the stream is nil.
func Adopt(dev device.Device, q device.Queue) *Stream {
	if dev == nil || q == nil {
		return nil
	}
	s := &Stream{dev: dev, queue: q, alloc: dev.Alloc, closes: func() error { return nil }}
	s.host, _ = device.As[device.HostMemory](dev)
	s.words, _ = device.As[device.StringQueue](q)
	if a, ok := device.As[device.Allocator](q); ok {
		s.alloc = a.Alloc
	}
	return s
}

// Host returns the stream of small values that are on the host whatever the device: shapes, axes,
// constants of shape arithmetic. It is a cpu device that the whole process shares; it cannot be
// closed.
func Host() *Stream { return hostStream() }

var hostStream = sync.OnceValue(func() *Stream {
	dev, err := cpu.Open()
	if err == nil {
		var q device.Queue
		if q, err = dev.NewQueue(); err == nil {
			return Adopt(dev, q)
		}
	}
	panic(fmt.Sprintf("tensor: the cpu device, which needs nothing, does not open: %v", err))
})

// Device returns the stream's device.
func (s *Stream) Device() device.Device { return s.dev }

// Queue returns the stream's queue, for the caller's own work between work on tensors.
func (s *Stream) Queue() device.Queue { return s.queue }

// IsHost reports whether the stream's memory is the host's, so that reading it is not a transfer
// (see [device.HostMemory]).
func (s *Stream) IsHost() bool { return s.host != nil }

// Wait returns when all work on the stream is done, with the first error that no call has
// returned, whoever queued the work. [Tensor.Wait] waits for one tensor.
func (s *Stream) Wait() error {
	if s == nil {
		return nilStream("Wait")
	}
	return s.queue.Wait()
}

// WaitContext is Wait that returns early, with ctx's cause, when ctx is done; the work goes on.
func (s *Stream) WaitContext(ctx context.Context) error {
	const op = "WaitContext"
	if s == nil {
		return nilStream(op)
	}
	if ctx == nil {
		return layout.Errorf(device.ErrInvalid, op, "the context is nil")
	}
	e, err := s.queue.Record()
	if err == nil {
		err = await(ctx, e)
	}
	if err == nil {
		err = await(ctx, s.queue) // for its errors, and for work queued meanwhile
	}
	return err
}

// await waits for an event or a queue, and returns early, with ctx's cause, when ctx is done.
func await(ctx context.Context, w interface{ Wait() error }) error {
	if ctx.Done() == nil {
		return w.Wait()
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	reached := make(chan error, 1)
	go func() { reached <- w.Wait() }()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-reached:
		return err
	}
}

// Close waits for the stream's work and closes what the stream opened: for a stream from Open,
// the device, too. Closing the device frees the memory of its tensors; release them first.
func (s *Stream) Close() error {
	if s == nil {
		return nilStream("Close")
	}
	return s.closes()
}

func nilStream(op string) error { return layout.Errorf(device.ErrInvalid, op, "the stream is nil") }

// Trace calls hook, in the calling goroutine, after every call that made a view on this stream or
// moved elements of its tensors; nil removes the hook. A transfer that needs a copy first is two
// events, and a transfer between two streams is reported to both. Calls that only get memory
// (Empty, OwnBuffer, FromHost) are not reported.
func (s *Stream) Trace(hook func(Event)) {
	if hook == nil {
		s.trace.Store(nil)
		return
	}
	s.trace.Store(&hook)
}

// ForbidCopies makes every call fail with ErrCopy that would copy elements on the device only to
// change their layout: Reshape, Flatten, Contiguous and related calls if strides cannot express
// the result, and a transfer from a tensor whose elements are not one run in memory. Calls whose
// purpose is to write elements stay allowed: transfers, New, Clone, CopyFrom, Cast, Pack, Where,
// Lookup, Gather, Put, Concat, Pad, Assemble, Dequantize and related calls.
func (s *Stream) ForbidCopies(forbid bool) { s.noCopies.Store(forbid) }

// ErrCopy: the call needs a copy, and the stream forbids copies. It is of kind ErrUnsupported.
var ErrCopy = fmt.Errorf("%w: needs a copy, and copies are forbidden on this stream", device.ErrUnsupported)

func (s *Stream) report(op string, v Verdict, t layout.DType, in, out *layout.Layout) {
	if hook := s.trace.Load(); hook != nil {
		(*hook)(Event{Op: op, Verdict: v, Type: t, In: *in, Out: *out})
	}
}
