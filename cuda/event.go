package cuda

import (
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// event is a CUDA event that was recorded once. The device's Close, which waits
// for all work, destroys it.
type event struct {
	driver *driver
	handle cuEvent
}

func (s *stream) Record() (gpu.Event, error) {
	var e *event
	err := s.driver.with(func(f *frame) error {
		handle, err := s.driver.newEvent()
		if err != nil {
			return err
		}
		if err := s.driver.api.record(f, handle, s.handle); err != nil {
			s.driver.reuse(handle)
			return err
		}
		e = &event{s.driver, handle}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (s *stream) WaitFor(e gpu.Event) error {
	if err := s.driver.enter(&s.thread); err != nil {
		return err
	}
	defer s.driver.leave(&s.thread)
	of := e.(*event)
	return s.driver.checkBoth(&s.thread.frame, of.driver, s.driver.api.waitEvent(&s.thread.frame, s.handle, of.handle))
}

// newEvent returns an event that is not in use. Recording it again does not affect streams that
// already wait for it.
func (d *driver) newEvent() (cuEvent, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.idle); n > 0 {
		e := d.idle[n-1]
		d.idle = d.idle[:n-1]
		return e, nil
	}
	e, err := d.api.newEvent()
	if err == nil {
		d.events[e] = struct{}{}
	}
	return e, err
}

func (d *driver) reuse(e cuEvent) {
	d.mu.Lock()
	d.idle = append(d.idle, e)
	d.mu.Unlock()
}

// with calls f unless the device is closed. Several events may be waited for concurrently.
func (e *event) with(f func() error) error {
	e.driver.life.RLock()
	defer e.driver.life.RUnlock()
	if e.driver.closed {
		return nil
	}
	return f()
}

// Done waits for the work if the driver does not report whether it is done.
func (e *event) Done() bool {
	done := true
	_ = e.with(func() error {
		return e.driver.over(func() (err error) {
			done, err = e.query()
			return err
		}, func() error {
			done = true
			return e.await()
		})
	}) // Wait returns the error of the work
	return done
}

// Wait polls until the work is done if the driver's wait fails.
func (e *event) Wait() error {
	return e.with(func() error {
		return e.driver.over(e.await, func() error {
			for {
				if done, err := e.query(); done || err != nil {
					return err
				}
				time.Sleep(50 * time.Microsecond)
			}
		})
	})
}

func (e *event) query() (done bool, err error) {
	err = e.driver.anyway(func(f *frame) error {
		var err error
		done, err = e.driver.api.done(f, e.handle)
		return err
	})
	return done, err
}

func (e *event) await() error {
	return e.driver.anyway(func(f *frame) error { return e.driver.api.await(f, e.handle) })
}

func (e *event) Since(earlier gpu.Event) (time.Duration, error) {
	ms, open := float32(0), false
	err := e.with(func() error {
		open = true
		return e.driver.with(func(*frame) (err error) {
			ms, err = e.driver.api.elapsed(earlier.(*event).handle, e.handle)
			return err
		})
	})
	if !open {
		err = layout.Errorf(device.ErrClosed, "Since", "the device is closed, which kept the time")
	}
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

func (e *event) Release() { e.driver.reuse(e.handle) }
