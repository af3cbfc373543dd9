package cpu

import (
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// queue executes calls before they return (see the package's description).
type queue struct {
	calls
	replays map[*replay]struct{}

	// Reused by small calls.
	plans   plans
	ran     [mostRan]ran // the latest long ones
	nextRan uint
	sc      scratch
	filling filling
}

// event is done from the start, like all earlier work.
type event struct{ dev *processor }

func (*event) Done() bool { return true }

func (*event) Wait() error { return nil }

// Write copies src to the buffer from byte off.
func (q *queue) Write(dst device.Buffer, off int64, src []byte) error {
	if err := q.begin("Write"); err != nil {
		return err
	}
	defer q.end()
	m, err := q.useRange("Write", dst, off, int64(len(src)), false)
	if err != nil {
		return err
	}
	if err := q.moveBytes("Write", m, unsafe.Slice((*byte)(m.base), m.size)[off:], src); err != nil {
		return err
	}
	q.done.Uploads++
	q.done.HostToDevice += int64(len(src))
	return nil
}

// Read copies len(dst) bytes of the buffer from byte off.
func (q *queue) Read(dst []byte, src device.Buffer, off int64) error {
	if err := q.begin("Read"); err != nil {
		return err
	}
	defer q.end()
	m, err := q.useRange("Read", src, off, int64(len(dst)), false)
	if err != nil {
		return err
	}
	if err := q.moveBytes("Read", m, dst, unsafe.Slice((*byte)(m.base), m.size)[off:off+int64(len(dst))]); err != nil {
		return err
	}
	q.done.Downloads++
	q.done.DeviceToHost += int64(len(dst))
	return nil
}

// moveBytes is copy, from or to m, with workers where that pays off.
func (q *queue) moveBytes(op string, m region, dst, src []byte) error {
	if len(src) < parallelBytes {
		copy(dst, src)
		return nil
	}
	if err := q.hold(op, m); err != nil {
		return err
	}
	defer q.releaseMemory(m)
	l, _ := layout.Contiguous(int64(len(src))) // cannot fail: this is a length
	execute(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), &l, &l, 8, false)
	return nil
}

// execute executes a simplified copy and returns the number of bytes written.
func execute(dst, src unsafe.Pointer, d, s *layout.Layout, bits int, strings bool) int64 {
	j := jobs.Get().(*job)
	defer j.release()
	j.load(d, s, bits, bits, strings)
	j.dst, j.src = dst, src
	j.execute()
	return j.bytes
}

// Copy copies every element of src to the element of dst with the same index.
func (q *queue) Copy(dst, src device.Operand) error {
	return q.move(&form{op: opCopy, dst: dst.Type, src: src.Type}, &dst, &src)
}

// Convert sets every element of dst to the value of src's element with the same index.
func (q *queue) Convert(dst, src device.Operand, how device.Rounding) error {
	return q.move(&form{op: opConvert, dst: dst.Type, src: src.Type, how: how}, &dst, &src)
}

// move executes a call with a source. Nothing in it panics, but the caller may recover from a
// fault in adopted memory: the queue does not stay locked.
func (q *queue) move(f *form, dst, src *device.Operand) error {
	op := f.op.String()
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.end()
	to, from, err := q.usePair(op, dst, src)
	if err != nil {
		return firstOf(f.check(dst, src, nil), err)
	}
	f.align = uint8(min(alignment(to.base), alignment(from.base)))
	if q.capture != nil {
		if err := f.check(dst, src, nil); err != nil {
			return err
		}
		return q.captureMove(f, dst, src, to, from)
	}
	p := q.plans.again(f, &dst.Layout, &src.Layout)
	if p == nil && f.op == opCopy {
		if n, ok := shortRun(dst, src); ok {
			if !runFits(dst, src, to.memory, from.memory, n) {
				if err := f.check(dst, src, nil); err != nil || n == 0 {
					return err
				}
			}
			q.launched(copyRun(dst, src, to.base, from.base, n))
			return nil
		}
	}
	p, err = q.planned(p, f, dst, src, to.memory, from.memory, nil)
	if err != nil {
		return err
	}
	return q.carryOut(p, f, &dst.Layout, &src.Layout, to, from)
}

// shortRun returns the number of elements of a copy between two runs that are too short for
// workers: it needs no plan.
func shortRun(dst, src *device.Operand) (n int64, ok bool) {
	n = src.Layout.Count()
	ok = n < parallelBytes*8/int64(max(width(src.Type), 1)) && src.Layout.IsContiguous() && dst.Layout.IsContiguous()
	return n, ok
}

// runFits reports whether a copy of one run is known to break no rule. False: it may break one.
func runFits(dst, src *device.Operand, to, from *memory, n int64) bool {
	if dst.Type != src.Type || !dst.Type.Valid() || n == 0 || to == from || !dst.Layout.SameShape(&src.Layout) {
		return false
	}
	x := side{strings: dst.Type == layout.String, log: logWidth(dst.Type), last: n - 1}
	return x.holds(to, dst.Layout.Offset()) && x.holds(from, src.Layout.Offset())
}

// copyRun does a checked copy of one run and returns the number of bytes written.
func copyRun(dst, src *device.Operand, to, from unsafe.Pointer, n int64) int64 {
	bits := int64(width(dst.Type))
	d, s := dst.Layout.Offset(), src.Layout.Offset()
	switch {
	case dst.Type == layout.String:
		copy(unsafe.Slice((*string)(unsafe.Add(to, d*stringSize)), n), unsafe.Slice((*string)(unsafe.Add(from, s*stringSize)), n))
	case bits < 8:
		copyBits(to, d*bits, from, s*bits, n*bits)
	default:
		copy(span(to, d*bits/8, n*bits/8), span(from, s*bits/8, n*bits/8))
	}
	return (n*bits + 7) / 8
}

// firstOf returns the error of a call whose buffer cannot be used: the error of a broken rule, if
// any, comes first.
func firstOf(rule, use error) error {
	if rule != nil {
		return rule
	}
	return use
}

// planned checks a call and returns its plan; nil for a call that keeps none. p is the plan if it
// is already known.
func (q *queue) planned(p *plan, f *form, dst, src *device.Operand, to, from *memory, pattern []byte) (*plan, error) {
	if p == nil {
		p = q.plans.find(f, &dst.Layout, &src.Layout)
	}
	switch {
	case p == nil:
		if err := f.check(dst, src, pattern); err != nil {
			return nil, err
		}
		return q.plans.add(f, &dst.Layout, &src.Layout), nil
	case !p.fits(&dst.Layout, &src.Layout, to, from, pattern):
		return p, f.checkBuffers(dst, src, pattern)
	}
	return p, nil
}

// carryOut executes a checked call, with its plan if there is one.
func (q *queue) carryOut(p *plan, f *form, dst, src *layout.Layout, to, from region) error {
	if p == nil {
		return q.carryOutLong(f, dst, src, to, from)
	}
	if n := p.run(to.base, from.base, dst.Offset(), src.Offset(), &q.sc); n > 0 {
		q.launched(n)
	}
	return nil
}

func (q *queue) carryOutLong(f *form, dst, src *layout.Layout, to, from region) error {
	if err := q.hold(f.op.String(), to, from); err != nil {
		return err
	}
	defer q.releaseMemory(to, from)
	j := jobs.Get().(*job)
	defer j.release()
	if j.prepare(f, dst, src) {
		j.dst, j.src = to.base, from.base
		j.execute()
		q.launched(j.bytes)
		if f.op == opCopy {
			q.keepRan(j, f, dst, src)
		}
	}
	return nil
}

// captureMove captures a checked call of any size.
func (q *queue) captureMove(f *form, dst, src *device.Operand, to, from region) error {
	j := jobs.Get().(*job)
	if !j.prepare(f, &dst.Layout, &src.Layout) {
		j.release()
		return nil
	}
	j.dst, j.src = to.base, from.base
	return q.do(f.op.String(), j, to, from)
}

// Fill sets every element of dst to the pattern.
func (q *queue) Fill(dst device.Operand, pattern []byte) error {
	return q.fill(&form{op: opFill, dst: dst.Type, src: dst.Type}, &dst, pattern, "")
}

// fill executes a call whose source is a pattern or a string.
func (q *queue) fill(f *form, dst *device.Operand, pattern []byte, text string) error {
	op := f.op.String()
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.end()
	m, err := q.use(op, "dst", dst.Buffer)
	if err != nil {
		return firstOf(f.check(dst, dst, pattern), err)
	}
	f.align = uint8(alignment(m.base))
	if q.capture != nil {
		if err := f.check(dst, dst, pattern); err != nil {
			return err
		}
		return q.captureMove(f, dst, dst, m, new(filling).set(f, pattern, text))
	}
	l := &dst.Layout
	p, err := q.planned(q.plans.again(f, l, l), f, dst, dst, m.memory, m.memory, pattern)
	if err != nil {
		return err
	}
	err = q.carryOut(p, f, l, l, m, q.filling.set(f, pattern, text))
	q.filling.text = ""
	return err
}

// filling is the source of a fill.
type filling struct {
	pattern [2]uint64
	text    string // for a fill of strings
}

// set sets the source, and returns its memory.
func (x *filling) set(f *form, pattern []byte, text string) region {
	if f.op == opFillString {
		x.text = text
		return region{base: unsafe.Pointer(&x.text)}
	}
	spread(&x.pattern, pattern, f.dst.Bits())
	return region{base: unsafe.Pointer(&x.pattern)}
}

// spread repeats an element over 16 bytes, so that it can be moved as a wider one.
func spread(to *[2]uint64, pattern []byte, bits int) {
	p := (*[16]byte)(unsafe.Pointer(to))
	n := copy(p[:], pattern)
	if bits < 8 {
		p[0] &= 1<<bits - 1
		for have := bits; have < 8; have *= 2 {
			p[0] |= p[0] << have
		}
	}
	for ; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}

// Record returns an event that is done.
func (q *queue) Record() (device.Event, error) {
	if err := q.begin("Record"); err != nil {
		return nil, err
	}
	defer q.end()
	return &event{q.dev}, nil
}

// WaitFor does not wait: an event of this device is done.
func (q *queue) WaitFor(e device.Event) error {
	if err := q.begin("WaitFor"); err != nil {
		return err
	}
	defer q.end()
	if ev, ok := e.(*event); !ok || ev == nil || ev.dev != q.dev {
		return layout.Errorf(device.ErrInvalid, "WaitFor", "the event, a %T, is none of this device", e)
	}
	return nil
}

// Wait returns when the calls begun by other goroutines are done.
func (q *queue) Wait() error {
	if err := q.begin("Wait"); err != nil {
		return err
	}
	q.end()
	return nil
}

// Close waits as Wait does, then closes the queue.
func (q *queue) Close() error {
	q.mu.Lock()
	before := q.closed
	q.closed = true
	q.plans, q.ran, q.sc = plans{}, [mostRan]ran{}, scratch{}
	q.mu.Unlock()
	q.endReplays()
	if !before {
		q.dev.forget(q)
	}
	if before || q.dev.closed.Load() {
		return layout.Errorf(device.ErrClosed, "Close", "the queue or its device was closed before")
	}
	return nil
}
