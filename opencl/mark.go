package opencl

import (
	"errors"
	"sync"
	"time"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
	"github.com/restride/restride/layout"
)

// mark is a cl_event, which is given back as soon as it is seen to be done, or
// when nobody has the mark any more.
type mark struct {
	clock bool // the device keeps time

	mu    sync.Mutex
	event uintptr // 0: done
	err   error   // of the work
	end   uint64  // when it was done, in the device's nanoseconds
	timed error   // why there is none
}

// errNoClock: a queue that was adopted may keep the time of a clock that stands
// still.
var errNoClock = errors.New("its clock does not run")

// status is how far an event is: above 0 it is yet to be done, below 0 its work
// has failed, and so has the question.
func status(event uintptr) int32 {
	var s int32
	if err := clGetEventInfo.call(event, eventCommandExecutionStatus, unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s)), 0); err != nil {
		return -1
	}
	return s
}

func (m *mark) Done() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.event != 0 {
		if status(m.event) > 0 {
			return false
		}
		m.settle()
	}
	return true
}

func (m *mark) Wait() error {
	if event := m.retain(); event != 0 {
		// Without the lock: others may look whether it is done.
		_ = clWaitForEvents.call(1, uintptr(unsafe.Pointer(&event)))
		m.mu.Lock()
		if m.event != 0 {
			m.settle()
		}
		m.mu.Unlock()
		_ = clReleaseEvent.call(event)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
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

// settle takes from the cl_event, which is done, what it has to say. The mark is
// locked.
func (m *mark) settle() {
	event := m.event
	if err := clWaitForEvents.call(1, uintptr(unsafe.Pointer(&event))); err != nil {
		m.err = err
		if code := status(event); code < -1 { // what the work failed of
			m.err = clWaitForEvents.check(code)
		}
	}
	if m.timed = errNoClock; m.clock {
		m.end, m.timed = clGetEventProfilingInfo.number(event, profilingCommandEnd)
	}
	m.event = 0
	_ = clReleaseEvent.call(event)
}

func (m *mark) Release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.event != 0 {
		_ = clReleaseEvent.call(m.event)
		m.event = 0
	}
}

func (m *mark) Since(earlier engine.Mark) (time.Duration, error) {
	begin, err := earlier.(*mark).time()
	if err != nil {
		return 0, err
	}
	end, err := m.time()
	if err != nil {
		return 0, err
	}
	return time.Duration(end - begin), nil
}

// time returns when the mark, which is done, was.
func (m *mark) time() (uint64, error) {
	if err := m.Wait(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timed != nil {
		return 0, layout.Errorf(device.ErrUnsupported, "Since", "the driver keeps no time: %v", m.timed)
	}
	return m.end, nil
}
