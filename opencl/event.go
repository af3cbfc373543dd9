package opencl

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// event is a cl_event, which is released as soon as it is known to be done and no call uses it,
// or by Release.
type event struct {
	driver   *driver
	stream   *failure // of the stream
	hasClock bool     // the device measures time

	mu     sync.Mutex
	handle uintptr // of the cl_event; 0: released
	users  int     // calls that have the handle
	done   bool
	err    *error // of the work
	end    uint64 // completion time, in nanoseconds of the device
	timed  error  // why no time is known
}

// failure is the error of a stream's work that an event reported, and no call has returned.
type failure struct{ err atomic.Pointer[error] }

// take returns the error, and clears it.
func (f *failure) take() error {
	if err := f.err.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// errNoClock is the reason why times are unknown although an adopted queue measures them: see
// hasClock.
var errNoClock = errors.New("its clock does not run")

// status is the state of a cl_event: positive until it is done, negative if its work failed.
func status(event uintptr) (s int32, err error) {
	err = clGetEventInfo.call(event, eventCommandExecutionStatus, unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s)), 0)
	return s, err
}

// Done waits for the work if the driver does not report whether it is done.
func (e *event) Done() bool {
	event := e.hold()
	if event == 0 {
		return true
	}
	s, err := status(event)
	done := s <= 0 || err != nil
	if done {
		e.settle(event, s)
	}
	e.drop()
	return done
}

func (e *event) Wait() error {
	if event := e.hold(); event != 0 {
		e.settle(event, 0)
		e.drop()
	}
	if err := e.driver.gone(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		return nil
	}
	e.stream.err.CompareAndSwap(e.err, nil) // it is returned here
	return *e.err
}

// failed returns the error of the work, if known.
func (e *event) failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		return nil
	}
	return *e.err
}

// hold returns the cl_event, which stays until drop; 0: it is done.
func (e *event) hold() uintptr {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done || e.handle == 0 {
		return 0
	}
	e.users++
	return e.handle
}

// drop is the end of hold.
func (e *event) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users--; e.users == 0 && e.done {
		e.release()
	}
}

// release releases the cl_event, which is no longer queried. The event is locked.
func (e *event) release() {
	_ = clReleaseEvent.call(e.handle) // everything about it is known
	e.handle = 0
}

// settle waits for the work, without the lock, so that others may call Done, and records its
// error, a state below 0, and its completion time.
func (e *event) settle(event uintptr, state int32) {
	err := e.driver.over(event)
	if err == nil {
		err = clWaitForEvents.check(state)
	}
	end, timed := uint64(0), errNoClock
	if e.hasClock {
		end, timed = clGetEventProfilingInfo.number(event, profilingCommandEnd)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done {
		return
	}
	e.done, e.end, e.timed = true, end, timed
	if err != nil {
		e.err = &err
		e.stream.err.CompareAndSwap(nil, e.err)
	}
}

// over returns when the work before a cl_event is over, with its error. A driver whose wait
// fails is polled.
func (d *driver) over(event uintptr) error {
	err := clWaitForEvents.call(1, uintptr(unsafe.Pointer(&event)))
	for {
		s, asked := status(event)
		switch {
		case asked != nil && err != nil:
			d.lose(err, asked)
			return err
		case asked != nil: // it is unknown whether the work failed
			return asked
		case s < 0: // the code of the failed work
			return clWaitForEvents.check(s)
		case s == 0:
			return err
		}
		time.Sleep(50 * time.Microsecond)
	}
}

func (e *event) Release() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handle != 0 && e.users == 0 {
		e.release()
	}
	e.done = true // its last user releases it
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

// time returns the completion time of the event, which is done.
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
