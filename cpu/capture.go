package cpu

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// task is a checked call that is ready to run, any number of times.
type task interface {
	// perform executes the call and returns the number of bytes written.
	perform(sc *scratch) (int64, error)
	// release is the last call.
	release()
}

// do executes a task and releases it, or captures it. The task uses the given memory.
func (q *queue) do(op string, t task, all ...region) error {
	if q.capture != nil {
		return q.capture.add(op, t, all...)
	}
	defer t.release()
	if err := q.hold(op, all...); err != nil {
		return err
	}
	defer q.releaseMemory(all...)
	n, err := t.perform(&q.sc)
	q.launched(n)
	return err
}

// capture is captured work, and the memory that it keeps.
type capture struct {
	tasks  []task
	names  []fmt.Stringer // of the operations that tasks are part of; nil: unknown
	memory []*memory
}

func (c *capture) add(op string, t task, all ...region) error {
	for _, m := range all {
		if m.memory == nil {
			continue
		}
		if !m.acquire() {
			t.release()
			return isFreed(op, "the buffer", m.memory)
		}
		c.memory = append(c.memory, m.memory)
	}
	c.tasks, c.names = append(c.tasks, t), append(c.names, nil)
	return nil
}

// Position returns the number of calls in the capture, if there is one.
func (q *queue) Position() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.capture == nil {
		return 0
	}
	return uint64(len(q.capture.tasks))
}

// Attribute names the operation that the captured calls after a position are part of. Other calls
// have returned their errors.
func (q *queue) Attribute(_ device.Buffer, after uint64, name fmt.Stringer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.capture == nil {
		return
	}
	for i := after; i < uint64(len(q.capture.names)); i++ {
		if q.capture.names[i] == nil {
			q.capture.names[i] = name
		}
	}
}

// end releases everything. The queue is not locked: done functions of memory's owners may need it.
func (c *capture) end() {
	for _, t := range c.tasks {
		t.release()
	}
	for _, m := range c.memory {
		m.leave()
	}
	*c = capture{}
}

// replay is a device.Replay.
type replay struct {
	q *queue
	capture
}

// Capture turns the calls of f on the queue into a device.Replay.
func (q *queue) Capture(f func() error) (r device.Replay, err error) {
	const op = "Capture"
	if f == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "the function is nil")
	}
	if err := q.begin(op); err != nil {
		return nil, err
	}
	q.capture = &capture{}
	q.end()
	err = errors.New("Capture: panic") // the error if f panics
	defer func() {
		if err != nil {
			q.endCapture()
		}
	}()
	if err = f(); err != nil {
		return nil, err
	}
	return q.captured(op)
}

// captured ends the capture, and returns what it captured.
func (q *queue) captured(op string) (device.Replay, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.capture == nil {
		return nil, layout.Errorf(device.ErrClosed, op, "the queue or its device was closed")
	}
	r := &replay{q, *q.capture}
	q.capture = nil
	if q.replays == nil {
		q.replays = map[*replay]struct{}{}
	}
	q.replays[r] = struct{}{}
	return r, nil
}

// endCapture drops the capture, if any.
func (q *queue) endCapture() {
	q.mu.Lock()
	c := q.capture
	q.capture = nil
	q.mu.Unlock()
	if c != nil {
		c.end()
	}
}

// endReplays ends all captured work and any capture in progress.
func (q *queue) endReplays() {
	q.endCapture()
	q.mu.Lock()
	all := q.replays
	q.replays = nil
	q.mu.Unlock()
	for r := range all {
		r.end()
	}
}

// Run executes all of the work, and returns its first error.
func (r *replay) Run() (first error) {
	const op = "Run"
	q := r.q
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.end()
	if _, open := q.replays[r]; !open {
		return layout.Errorf(device.ErrClosed, op, "the replay is closed")
	}
	_ = q.hold(op) // the capture holds the memory
	defer q.releaseMemory()
	for i, t := range r.tasks {
		n, err := t.perform(&q.sc)
		q.launched(n)
		if err != nil && first == nil {
			first = backend.Attributed(err, r.names[i])
		}
	}
	return first
}

// Close waits for the queue, and ends the capture's hold on the memory.
func (r *replay) Close() error {
	const op = "Close"
	q := r.q
	q.mu.Lock()
	_, open := q.replays[r]
	capturing := q.capture != nil
	if open && !capturing {
		delete(q.replays, r)
	}
	q.mu.Unlock()
	switch {
	case !open:
		return layout.Errorf(device.ErrClosed, op, "the replay is closed")
	case capturing:
		return layout.Errorf(device.ErrInvalid, op, "the queue is capturing")
	}
	r.end()
	return nil
}
