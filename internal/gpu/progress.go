package gpu

import "runtime"

// How a queue learns up to where it is done, beside Wait and Read: from a probe,
// a mark that is looked at now and then.

// probe is a mark behind the work up to a number; nil: there is none.
type probe struct {
	event Event
	seq   uint64
}

// want says that somebody is waiting for work to be done.
func (q *Queue) want(seq uint64) { raise(&q.wanted, seq) }

// poke looks how far the queue is. It does not wait, not even for the queue's
// lock: who holds it will see to what is done.
func (q *Queue) poll() {
	if q.done.Load() >= q.wanted.Load() || !q.mu.TryLock() {
		return
	}
	defer q.mu.Unlock()
	if q.closed || q.capture != nil {
		return
	}
	if q.probe.event != nil {
		if !q.probe.event.Done() {
			return
		}
		q.reached(q.probe.seq)
	}
	if q.done.Load() >= q.wanted.Load() {
		return
	}
	if event, err := q.stream.Record(); err == nil {
		q.probe = probe{event, q.seq}
	}
}

// catchUp waits for the work that somebody waits for.
func (q *Queue) catchUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && q.done.Load() < q.wanted.Load() {
		q.drain(q.seq)
	}
}

// reached notes that work up to a number is done, and lets go of what it used.
// The queue is locked.
func (q *Queue) reached(seq uint64) {
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

// pin keeps host memory in its place until work up to a number is done.
type pin struct {
	seq    uint64
	pinner *runtime.Pinner
}
