package gpu

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// statusBytes is the size of a status: a few words on the device in which a take or put records
// an index out of range (see kernels/source/indices.h).
const statusBytes = 2 * blockAlign

// A Divider is implemented by drivers whose memory has parts that can be kernels' arguments.
type Divider interface {
	// PartAlign is the alignment of parts in bytes: a power of two.
	PartAlign() int64
	// Part returns a part of Alloc's result, and FreePart frees it, before Free frees the
	// whole.
	Part(m Mem, off, bytes int64) (Mem, error)
	FreePart(Mem) error
}

// page is memory for statuses on the device, each in a slot, and the host memory that receives
// them.
type page struct {
	block   *block
	slots   []Mem // parts of the block, or the block itself
	stride  int64 // bytes from slot to slot
	divided bool  // the slots are parts
	host    []byte
	pitch   int64 // bytes there from outcome to outcome
	pinned  bool

	// Of a capture, whose runs have an outcome each, of several slots:
	several int             // slots in use; 0: an outcome has one slot
	names   []*fmt.Stringer // of the operations whose slots they are; nil: unknown

	outcomes []outcome // of the slots in use; others for each use of the page
	used     int       // slots
	sent     int       // slots whose transfer to the host is queued

	// Guarded by the queue's records:
	known int  // outcomes
	dirty bool // a slot has an index
}

// pageSlots is the number of slots in a page of a driver that divides memory.
const pageSlots = 64

// mostSlots bounds the takes whose outcomes are unknown: at the bound, a take waits.
const mostSlots = 1024

// statuses are the pages of a queue.
type statuses struct {
	pages    []*page // in the order of use; only the last one has slots that are free
	idle     []*page
	captures []*page   // idle ones of one slot
	outcomes []outcome // for the next pages
}

// newPage allocates a page of so many slots, or of one if the driver does not divide memory, each
// of which is used so many times.
func (s *statuses) newPage(q *timeline, slots, runs int) (*page, error) {
	by, divided := q.dev.driver.(Divider)
	stride := int64(statusBytes)
	if divided {
		stride = max(stride, by.PartAlign())
	} else {
		slots = 1
	}
	// Not counted in Stats, like parameters: it is as small.
	size := stride * int64(slots)
	mem, err := q.withRoom(func() (Mem, error) { return q.dev.driver.Alloc(size) })
	if err != nil {
		return nil, err
	}
	p := &page{block: &block{mem, size}, stride: stride, pitch: stride, divided: divided, dirty: true}
	if runs > 1 {
		p.pitch, p.outcomes = size, s.take(runs)
	} else {
		p.outcomes = s.take(slots)
	}
	p.host, p.pinned = q.dev.staging(size * int64(runs))
	if !divided {
		p.slots = []Mem{mem}
		return p, nil
	}
	for i := range int64(slots) {
		part, err := by.Part(mem, i*stride, statusBytes)
		if err != nil {
			p.free(q.dev)
			return nil, err
		}
		p.slots = append(p.slots, part)
	}
	return p, nil
}

func (p *page) free(d *Device) {
	if p.divided {
		for _, s := range p.slots {
			_ = d.driver.(Divider).FreePart(s)
		}
	}
	_ = d.driver.Free(p.block.mem)
	if p.pinned {
		_ = d.freeHost(p.host)
	}
}

// zeros are the content of a cleared page.
var zeros [1 << 16]byte

// ready prepares a page for new outcomes. Its present ones are known.
func (p *page) ready(q *timeline) error {
	if err := p.zero(q); err != nil {
		return err
	}
	if p.used > 0 {
		q.records.mu.Lock()
		defer q.records.mu.Unlock()
		p.outcomes, p.used, p.sent, p.known = q.statuses.take(len(p.outcomes)), 0, 0, 0
	}
	return nil
}

// take returns n new outcomes, which are allocated for many takes at a time.
func (s *statuses) take(n int) []outcome {
	if len(s.outcomes) < n {
		s.outcomes = make([]outcome, max(n, pageSlots))
	}
	all := s.outcomes[:n:n]
	s.outcomes = s.outcomes[n:]
	return all
}

// zero queues zeros, unless the page has them.
func (p *page) zero(q *timeline) error {
	q.records.mu.Lock()
	dirty := p.dirty
	p.dirty = false
	q.records.mu.Unlock()
	if !dirty {
		return nil
	}
	for off := int64(0); off < p.block.size; off += int64(len(zeros)) {
		if err := q.upload(p.block, off, zeros[:min(p.block.size-off, int64(len(zeros)))]); err != nil {
			p.soil(q)
			return err
		}
	}
	return nil
}

// soil records that the page may not be zero.
func (p *page) soil(q *timeline) {
	q.records.mu.Lock()
	p.dirty = true
	q.records.mu.Unlock()
}

// next is the outcome of a page's next slot.
func (p *page) next(q *timeline) *outcome {
	o := &p.outcomes[p.used]
	o.q, o.page, o.at = q, p, p.pitch*int64(p.used)
	p.used++
	return o
}

// notes returns a page with a free slot; within a capture, the capture's.
func (q *timeline) notes() (*page, error) {
	if q.capture != nil {
		return q.capture.page, nil
	}
	s := &q.statuses
	if n := len(s.pages); n > 0 && s.pages[n-1].used < len(s.pages[n-1].slots) {
		return s.pages[n-1], nil
	}
	q.retire()
	if n := len(s.pages); n > 0 && n*len(s.pages[0].slots) >= mostSlots {
		q.drain(q.seq - 1)
		q.retire()
		if len(s.pages) == n {
			return nil, layout.Errorf(device.ErrDriver, "", "the status of %d takes and puts cannot be read", mostSlots)
		}
	}
	var p *page
	if n := len(s.idle); n > 0 {
		p, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		var err error
		if p, err = s.newPage(q, pageSlots, 1); err != nil {
			return nil, err
		}
	}
	if err := p.ready(q); err != nil {
		s.idle = append(s.idle, p)
		return nil, err
	}
	s.pages = append(s.pages, p)
	return p, nil
}

// retire makes used pages idle whose outcomes are known.
func (q *timeline) retire() {
	s := &q.statuses
	q.records.mu.Lock()
	defer q.records.mu.Unlock()
	kept := s.pages[:0]
	for _, p := range s.pages {
		if p.used == len(p.slots) && p.known == p.used {
			s.idle = append(s.idle, p)
		} else {
			kept = append(kept, p)
		}
	}
	clear(s.pages[len(kept):])
	s.pages = kept
}

// ask queues the transfer of statuses to the host, for takes and puts whose status has not been
// asked for, and reports whether there were any. The queue is locked.
func (q *timeline) ask() (asked bool, err error) {
	for _, p := range q.statuses.pages {
		if p.sent == p.used {
			continue
		}
		if !asked {
			q.seq++ // statuses before it have arrived when work of this number is done
			asked = true
		}
		from, to := p.stride*int64(p.sent), p.stride*int64(p.used)
		if err := q.stream.Download(p.host[from:to], p.block.mem, from); err != nil {
			return asked, err
		}
		q.records.mu.Lock()
		for ; p.sent < p.used; p.sent++ {
			p.outcomes[p.sent].asked = q.seq
		}
		q.records.mu.Unlock()
	}
	return asked, nil
}

// askFor asks for statuses, and for an event after them, if that many have not been asked for.
func (q *timeline) askFor(many int) {
	n := 0
	for _, p := range q.statuses.pages {
		n += p.used - p.sent
	}
	if n >= many {
		_, _ = q.record() // after an error, a later wait asks
	}
}

// answeredBy records the event after the statuses that were asked for last.
func (q *timeline) answeredBy(e *queueEvent) {
	q.records.mu.Lock()
	defer q.records.mu.Unlock()
	for _, p := range q.statuses.pages {
		p.each(func(o *outcome) {
			if o.asked > 0 && o.after == nil {
				o.after = e
			}
		})
	}
}

// askAgain discards requests for statuses that a fault may have lost; those of replays are
// overwritten, and lost. Queue and records are locked.
func (q *timeline) askAgain(fault error) {
	for _, p := range q.statuses.pages {
		p.sent = 0
		for i := range p.outcomes[:p.used] {
			p.outcomes[i].asked, p.outcomes[i].after = 0, nil
		}
	}
	for r := range q.replays {
		r.page.each(func(o *outcome) { o.end(fault) })
	}
}

// look reads the statuses, all of which have arrived. Queue and records are locked.
func (q *timeline) look() {
	for _, p := range q.statuses.pages {
		p.look(q.seq)
	}
	for r := range q.replays {
		r.page.look(q.seq)
	}
}

// look reads the statuses that have arrived with the work up to a number.
func (p *page) look(upTo uint64) {
	for i := range p.outcomes[:p.used] {
		p.outcomes[i].look(upTo)
	}
}

// each calls f with the outcomes that are unknown. The records are locked.
func (p *page) each(f func(*outcome)) {
	for i := range p.outcomes[:p.used] {
		if o := &p.outcomes[i]; o.state.Load() == unknown {
			f(o)
		}
	}
}

// lose ends the outcomes of a page that cannot become known any more.
func (p *page) lose(q *timeline) {
	q.records.mu.Lock()
	defer q.records.mu.Unlock()
	p.each(func(o *outcome) {
		o.end(layout.Errorf(device.ErrClosed, "", "what queued the work was closed before it was known whether its indices are in range"))
	})
}

// release frees the pages of a queue that is closed.
func (s *statuses) release(q *timeline) {
	d := q.dev
	for _, p := range s.pages {
		p.lose(q)
	}
	for _, p := range slices.Concat(s.pages, s.idle, s.captures) {
		p.free(d)
	}
	*s = statuses{}
}

// read returns the first error that the statuses of an outcome describe, and gives the outcome
// the name of its operation.
func (p *page) read(o *outcome) error {
	for i := range max(1, p.several) {
		err := readStatus(p.host[o.at+p.stride*int64(i):][:statusBytes])
		if err == nil {
			continue
		}
		if i < len(p.names) && p.names[i] != nil {
			o.name.Store(p.names[i])
		}
		return err
	}
	return nil
}

// readStatus returns the error that a status describes.
func readStatus(status []byte) error {
	word := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(status[4*i:])) }
	if word(0) == 0 {
		return nil
	}
	index, extent := int64(word(1)|word(2)<<32), int64(word(3)|word(4)<<32)
	op := "Take"
	if word(5) != 0 {
		op = "Put"
	}
	return layout.Errorf(device.ErrInvalid, op, "%s", backend.OutOfRange(index, extent))
}
