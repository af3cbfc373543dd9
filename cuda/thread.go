package cuda

import (
	"runtime"
	"sync"
)

// threadContext is an OS thread during a call: the call's frame, and the context
// that was current before.
type threadContext struct {
	frame
	before cuContext
	mode   int32 // its capture mode before relax; -1: relax was not called
}

// enter makes the device's context current on the OS thread, to which the goroutine is bound
// until leave. leave restores the previous context; if there was none, the device's stays,
// which makes the next call cheaper. If the context is lost, it returns that error.
func (d *driver) enter(t *threadContext) error {
	if err := d.gone(); err != nil {
		return err
	}
	return d.bind(t)
}

// bind is enter for calls that wait or free, which are made even if the context is lost.
func (d *driver) bind(t *threadContext) error {
	runtime.LockOSThread()
	t.mode = -1
	var err error
	if t.before, err = d.api.current(&t.frame); err == nil && t.before != d.ctx {
		err = d.api.setCurrent(&t.frame, d.ctx)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return d.check(err)
	}
	return nil
}

// relax, after enter, is for calls that may wait or allocate, which captures by any thread
// forbid. Without it they fail, and end such a capture.
func (d *driver) relax(t *threadContext) error {
	before, err := d.api.captureMode(&t.frame, relaxed)
	if err == nil {
		t.mode = before
	}
	return d.check(err)
}

// leave ends an enter that returned no error.
func (d *driver) leave(t *threadContext) {
	if t.mode >= 0 {
		_, err := d.api.captureMode(&t.frame, t.mode)
		_ = d.check(err) // the call has succeeded, or has an error of its own
	}
	if t.before != d.ctx && t.before != 0 {
		_ = d.api.setCurrent(&t.frame, t.before) // fails if that context has ended or is lost: then it is not needed
	}
	runtime.UnlockOSThread()
}

var threadContexts = sync.Pool{New: func() any { return new(threadContext) }}

// with calls f with the device's context current, relaxed.
func (d *driver) with(f func(*frame) error) error {
	if err := d.gone(); err != nil {
		return err
	}
	return d.anyway(f)
}

// anyway is with, even if the context is lost.
func (d *driver) anyway(f func(*frame) error) error {
	t := threadContexts.Get().(*threadContext)
	defer threadContexts.Put(t)
	if err := d.bind(t); err != nil {
		return err
	}
	defer d.leave(t)
	if err := d.relax(t); err != nil {
		return err
	}
	return d.check(f(&t.frame))
}
