package opencl

import (
	"unsafe"
)

// ring is host memory that Write copies to, so that it need not wait for the
// device: a few slots, which are filled one after the other. A slot is used
// again when the device has read it.
type ring struct {
	slots [4]slot
	at    int
}

type slot struct {
	mem   []byte
	host  *hostBlock
	used  int
	seq   uint64  // the last work that reads it
	event uintptr // of the transfer that filled it up
}

const (
	slotSize = 1 << 20
	// directWrite is the size from which Write does without staging where device
	// memory is the host's, and waits instead: there is no bus to hide, and the
	// second copy costs as much as the first. (PoCL, 4 MiB: 0.32 ms against 0.62.)
	directWrite = 256 << 10
)

// stage queues a write of bytes that may be changed at once.
func (q *Queue) stage(b *block, off int64, src []byte) error {
	for len(src) > 0 {
		s, err := q.slot()
		if err != nil {
			return err
		}
		n := copy(s.mem[s.used:], src)
		part := s.mem[s.used : s.used+n]
		s.used = (s.used + n + 63) &^ 63
		s.seq = q.seq
		var event *uintptr
		if s.used >= len(s.mem) {
			event = &s.event
		}
		if err := q.transfer(clEnqueueWriteBuffer, b, 0, off, part, event); err != nil {
			return err
		}
		src, off = src[n:], off+int64(n)
	}
	return nil
}

// slot returns a slot that has room.
func (q *Queue) slot() (*slot, error) {
	s := &q.ring.slots[q.ring.at]
	if s.used >= slotSize {
		q.ring.at = (q.ring.at + 1) % len(q.ring.slots)
		s = &q.ring.slots[q.ring.at]
	}
	if s.used > 0 && q.done.Load() >= s.seq {
		s.reset()
	}
	if s.used >= slotSize { // the device has yet to read it
		var err error
		if s.event != 0 {
			err = clWaitForEvents.call(1, uintptr(unsafe.Pointer(&s.event)))
		} else {
			err = q.finish()
		}
		s.reset()
		if err != nil {
			return nil, err
		}
	}
	if s.mem == nil {
		s.mem, s.host = q.dev.stagingMemory(slotSize)
	}
	return s, nil
}

func (s *slot) reset() {
	s.used = 0
	if s.event != 0 {
		_ = clReleaseEvent.call(s.event)
		s.event = 0
	}
}

// release gives the slots back.
func (r *ring) release(d *Device) {
	for i := range r.slots {
		r.slots[i].reset()
		if h := r.slots[i].host; h != nil {
			_ = h.free(d)
		}
	}
	*r = ring{}
}

// stagingMemory returns memory that the driver transfers fast, if it has any.
func (d *Device) stagingMemory(size int64) ([]byte, *hostBlock) {
	if !d.proc.onHost {
		if h, err := d.newHostBlock(size); err == nil {
			return h.bytes(), h
		}
	}
	return make([]byte, size), nil
}
