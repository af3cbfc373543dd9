package opencl

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// event marks a point in a queue. It outlives the queue.
type event struct {
	q   *Queue
	seq uint64
	*mark
}

// mark is an event's part of the driver. The cl_event is given back as soon as
// it is seen to be done, or when nobody has the event any more.
type mark struct {
	mu    sync.Mutex
	event uintptr // 0: done
	err   error   // of the work
	end   uint64  // when it was done, in the device's nanoseconds
	timed error   // why there is none
}

// newEvent makes an event of a cl_event behind the work so far.
func (q *Queue) newEvent(handle uintptr) *event {
	e := &event{q, q.seq, &mark{event: handle}}
	runtime.AddCleanup(e, (*mark).release, e.mark)
	return e
}

// Record returns an event that is done when all work queued so far is.
func (q *Queue) Record() (device.Event, error) {
	if err := q.begin("Record"); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	handle, err := q.marker()
	if err != nil {
		return nil, err
	}
	return q.newEvent(handle), nil
}

// WaitFor makes later work of this queue wait for the event.
func (q *Queue) WaitFor(of device.Event) error {
	if err := q.begin("WaitFor"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	e, ok := of.(*event)
	if !ok || e == nil || e.q.dev != q.dev {
		return layout.Errorf(device.ErrInvalid, "WaitFor", "the event, a %T, is none of this device", of)
	}
	if e.q == q || e.Done() {
		return nil
	}
	handle := e.retain()
	if handle == 0 {
		return nil
	}
	q.seq++
	err := clEnqueueBarrierWithWaitList.call(q.handle, 1, uintptr(unsafe.Pointer(&handle)), 0)
	_ = clReleaseEvent.call(handle)
	return err
}

// Done reports whether the point has been reached.
func (e *event) Done() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.event == 0 {
		return true
	}
	if e.q.done.Load() < e.seq && status(e.event) > 0 {
		return false
	}
	e.settle()
	return true
}

// Wait returns when the point has been reached.
func (e *event) Wait() error {
	if handle := e.retain(); handle != 0 {
		// Without the lock: others may look whether it is done.
		_ = clWaitForEvents.call(1, uintptr(unsafe.Pointer(&handle)))
		e.mu.Lock()
		if e.event != 0 {
			e.settle()
		}
		e.mu.Unlock()
		_ = clReleaseEvent.call(handle)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// retain returns the cl_event for the caller to release, 0 if it is done.
func (m *mark) retain() uintptr {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.event != 0 {
		_ = clRetainEvent.call(m.event)
	}
	return m.event
}

// settle takes from the cl_event, which is done, what it has to say. The event
// is locked.
func (e *event) settle() {
	handle := e.event
	if err := clWaitForEvents.call(1, uintptr(unsafe.Pointer(&handle))); err != nil {
		e.err = err
		if code := status(handle); code < -1 { // what the work failed of
			e.err = clWaitForEvents.check(code)
		}
	}
	raise(&e.q.done, e.seq)
	e.end, e.timed = clGetEventProfilingInfo.number(handle, profilingCommandEnd)
	e.event = 0
	_ = clReleaseEvent.call(handle)
}

func (m *mark) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.event != 0 {
		_ = clReleaseEvent.call(m.event)
		m.event = 0
	}
}

// Since returns how much device time passed between an earlier event and this
// one.
func (e *event) Since(earlier device.Event) (time.Duration, error) {
	const op = "Since"
	from, ok := earlier.(*event)
	if !ok || from == nil || from.q.dev != e.q.dev {
		return 0, layout.Errorf(device.ErrInvalid, op, "the earlier event, a %T, is none of this device", earlier)
	}
	if !from.Done() || !e.Done() {
		return 0, layout.Errorf(device.ErrInvalid, op, "an event is not done")
	}
	if !e.q.dev.proc.profiling {
		return 0, layout.Errorf(device.ErrUnsupported, op, "%s keeps no time", e.q.dev.proc.info.ID())
	}
	begin, err := from.time()
	if err != nil {
		return 0, err
	}
	end, err := e.time()
	if err != nil {
		return 0, err
	}
	return time.Duration(end - begin), nil
}

// time returns when the event, which is done, was.
func (m *mark) time() (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return 0, m.err
	}
	if m.timed != nil {
		return 0, layout.Errorf(device.ErrUnsupported, "Since", "the driver keeps no time: %v", m.timed)
	}
	return m.end, nil
}

// raise makes a number as large as another.
func raise(a *atomic.Uint64, to uint64) {
	for now := a.Load(); now < to && !a.CompareAndSwap(now, to); now = a.Load() {
	}
}
