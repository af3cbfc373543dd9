package gpu

// ring is host memory to which Write copies, so that it need not wait for the device: a few
// slots, filled in turn. A slot is reused when the device has read it.
type ring struct {
	slots [4]slot
	at    int
}

type slot struct {
	mem    []byte
	pinned bool // mem is from AllocHost
	used   int
	seq    uint64 // the last work that reads it
	full   Event  // behind the last transfer of a full slot
}

const slotSize = 1 << 20

// stage queues a write of a copy of src.
func (r *ring) stage(q *timeline, b *block, off int64, src []byte) error {
	for len(src) > 0 {
		s, err := r.slot(q)
		if err != nil {
			return err
		}
		n := copy(s.mem[s.used:], src)
		part := s.mem[s.used : s.used+n]
		s.used = (s.used + n + 63) &^ 63
		s.seq = q.seq
		if err := q.upload(b, off, part); err != nil {
			return err
		}
		if s.used >= len(s.mem) {
			if s.full, err = q.stream.Record(); err != nil {
				return err
			}
		}
		src, off = src[n:], off+int64(n)
	}
	return nil
}

// slot returns a slot that has room, and waits for one if none has.
func (r *ring) slot(q *timeline) (*slot, error) {
	s := &r.slots[r.at]
	if s.used >= slotSize {
		r.at = (r.at + 1) % len(r.slots)
		s = &r.slots[r.at]
	}
	if s.used > 0 && q.done.Load() >= s.seq {
		s.reset()
	}
	if s.used >= slotSize { // the device has not read it yet
		err := s.empty(q)
		s.reset()
		if err != nil {
			return nil, err
		}
	}
	if s.mem == nil {
		s.mem, s.pinned = q.dev.staging(slotSize)
	}
	return s, nil
}

// empty waits until the device has read a slot. It returns an error of the write in progress;
// errors of earlier writes go to readers of their buffers.
func (s *slot) empty(q *timeline) error {
	if s.full == nil {
		q.drain(q.seq - 1)
		return nil
	}
	if !s.full.Done() {
		q.dev.counters.Wait()
	}
	err := s.full.Wait()
	if err == nil || s.seq == q.seq {
		return err
	}
	q.records.mu.Lock()
	q.faulted(open, err)
	q.records.mu.Unlock()
	q.drain(q.seq - 1)
	return nil
}

func (s *slot) reset() {
	s.used = 0
	if s.full != nil {
		s.full.Release()
		s.full = nil
	}
}

// release frees the slots.
func (r *ring) release(d *Device) {
	for i := range r.slots {
		r.slots[i].reset()
		if s := &r.slots[i]; s.pinned {
			_ = d.freeHost(s.mem)
		}
	}
	*r = ring{}
}
