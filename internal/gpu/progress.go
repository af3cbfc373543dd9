package gpu

import "runtime"

// probe is an event after the work up to a number, by which a queue learns its progress without
// a wait; nil: there is none.
type probe struct {
	event Event
	seq   uint64
}

// want records that the end of work up to a number is of interest.
func (q *timeline) want(seq uint64) { raise(&q.wanted, seq) }

// poll checks the queue's progress, by a probe. It does not wait, even for the queue's lock: a
// later call will poll.
func (q *timeline) poll() {
	if q.done.Load() >= q.wanted.Load() || !q.mu.TryLock() {
		return
	}
	defer q.mu.Unlock()
	if q.closed || q.capture != nil || q.lentOut() {
		return
	}
	if q.probe.event != nil {
		if !q.probe.event.Done() {
			return
		}
		q.passed(q.probe.seq, q.probe.event.Wait())
		q.reached(q.probe.seq)
	}
	if q.done.Load() >= q.wanted.Load() {
		return
	}
	if event, err := q.stream.Record(); err == nil {
		q.probe = probe{event, q.seq}
	}
}

// catchUp waits for the work that is of interest.
func (q *timeline) catchUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && q.done.Load() < q.wanted.Load() {
		q.drain(q.seq)
	}
}

// reached records that work up to a number is done, and releases its resources. The queue is
// locked.
func (q *timeline) reached(seq uint64) {
	raise(&q.done, seq)
	done := q.done.Load()
	if q.probe.event != nil && q.probe.seq <= done {
		q.probe.event.Release()
		q.probe.event = nil
	}
	for len(q.pins) > 0 && q.pins[0].seq <= done {
		q.pins[0].pinner.Unpin()
		q.pins[0] = pin{}
		q.pins = q.pins[1:]
	}
}

// pin keeps host memory from moving until work up to a number is done.
type pin struct {
	seq    uint64
	pinner *runtime.Pinner
}
