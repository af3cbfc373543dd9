package gpu

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// queueEvent is a device.Event: an event of the stream, and the number of the work
// before it. It outlives the queue.
type queueEvent struct {
	q        *timeline
	seq      uint64
	event    Event
	suspects []*outcome // outcomes that the bytes of ReadAsync depend on
}

// newEvent returns the event of the work so far. The stream's event is released when the
// queue's is garbage.
func (q *timeline) newEvent(e Event) *queueEvent {
	of := &queueEvent{q: q, seq: q.seq, event: e}
	runtime.AddCleanup(of, Event.Release, e)
	return of
}

// Record returns an event that is done when all work queued so far is.
func (q *timeline) Record() (device.Event, error) {
	if err := q.begin("Record"); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	return q.record()
}

// record queues an event, and before it the transfer of statuses to the host: waiting for the
// event is then enough to learn them.
func (q *timeline) record() (*queueEvent, error) {
	asked, _ := q.ask() // after an error, a later wait asks
	q.seq++             // others may have queued work on the stream since the last number
	e, err := q.stream.Record()
	if err != nil {
		return nil, err
	}
	of := q.newEvent(e)
	if asked {
		q.answeredBy(of)
	}
	return of, nil
}

// WaitFor makes later work of this queue wait for the event.
func (q *Queue) WaitFor(of device.Event) error {
	if err := q.begin("WaitFor"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	e, ok := of.(*queueEvent)
	if !ok || e == nil || e.q.dev != q.dev {
		return layout.Errorf(device.ErrInvalid, "WaitFor", "the event, a %T, is none of this device", of)
	}
	if e.q == &q.timeline || e.Done() {
		return nil
	}
	q.seq++
	err := q.stream.WaitFor(e.event)
	runtime.KeepAlive(e)
	return err
}

// Done reports whether the point has been reached.
func (e *queueEvent) Done() bool {
	if e.q.done.Load() >= e.seq {
		return true
	}
	if e.event.Done() {
		e.q.passed(e.seq, e.event.Wait())
	}
	runtime.KeepAlive(e)
	return e.q.done.Load() >= e.seq
}

// Wait returns when the point has been reached: for a read, with an error if its bytes are
// invalid.
func (e *queueEvent) Wait() error {
	if e.q.dev.closed.Load() && e.q.done.Load() >= e.seq {
		return waitAll(e.suspects) // Close has returned other errors
	}
	if !e.Done() {
		e.q.dev.counters.Wait()
	}
	err := e.event.Wait()
	if fault := e.q.passed(e.seq, err); fault != nil && err != nil {
		fault.told.Store(true)
	}
	runtime.KeepAlive(e)
	if err != nil {
		return err
	}
	return waitAll(e.suspects)
}

// Since returns the device time from an earlier event to this one.
func (e *queueEvent) Since(earlier device.Event) (time.Duration, error) {
	const op = "Since"
	from, ok := earlier.(*queueEvent)
	if !ok || from == nil || from.q.dev != e.q.dev {
		return 0, layout.Errorf(device.ErrInvalid, op, "the earlier event, a %T, is none of this device", earlier)
	}
	if !from.Done() || !e.Done() {
		return 0, layout.Errorf(device.ErrInvalid, op, "an event is not done")
	}
	t, err := e.event.Since(from.event)
	runtime.KeepAlive(from)
	runtime.KeepAlive(e)
	return t, err
}

// raise sets a number to at least another.
func raise(a *atomic.Uint64, to uint64) {
	for now := a.Load(); now < to && !a.CompareAndSwap(now, to); now = a.Load() {
	}
}
