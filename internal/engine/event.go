package engine

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Event marks a point in a queue. It outlives the queue.
type Event struct {
	q    *Queue
	seq  uint64
	mark Mark
}

// newEvent makes an event of a mark behind the work so far. The mark is released
// when nobody has the event any more.
func (q *Queue) newEvent(m Mark) *Event {
	e := &Event{q, q.seq, m}
	runtime.AddCleanup(e, Mark.Release, m)
	return e
}

// Record returns an event that is done when all work queued so far is.
func (q *Queue) Record() (device.Event, error) {
	if err := q.begin("Record"); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	q.seq++ // others may have queued work on the stream since the last number
	m, err := q.stream.Mark()
	if err != nil {
		return nil, err
	}
	return q.newEvent(m), nil
}

// WaitFor makes later work of this queue wait for the event.
func (q *Queue) WaitFor(of device.Event) error {
	if err := q.begin("WaitFor"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	e, ok := of.(*Event)
	if !ok || e == nil || e.q.dev != q.dev {
		return layout.Errorf(device.ErrInvalid, "WaitFor", "the event, a %T, is none of this device", of)
	}
	if e.q == q || e.Done() {
		return nil
	}
	q.seq++
	err := q.stream.WaitFor(e.mark)
	runtime.KeepAlive(e)
	return err
}

// Done reports whether the point has been reached.
func (e *Event) Done() bool {
	if e.q.done.Load() >= e.seq {
		return true
	}
	if e.mark.Done() {
		raise(&e.q.done, e.seq)
	}
	runtime.KeepAlive(e)
	return e.q.done.Load() >= e.seq
}

// Wait returns when the point has been reached.
func (e *Event) Wait() error {
	if e.q.dev.closed.Load() && e.q.done.Load() >= e.seq {
		return nil // Close has told of errors
	}
	if !e.Done() {
		e.q.dev.counters.Wait()
	}
	err := e.mark.Wait()
	raise(&e.q.done, e.seq)
	runtime.KeepAlive(e)
	return err
}

// Since returns how much device time passed between an earlier event and this
// one.
func (e *Event) Since(earlier device.Event) (time.Duration, error) {
	const op = "Since"
	from, ok := earlier.(*Event)
	if !ok || from == nil || from.q.dev != e.q.dev {
		return 0, layout.Errorf(device.ErrInvalid, op, "the earlier event, a %T, is none of this device", earlier)
	}
	if !from.Done() || !e.Done() {
		return 0, layout.Errorf(device.ErrInvalid, op, "an event is not done")
	}
	t, err := e.mark.Since(from.mark)
	runtime.KeepAlive(from)
	runtime.KeepAlive(e)
	return t, err
}

// raise makes a number as large as another.
func raise(a *atomic.Uint64, to uint64) {
	for now := a.Load(); now < to && !a.CompareAndSwap(now, to); now = a.Load() {
	}
}
