package devicetest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// reference is a device on plain slices that uses the oracle, with one goroutine per queue. A
// fault, by name, makes it break one rule: see faults.
type reference struct {
	fault string

	counters backend.Counters

	mu     sync.Mutex
	closed bool
	queues []*refQueue
}

func (d *reference) has(fault string) bool { return d.fault == fault }

type refBuffer struct {
	dev   *reference
	data  []byte
	bad   []error // of each byte or string; shorter if the rest is good
	freed bool
}

type refStrings struct {
	refBuffer
	words []string
}

func (*refStrings) HoldsStrings() {}

func (s *refStrings) Size() int64 { return int64(len(s.words)) }
func (s *refStrings) Free() error { return s.free(16 * s.Size()) }

func (b *refBuffer) Size() int64 { return int64(len(b.data)) }
func (b *refBuffer) Free() error { return b.free(b.Size()) }

func (b *refBuffer) free(size int64) error {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	if b.dev.closed || b.freed && !b.dev.has("double free") {
		return fmt.Errorf("Free: %w", device.ErrClosed)
	}
	b.freed = true
	b.dev.counters.Freed(size)
	return nil
}

func (d *reference) Info() device.Info {
	return device.Info{Backend: "reference", Name: "index walk", Kind: device.CPU, Strings: true, PutsInOrder: true}
}

func (d *reference) Stats() device.Stats {
	s := d.counters.Stats(0)
	s.Reserved = s.Live
	return s
}

func (d *reference) alive() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return fmt.Errorf("device: %w", device.ErrClosed)
	}
	return nil
}

func (d *reference) room(op string, n int64) error {
	switch {
	case n < 0:
		return layout.Errorf(device.ErrInvalid, op, "%d", n)
	case n > 1<<32:
		return fmt.Errorf("%s: %w: %d", op, device.ErrOutOfMemory, n)
	}
	return d.alive()
}

func (d *reference) Alloc(n int64) (device.Buffer, error) {
	if err := d.room("Alloc", n); err != nil {
		return nil, err
	}
	d.counters.Allocated(n)
	return &refBuffer{dev: d, data: make([]byte, n)}, nil
}

func (d *reference) AllocStrings(n int64) (device.Buffer, error) {
	if err := d.room("AllocStrings", n); err != nil {
		return nil, err
	}
	d.counters.Allocated(16 * n)
	return &refStrings{refBuffer{dev: d}, make([]string, n)}, nil
}

func (d *reference) Close() error {
	d.mu.Lock()
	before := d.closed
	d.closed = true
	queues := d.queues
	d.mu.Unlock()
	if before {
		return fmt.Errorf("device: %w", device.ErrClosed)
	}
	for _, q := range queues {
		_ = q.Close()
	}
	return nil
}

// of finds the memory behind a buffer of this device.
func (d *reference) of(buffers ...device.Buffer) error {
	for _, b := range buffers {
		var mine *refBuffer
		switch b := b.(type) {
		case nil:
			continue // the rules refuse it
		case *refBuffer:
			mine = b
		case *refStrings:
			mine = &b.refBuffer
		}
		if mine == nil || mine.dev != d && !d.has("foreign buffers") {
			return layout.Errorf(device.ErrInvalid, "device", "the buffer is another device's")
		}
		d.mu.Lock()
		freed := mine.freed && !d.has("use after free")
		d.mu.Unlock()
		if freed {
			return fmt.Errorf("buffer: %w", device.ErrClosed)
		}
	}
	return nil
}

func (d *reference) NewQueue() (device.Queue, error) {
	if err := d.alive(); err != nil {
		return nil, err
	}
	q := &refQueue{dev: d, work: make(chan func(), 4096), ended: make(chan struct{})}
	d.mu.Lock()
	d.queues = append(d.queues, q)
	d.mu.Unlock()
	go func() {
		defer close(q.ended)
		for f := range q.work {
			f()
		}
	}()
	return q, nil
}

type refQueue struct {
	dev   *reference
	work  chan func()
	ended chan struct{}

	mu     sync.Mutex
	closed bool
	err    error // of a Take, not yet returned by a call
}

type refEvent struct {
	dev  *reference
	done chan struct{}
}

func (e *refEvent) Wait() error {
	if !e.dev.has("events do not wait") {
		<-e.done
	}
	return nil
}

func (e *refEvent) Done() bool {
	select {
	case <-e.done:
		return true
	default:
		return e.dev.has("events are always done")
	}
}

// do queues f, unless the queue is closed.
func (q *refQueue) do(f func()) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("queue: %w", device.ErrClosed)
	}
	q.work <- f
	return nil
}

// first returns the first violated condition for queueing.
func (q *refQueue) first(checks ...error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return fmt.Errorf("queue: %w", device.ErrClosed)
	}
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

// count queues f, if there is anything to do, and counts it.
func (q *refQueue) count(dst device.Operand, f func()) error {
	n := dst.Layout.Count()
	if n == 0 && !q.dev.has("empty launches") {
		return nil
	}
	size := 16 * n
	if dst.Type != layout.String {
		size, _ = layout.PackedBytes(n, dst.Type.Bits())
	}
	q.dev.counters.Launch(size)
	return q.do(f)
}

func memory(b device.Buffer) []byte { return b.(*refBuffer).data }

func plain(op string, b device.Buffer) error {
	if _, ok := b.(device.StringBuffer); ok {
		return layout.Errorf(device.ErrInvalid, op, "the buffer holds strings")
	}
	return nil
}

func (q *refQueue) Write(dst device.Buffer, off int64, src []byte) error {
	inRange := backend.CheckRange("Write", dst, off, int64(len(src)))
	if q.dev.has("writes beyond") {
		inRange = nil
		if dst == nil || off < 0 || off > dst.Size() {
			return layout.Errorf(device.ErrInvalid, "Write", "")
		}
	}
	if err := q.first(q.dev.of(dst), plain("Write", dst), inRange); err != nil {
		return err
	}
	q.dev.counters.Upload(int64(len(src)))
	if !q.dev.has("write keeps the slice") {
		src = slices.Clone(src)
	}
	return q.do(func() {
		copy(memory(dst)[off:], src)
		span{dst.(*refBuffer), off, off + int64(len(src))}.set(nil)
	})
}

func (q *refQueue) waitAfter(f func()) error {
	done := make(chan struct{})
	if err := q.do(func() { f(); close(done) }); err != nil {
		return err
	}
	<-done
	return nil
}

func (q *refQueue) Copy(dst, src device.Operand) error {
	rules := backend.CheckCopy(&dst, &src)
	if q.dev.has("overlap") && dst.Buffer == src.Buffer && backend.CheckOperand("", "", &dst) == nil {
		rules = nil
	}
	if err := q.first(q.dev.of(dst.Buffer, src.Buffer), rules); err != nil {
		return err
	}
	return q.launch(dst, func() {
		if s, ok := dst.Buffer.(*refStrings); ok {
			oracle.CopyStrings(s.words, dst.Layout, src.Buffer.(*refStrings).words, src.Layout)
			return
		}
		oracle.Copy(memory(dst.Buffer), dst.Layout, memory(src.Buffer), src.Layout, dst.Type.Bits())
		if q.dev.has("tail nibble") && dst.Type.Bits() < 8 {
			damageTail(dst)
		}
	}, src)
}

// damageTail overwrites the elements that share the last byte with dst's last element.
func damageTail(dst device.Operand) {
	if _, hi, ok := dst.Layout.Extent(); ok {
		bit := (hi + 1) * int64(dst.Type.Bits())
		if bit%8 != 0 {
			memory(dst.Buffer)[bit/8] &= 1<<(bit%8) - 1
		}
	}
}

func (q *refQueue) Fill(dst device.Operand, pattern []byte) error {
	rules := backend.CheckFill(&dst, pattern)
	if q.dev.has("long patterns") && len(pattern) > max(dst.Type.Bits()/8, 1) {
		rules = nil
	}
	if err := q.first(q.dev.of(dst.Buffer), rules); err != nil {
		return err
	}
	pattern = slices.Clone(pattern)
	return q.launch(dst, func() { oracle.Fill(memory(dst.Buffer), dst.Layout, pattern, dst.Type.Bits()) })
}

func (q *refQueue) Convert(dst, src device.Operand, how device.Rounding) error {
	if err := q.first(q.dev.of(dst.Buffer, src.Buffer), backend.CheckConvert(&dst, &src, how)); err != nil {
		return err
	}
	from := src.Type
	if q.dev.has("no sign") && from == layout.Int4 {
		from = layout.Uint4
	}
	if q.dev.has("one rounding") {
		how = device.Rounding{}
	}
	return q.launch(dst, func() {
		oracle.Convert(memory(dst.Buffer), dst.Layout, dst.Type, memory(src.Buffer), src.Layout, from, how)
	}, src)
}

func (q *refQueue) Take(dst, src, at device.Operand, by ...layout.Index) error {
	rules := backend.CheckTake(&dst, &src, &at, by)
	if q.dev.has("indices as bytes") && at.Type == layout.Uint8 {
		rules = nil
	}
	if err := q.first(q.dev.of(dst.Buffer, src.Buffer, at.Buffer), rules); err != nil {
		return err
	}
	if indexing.LeadNowhere(by) {
		return nil
	}
	by = slices.Clone(by)
	return q.launchFrom(dst, func() error {
		wrong := oracle.Take(dst.Layout, src.Layout, at.Layout, memory(at.Buffer), at.Type, by, mover(dst, src))
		return cmp.Or(q.tell("Take", by, wrong), spanOf(src, by...).error())
	}, at)
}

// mover returns a function that moves an element of src to one of dst, by their positions.
func mover(dst, src device.Operand) func(p, s int64) {
	return func(p, s int64) {
		one := layout.Layout{} // a scalar
		d, _ := one.Rebase(p)
		from, _ := one.Rebase(s)
		if words, ok := dst.Buffer.(*refStrings); ok {
			oracle.CopyStrings(words.words, d, src.Buffer.(*refStrings).words, from)
		} else {
			oracle.Copy(memory(dst.Buffer), d, memory(src.Buffer), from, dst.Type.Bits())
		}
	}
}

func (q *refQueue) Put(dst, src, at device.Operand, how device.Reduction, by ...layout.Index) error {
	rules := backend.CheckPut(&dst, &src, &at, how, by)
	if q.dev.has("puts meet") && dst.Buffer == src.Buffer && dst.Buffer != nil {
		rules = nil
	}
	if err := q.first(q.dev.of(dst.Buffer, src.Buffer, at.Buffer), rules); err != nil {
		return err
	}
	if indexing.LeadNowhere(by) {
		return nil
	}
	by = slices.Clone(by)
	return q.count(dst, func() {
		move := mover(dst, src)
		if how != device.ReduceSet {
			move = func(p, s int64) { oracle.Reduce(memory(dst.Buffer), p, memory(src.Buffer), s, dst.Type, how) }
		}
		if q.dev.has("first put wins") {
			again, put := move, map[int64]bool{}
			move = func(p, s int64) {
				if !put[p] {
					again(p, s)
				}
				put[p] = true
			}
		}
		wrong := oracle.Put(dst.Layout, src.Layout, at.Layout, memory(at.Buffer), at.Type, by, move)
		if err := cmp.Or(q.tell("Put", by, wrong), spanOf(src).error(), spanOf(at).error()); err != nil {
			spanOf(dst, by...).set(err) // the rest does not change
		}
	})
}

func (q *refQueue) Map(dst, src, table device.Operand) error {
	if err := q.first(q.dev.of(dst.Buffer, src.Buffer, table.Buffer), backend.CheckMap(&dst, &src, &table)); err != nil {
		return err
	}
	first := table.Layout.Offset()
	if q.dev.has("tables begin at 0") {
		first = 0
	}
	return q.launch(dst, func() {
		oracle.Map(memory(dst.Buffer), dst.Layout, dst.Type.Bits(), memory(src.Buffer), src.Layout, src.Type.Bits(), memory(table.Buffer), first)
	}, src, table)
}

func (q *refQueue) Where(dst, cond, a, b device.Operand) error {
	rules := backend.CheckWhere(&dst, &cond, &a, &b)
	if q.dev.has("bytes as conditions") && cond.Type == layout.Uint8 {
		rules = nil
	}
	if err := q.first(q.dev.of(dst.Buffer, cond.Buffer, a.Buffer, b.Buffer), rules); err != nil {
		return err
	}
	return q.launch(dst, func() {
		yes := memory(cond.Buffer)
		if q.dev.has("one bit of a condition") {
			yes = slices.Clone(yes)
			for i := range yes {
				yes[i] &= 1
			}
		}
		oracle.Where(dst.Layout, a.Layout, b.Layout, cond.Layout, yes, func(p, from int64, other bool) {
			x := a
			if other {
				x = b
			}
			mover(dst, x)(p, from)
		})
	}, cond, a, b)
}

func (q *refQueue) Record() (device.Event, error) {
	e := &refEvent{q.dev, make(chan struct{})}
	return e, q.do(func() { close(e.done) })
}

func (q *refQueue) WaitFor(event device.Event) error {
	e, ok := event.(*refEvent)
	if !ok || e.dev != q.dev {
		return layout.Errorf(device.ErrInvalid, "WaitFor", "not an event of this device")
	}
	if q.dev.has("WaitFor does nothing") {
		return q.first()
	}
	return q.do(func() { <-e.done })
}

func (q *refQueue) Close() error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return fmt.Errorf("queue: %w", device.ErrClosed)
	}
	q.closed = !q.dev.has("closed queues work")
	if q.closed {
		close(q.work)
	}
	q.mu.Unlock()
	if q.closed && !q.dev.has("Close does not wait") {
		<-q.ended
	}
	return nil
}

func stringsIn(op string, b device.Buffer) error {
	if _, ok := b.(device.StringBuffer); !ok {
		return layout.Errorf(device.ErrInvalid, op, "the buffer holds no strings")
	}
	return nil
}

func (q *refQueue) WriteStrings(dst device.Buffer, off int64, src []string) error {
	if err := q.first(q.dev.of(dst), stringsIn("WriteStrings", dst), backend.CheckRange("WriteStrings", dst, off, int64(len(src)))); err != nil {
		return err
	}
	q.dev.counters.Upload(16 * int64(len(src)))
	src = slices.Clone(src)
	return q.do(func() { copy(dst.(*refStrings).words[off:], src) })
}

func (q *refQueue) ReadStrings(dst []string, src device.Buffer, off int64) error {
	if err := q.first(q.dev.of(src), stringsIn("ReadStrings", src), backend.CheckRange("ReadStrings", src, off, int64(len(dst)))); err != nil {
		return err
	}
	q.dev.counters.Download(16 * int64(len(dst)))
	words := src.(*refStrings)
	return q.readFrom(span{&words.refBuffer, off, off + int64(len(dst))}, func() { copy(dst, words.words[off:]) })
}

func (q *refQueue) FillString(dst device.Operand, s string) error {
	if err := q.first(q.dev.of(dst.Buffer), backend.CheckFillString(&dst)); err != nil {
		return err
	}
	return q.launch(dst, func() { oracle.FillStrings(dst.Buffer.(*refStrings).words, dst.Layout, s) })
}
