package opencl

import (
	"errors"
	"sync"
	"time"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// event is a cl_event, which is released as soon as it is known to be done, or by
// Release.
type event struct {
	hasClock bool // the device keeps time

	mu     sync.Mutex
	handle uintptr // of the cl_event; 0: done
	err    error   // of the work
	end    uint64  // when it was done, in nanoseconds of the device
	timed  error   // why there is no time
}

// errNoClock is the reason why there is no time although an adopted queue keeps it: see
// hasClock.
var errNoClock = errors.New("its clock does not run")

// status is the state of a cl_event: positive until it is done, negative if its work, or
// the question, failed.
func status(event uintptr) int32 {
	var s int32
	if err := clGetEventInfo.call(event, eventCommandExecutionStatus, unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s)), 0); err != nil {
		return -1
	}
	return s
}

func (e *event) Done() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handle != 0 {
		if status(e.handle) > 0 {
			return false
		}
		e.settle()
	}
	return true
}

func (e *event) Wait() error {
	if event := e.retain(); event != 0 {
		// Without the lock, so that others may call Done.
		_ = clWaitForEvents.call(1, uintptr(unsafe.Pointer(&event)))
		e.mu.Lock()
		if e.handle != 0 {
			e.settle()
		}
		e.mu.Unlock()
		_ = clReleaseEvent.call(event)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// retain returns the cl_event for the caller to release; 0: it is done.
func (e *event) retain() uintptr {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handle != 0 {
		_ = clRetainEvent.call(e.handle)
	}
	return e.handle
}

// settle takes error and time from the cl_event, which is done, and releases it. The
// event is locked.
func (e *event) settle() {
	event := e.handle
	if err := clWaitForEvents.call(1, uintptr(unsafe.Pointer(&event))); err != nil {
		e.err = err
		if code := status(event); code < -1 { // the code of the work that failed
			e.err = clWaitForEvents.check(code)
		}
	}
	if e.timed = errNoClock; e.hasClock {
		e.end, e.timed = clGetEventProfilingInfo.number(event, profilingCommandEnd)
	}
	e.handle = 0
	_ = clReleaseEvent.call(event)
}

func (e *event) Release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handle != 0 {
		_ = clReleaseEvent.call(e.handle)
		e.handle = 0
	}
}

func (e *event) Since(earlier gpu.Event) (time.Duration, error) {
	begin, err := earlier.(*event).time()
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
func (e *event) time() (uint64, error) {
	if err := e.Wait(); err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timed != nil {
		return 0, layout.Errorf(device.ErrUnsupported, "Since", "the driver keeps no time: %v", e.timed)
	}
	return e.end, nil
}
