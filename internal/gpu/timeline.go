package gpu

import (
	"cmp"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// timeline is the numbered work of a queue's stream: what is queued, what is done, and the
// outcomes that the host does not know yet.
type timeline struct {
	dev    *Device
	stream Stream
	number uint64 // among all queues

	done   atomic.Uint64 // all work up to this number is known to be done
	wanted atomic.Uint64 // frees are deferred until this number

	mu       sync.Mutex // calls come one at a time
	closed   bool
	seq      uint64 // the number of the last piece of work
	probe    probe
	statuses statuses
	records  records
	pins     []pin
	capture  *capture // nil: work is run, not captured
	replays  map[*replay]struct{}
	borrowed Borrowed // nil: the stream is nobody else's
}

// Stream returns the queue's stream.
func (q *timeline) Stream() Stream { return q.stream }

// begin locks the queue for a call, unless there is an error.
func (q *timeline) begin(op string) error {
	q.mu.Lock()
	if q.closed || q.dev.closed.Load() {
		q.mu.Unlock()
		return layout.Errorf(device.ErrClosed, op, "the queue or its device is closed")
	}
	if q.lentOut() {
		q.mu.Unlock()
		return lentOutError(op)
	}
	if q.capture != nil {
		_, others := q.stream.(OthersCapturer)
		if err := backend.CheckCaptured(op); err != nil && !(others && op == "MarkUsed") {
			q.mu.Unlock()
			return err
		}
	}
	return nil
}

// lentOut reports whether the stream's owner is capturing it.
func (q *timeline) lentOut() bool {
	return q.borrowed != nil && !q.closed && q.capture == nil && q.borrowed.Captured()
}

func lentOutError(op string) error {
	return layout.Errorf(device.ErrInvalid, op, "the owner of the queue's stream is capturing it: nobody could tell how long buffers have to live that are part of that")
}

// finish waits for all work, and returns the first error that has not been returned.
func (q *timeline) finish() error {
	_, err := q.drain(q.seq)
	return cmp.Or(q.firstUntold(), err)
}

// waitForWork waits for all work. It returns an error of the device, which cannot be
// attributed; errors of takes and puts go to those that depend on them.
func (q *timeline) waitForWork() error {
	if fault, _ := q.drain(q.seq); fault != nil {
		return fault.tell()
	}
	return nil
}

// drain waits for all queued work, after which work up to a number is done: not the last piece,
// if it is not yet queued completely. The error says why the outcomes of takes and puts are not
// known.
func (q *timeline) drain(seq uint64) (fault *outcome, notAsked error) {
	if q.capture != nil || q.lentOut() {
		return nil, nil // a capture must not be waited for, and none of it runs
	}
	q.dev.counters.Wait()
	q.closeFaults(seq)
	_, notAsked = q.ask()
	err := q.stream.Finish()
	q.records.mu.Lock()
	if err != nil {
		fault = q.faulted(seq, err)
		q.askAgain(err)
	} else {
		q.look()
	}
	q.records.mu.Unlock()
	q.reached(seq) // also after an error: failed work does not continue
	return fault, notAsked
}
