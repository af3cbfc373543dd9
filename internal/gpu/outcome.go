package gpu

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// outcome is the result of a piece of work, which the host learns late: an index out of range,
// or a fault of the device. Buffers refer to the outcomes that their contents depend on (see
// mark).
type outcome struct {
	q     *timeline
	state atomic.Uint32
	told  atomic.Bool // a call has returned err
	err   error       // of a failed outcome; written before state

	// Of a take or put: the buffer that it wrote, its number, and the name of the operation
	// that it is part of, which Attribute sets.
	dst  *Buffer
	seq  uint64
	name atomic.Pointer[fmt.Stringer]

	// For a take or put, guarded by the queue's records:
	page  *page
	at    int64       // the offset in host memory of the page where its status
	asked uint64      // arrives with work up to this number; 0: not queued yet
	after *queueEvent // an event after that, if any
}

// The states of an outcome.
const (
	unknown uint32 = iota
	good
	failed
)

// records are the outcomes of a queue's work. Calls of other queues whose work depends on it
// read them, too: therefore they have a lock of their own, which comes after all others except
// the driver's.
type records struct {
	mu     sync.Mutex
	faults []fault
	untold []*outcome // failed outcomes, for Wait to return
}

// fault is a range of work that may have failed with the device: the numbers in (after, upTo].
type fault struct {
	after, upTo uint64
	*outcome
}

// open is the upTo of a fault that may still reach queued work.
const open = math.MaxUint64

// mostUntold bounds the errors that are kept for a Wait that may never come.
const mostUntold = 64

// fail ends an outcome with an error. The records are locked.
func (o *outcome) fail(err error) {
	o.err = err
	o.state.Store(failed)
	r := &o.q.records
	left := r.untold[:0]
	for _, u := range r.untold {
		if !u.told.Load() {
			left = append(left, u)
		}
	}
	clear(r.untold[len(left):])
	if r.untold = left; len(left) < mostUntold {
		r.untold = append(left, o)
	}
}

// failure returns the outcome of work with an error that a call returns.
func (q *timeline) failure(err error) *outcome {
	o := &outcome{q: q, err: err}
	o.told.Store(true)
	o.state.Store(failed)
	return o
}

// tell returns the error of an outcome that failed.
func (o *outcome) tell() error {
	o.told.Store(true)
	return o.named()
}

// named returns the error of an outcome that failed, with the operation's name.
func (o *outcome) named() error {
	name := o.name.Load()
	if name == nil {
		return o.err
	}
	return backend.Attributed(o.err, *name)
}

// Position returns the number of the work queued last.
func (q *Queue) Position() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seq
}

// Attribute names the operation that takes and puts into a buffer are part of, those that were
// queued after a position and have no name yet.
func (q *Queue) Attribute(b device.Buffer, after uint64, name fmt.Stringer) {
	dst, ok := b.(*Buffer)
	if !ok {
		return
	}
	q.mu.Lock()
	if q.capture != nil {
		q.capture.attribute(dst, after, name)
	}
	q.mu.Unlock()
	if !dst.marked.Load() {
		return
	}
	dst.mu.Lock()
	defer dst.mu.Unlock()
	for _, m := range dst.marks {
		if m.q == &q.timeline && m.dst == dst && m.seq > after {
			m.name.CompareAndSwap(nil, &name)
		}
	}
}

// known reports whether the outcome is known, if necessary by reading the status. It does not
// wait.
func (o *outcome) known() bool {
	if o.state.Load() != unknown {
		return true
	}
	r := &o.q.records
	r.mu.Lock()
	asked, after := o.asked, o.after
	r.mu.Unlock()
	if asked == 0 || o.q.done.Load() < asked && (after == nil || !after.Done()) {
		return o.state.Load() != unknown
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o.look(o.q.done.Load())
	return o.state.Load() != unknown
}

// look reads the status, if it has arrived with the work up to a number. The records are
// locked.
func (o *outcome) look(upTo uint64) {
	if o.state.Load() == unknown && o.asked > 0 && o.asked <= upTo && o.q.faultAt(o.asked) == nil {
		o.end(o.page.read(o))
	}
}

// end records the outcome of a take or put. The records are locked.
func (o *outcome) end(err error) {
	o.page.known++
	if err == nil {
		o.state.Store(good)
		return
	}
	o.page.dirty = true
	o.fail(err)
}

// wait returns the outcome's error, and waits for its queue if the outcome is unknown. The
// caller holds no queue's lock.
func (o *outcome) wait() error {
	var fault *outcome
	var asked error
	if !o.known() {
		o.q.mu.Lock()
		if !o.q.closed {
			fault, asked = o.q.drain(o.q.seq)
		}
		o.q.mu.Unlock()
	}
	switch {
	case o.known() && o.state.Load() == good:
		return nil
	case o.state.Load() == failed:
		return o.tell()
	case fault != nil:
		return fault.tell()
	case asked != nil:
		return asked
	}
	return layout.Errorf(device.ErrInvalid, "", "whether its indices are in range is not known while a queue is captured")
}

// waitAll returns the first error of some outcomes.
func waitAll(all []*outcome) error {
	for _, o := range all {
		if err := o.wait(); err != nil {
			return err
		}
	}
	return nil
}

// anyFailed returns the error of an outcome that is known to have failed.
func anyFailed(all []*outcome) error {
	for _, o := range all {
		if o.known() && o.state.Load() == failed {
			return o.tell()
		}
	}
	return nil
}

// faulted records that work up to a number, unless known to be done, may have failed. The
// records are locked.
func (q *timeline) faulted(upTo uint64, err error) *outcome {
	o := &outcome{q: q}
	o.fail(err)
	q.records.faults = append(q.records.faults, fault{q.done.Load(), upTo, o})
	q.dev.faulted.Store(true)
	return o
}

// passed records that a point of the stream was reached, with the error of an event there, and
// returns the fault of the work before it, if any. Work after the point may have used the
// results: it is as suspect, until a wait for all of it.
func (q *timeline) passed(seq uint64, err error) *outcome {
	q.records.mu.Lock()
	defer q.records.mu.Unlock()
	if err != nil && q.done.Load() < seq {
		q.faulted(open, err)
	}
	raise(&q.done, seq)
	return q.faultAt(seq)
}

// fault returns the fault that may have hit the work, if there was one.
func (u use) fault() *outcome {
	if u.q == nil || !u.q.dev.faulted.Load() {
		return nil
	}
	u.q.records.mu.Lock()
	defer u.q.records.mu.Unlock()
	return u.q.faultAt(u.seq)
}

// faultAt is fault, with the records locked.
func (q *timeline) faultAt(seq uint64) *outcome {
	for _, f := range q.records.faults {
		if f.after < seq && seq <= f.upTo {
			return f.outcome
		}
	}
	return nil
}

// firstUntold returns the first error that no call has returned, and drops the others: readers
// of the bytes that they affect still get them.
func (q *timeline) firstUntold() (err error) {
	q.records.mu.Lock()
	defer q.records.mu.Unlock()
	for _, o := range q.records.untold {
		if !o.told.Swap(true) && err == nil {
			err = o.named()
		}
	}
	clear(q.records.untold)
	q.records.untold = q.records.untold[:0]
	return err
}

// closeFaults limits faults reported by an event to the work queued so far: a wait for it
// reports others. The queue is locked.
func (q *timeline) closeFaults(seq uint64) {
	if !q.dev.faulted.Load() {
		return
	}
	q.records.mu.Lock()
	defer q.records.mu.Unlock()
	for i := range q.records.faults {
		if f := &q.records.faults[i]; f.upTo == open {
			f.upTo = seq
			q.askAgain(f.err)
		}
	}
}
