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

// event is a cl_event, which is released as soon as it is known to be done and nobody uses
// it any more, or by Release.
type event struct {
	driver   *driver
	stream   *failure // of the stream
	hasClock bool     // the device keeps time

	mu     sync.Mutex
	handle uintptr // of the cl_event; 0: released
	users  int     // calls that have the handle
	done   bool
	err    *error // of the work
	end    uint64 // when it was done, in nanoseconds of the device
	timed  error  // why there is no time
}

// failure is the error of a stream's work that an event told of, and no call has returned.
type failure struct{ err atomic.Pointer[error] }

// take returns the error, and forgets it.
func (f *failure) take() error {
	if err := f.err.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// errNoClock is the reason why there is no time although an adopted queue keeps it: see
// hasClock.
var errNoClock = errors.New("its clock does not run")

// status is the state of a cl_event: positive until it is done, negative if its work failed.
func status(event uintptr) (s int32, err error) {
	err = clGetEventInfo.call(event, eventCommandExecutionStatus, unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s)), 0)
	return s, err
}

// Done waits for the work if the driver does not say whether it is done.
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

// failed returns the error of the work, as far as it is known.
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

// drop ends hold.
func (e *event) drop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.users--; e.users == 0 && e.done {
		e.release()
	}
}

// release releases the cl_event, of which nothing is asked any more. The event is locked.
func (e *event) release() {
	_ = clReleaseEvent.call(e.handle) // all that it was for is known
	e.handle = 0
}

// settle waits for the work, without the lock, so that others may call Done, and notes its
// error, which a state below 0 is, and when it was over.
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

// over returns when the work before a cl_event is over, with its error. A driver that does
// not wait is asked until it says so.
func (d *driver) over(event uintptr) error {
	err := clWaitForEvents.call(1, uintptr(unsafe.Pointer(&event)))
	for {
		s, asked := status(event)
		switch {
		case asked != nil && err != nil:
			d.lose(err, asked)
			return err
		case asked != nil: // whether the work failed is not known
			return asked
		case s < 0: // the code of the work that failed
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
	e.done = true // the last of those who use it releases it
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
