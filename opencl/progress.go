package opencl

import (
	"runtime"
	"unsafe"
)

// How a queue learns up to where it is done, beside Wait and Read: from a probe,
// a marker that is looked at now and then.

// probe is a marker behind the work up to a number; event 0: there is none.
type probe struct {
	event uintptr
	seq   uint64
}

// want says that somebody is waiting for work to be done.
func (q *Queue) want(seq uint64) { raise(&q.wanted, seq) }

// poke looks how far the queue is. It does not wait, not even for the queue's
// lock: who holds it will see to what is done.
func (q *Queue) poke() {
	if q.done.Load() >= q.wanted.Load() || !q.mu.TryLock() {
		return
	}
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if q.probe.event != 0 {
		if status(q.probe.event) > 0 {
			return
		}
		q.reached(q.probe.seq)
	}
	if q.done.Load() >= q.wanted.Load() {
		return
	}
	if event, err := q.marker(); err == nil {
		q.probe = probe{event, q.seq}
	}
}

// catchUp waits for the work that somebody waits for.
func (q *Queue) catchUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed && q.done.Load() < q.wanted.Load() {
		_ = q.finish()
	}
}

// status is how far an event is: above 0 it is yet to be done, below 0 its work
// has failed, and so has the question.
func status(event uintptr) int32 {
	var s int32
	if err := clGetEventInfo.call(event, eventCommandExecutionStatus, unsafe.Sizeof(s), uintptr(unsafe.Pointer(&s)), 0); err != nil {
		return -1
	}
	return s
}

// marker queues an event behind all work so far, and sends it on its way.
func (q *Queue) marker() (uintptr, error) {
	var event uintptr
	if err := clEnqueueMarkerWithWaitList.call(q.handle, 0, 0, uintptr(unsafe.Pointer(&event))); err != nil {
		return 0, err
	}
	if err := clFlush.call(q.handle); err != nil {
		_ = clReleaseEvent.call(event)
		return 0, err
	}
	return event, nil
}

// reached notes that work up to a number is done, and lets go of what it used.
// The queue is locked.
func (q *Queue) reached(seq uint64) {
	raise(&q.done, seq)
	done := q.done.Load()
	if q.probe.event != 0 && q.probe.seq <= done {
		_ = clReleaseEvent.call(q.probe.event)
		q.probe.event = 0
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
