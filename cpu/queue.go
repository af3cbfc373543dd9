package cpu

import (
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Queue carries out calls before they return (see the package's description).
type Queue struct {
	dev *Device
	// mu makes calls of several goroutines follow one another, as the order of
	// a queue demands.
	mu     sync.Mutex
	closed bool
}

// event is done from the start: so is all work before it.
type event struct{ dev *Device }

func (*event) Done() bool { return true }

func (*event) Wait() error { return nil }

// begin starts a call. Every begin without an error needs an end.
func (q *Queue) begin(op string) error {
	q.mu.Lock()
	if q.closed || q.dev.closed.Load() {
		q.mu.Unlock()
		return layout.Errorf(device.ErrClosed, op, "the queue or its device is closed")
	}
	return nil
}

func (q *Queue) end() { q.mu.Unlock() }

// use finds the memory of a buffer and keeps it until it is released.
func (q *Queue) use(op, role string, b device.Buffer) (*memory, error) {
	var m *memory
	switch b := b.(type) {
	case *byteBuffer:
		m = &b.memory
	case *stringBuffer:
		m = &b.memory
	default:
		return nil, layout.Errorf(device.ErrInvalid, op, "%s is a %T, which is no buffer of the cpu device", role, b)
	}
	if m.dev != q.dev && m.dev != nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "%s is a buffer of another cpu device", role)
	}
	if !m.acquire() {
		return nil, layout.Errorf(device.ErrClosed, op, "%s, a buffer of size %d, is freed", role, m.size)
	}
	return m, nil
}

// useRange is use for a range of a buffer of bytes, or of strings.
func (q *Queue) useRange(op string, b device.Buffer, off, n int64, strings bool) (*memory, error) {
	if err := device.CheckRange(op, b, off, n); err != nil {
		return nil, err
	}
	m, err := q.use(op, "the buffer", b)
	if err != nil {
		return nil, err
	}
	if _, ok := b.(*stringBuffer); ok != strings {
		m.release()
		holds := "bytes"
		if ok {
			holds = "strings"
		}
		return nil, layout.Errorf(device.ErrInvalid, op, "the buffer holds %s", holds)
	}
	return m, nil
}

// Write copies src to the buffer from byte off.
func (q *Queue) Write(dst device.Buffer, off int64, src []byte) error {
	if err := q.begin("Write"); err != nil {
		return err
	}
	defer q.end()
	m, err := q.useRange("Write", dst, off, int64(len(src)), false)
	if err != nil {
		return err
	}
	defer m.release()
	moveBytes(m.bytes[off:], src)
	q.dev.counters.Upload(int64(len(src)))
	return nil
}

// Read copies len(dst) bytes of the buffer from byte off.
func (q *Queue) Read(dst []byte, src device.Buffer, off int64) error {
	if err := q.begin("Read"); err != nil {
		return err
	}
	defer q.end()
	m, err := q.useRange("Read", src, off, int64(len(dst)), false)
	if err != nil {
		return err
	}
	defer m.release()
	moveBytes(dst, m.bytes[off:off+int64(len(dst))])
	q.dev.counters.Download(int64(len(dst)))
	return nil
}

// moveBytes is copy, by several workers where that pays.
func moveBytes(dst, src []byte) {
	if len(src) < parallelBytes {
		copy(dst, src)
		return
	}
	l, _ := layout.Contiguous(int64(len(src))) // cannot fail: it is a length
	execute(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), &l, &l, 8, false)
}

// execute does a simplified copy and returns how many bytes it wrote.
func execute(dst, src unsafe.Pointer, d, s *layout.Layout, bits int, strings bool) int64 {
	j := jobs.Get().(*job)
	defer j.drop()
	j.load(dst, src, d, s, bits, bits, strings)
	j.execute()
	return j.bytes
}

// Copy copies every element of src to the element of dst with the same index.
func (q *Queue) Copy(dst, src device.Operand) error {
	if err := q.begin("Copy"); err != nil {
		return err
	}
	defer q.end()
	if err := device.CheckCopy(&dst, &src); err != nil {
		return err
	}
	to, from, err := q.usePair("Copy", &dst, &src)
	if err != nil {
		return err
	}
	defer to.release()
	defer from.release()
	if n := copyOperands(&dst, &src, to.base(), from.base()); n > 0 {
		q.dev.counters.Launch(n)
	}
	return nil
}

func (q *Queue) usePair(op string, dst, src *device.Operand) (to, from *memory, err error) {
	if to, err = q.use(op, "dst", dst.Buffer); err != nil {
		return nil, nil, err
	}
	if from, err = q.use(op, "src", src.Buffer); err != nil {
		to.release()
		return nil, nil, err
	}
	return to, from, nil
}

// copyOperands does a checked copy and returns how many bytes it wrote.
func copyOperands(dst, src *device.Operand, to, from unsafe.Pointer) int64 {
	bits, limit := dst.Type.Bits(), 128
	strings := dst.Type == layout.String
	if strings {
		bits, limit = 8*int(unsafe.Sizeof("")), 0
	} else {
		limit = 8 * min(alignment(to), alignment(from))
	}
	if dst.Layout.IsContiguous() && src.Layout.IsContiguous() {
		if n, ok := copyRun(dst, src, to, from, int64(bits)); ok {
			return n
		}
	}
	d, s := layout.Simplify(dst.Layout, src.Layout)
	if d.Rank() == 1 && d.Dim(0) == 0 {
		return 0
	}
	if bits > limit && !strings && !looseAlignment {
		d, s, bits = narrow(d, s, bits, limit)
	}
	if last := d.Rank() - 1; bits < limit && last >= 0 && d.Stride(last) == 1 && s.Stride(last) == 1 {
		// Only then can Widen do anything; even asking takes time.
		d, s, bits = layout.Widen(d, s, bits, limit)
	}
	return execute(to, from, &d, &s, bits, strings)
}

// copyRun is copyOperands for one dense run on both sides, where a small one
// needs no plan. False: it is not small.
func copyRun(dst, src *device.Operand, to, from unsafe.Pointer, bits int64) (int64, bool) {
	n := dst.Layout.Count()
	d, s := dst.Layout.Offset(), src.Layout.Offset()
	switch {
	case n > parallelBytes*8/bits:
		return 0, false
	case n == 0:
		return 0, true
	case dst.Type == layout.String:
		copy(unsafe.Slice((*string)(unsafe.Add(to, d*bits/8)), n), unsafe.Slice((*string)(unsafe.Add(from, s*bits/8)), n))
	case bits < 8:
		copyBits(to, d*bits, from, s*bits, n*bits)
	default:
		copy(span(to, d*bits/8, n*bits/8), span(from, s*bits/8, n*bits/8))
	}
	return (n*bits + 7) / 8, true
}

// narrow expresses elements as runs of smaller ones, for memory that is not
// aligned for them.
func narrow(d, s layout.Layout, bits, limit int) (layout.Layout, layout.Layout, int) {
	part := int64(bits / limit)
	split := func(l layout.Layout) layout.Layout {
		dims, strides := l.Shape(), l.Strides()
		for i := range strides {
			strides[i] *= part
		}
		// It cannot fail: these are the positions of the same bytes.
		l, _ = layout.Strided(append(dims, part), append(strides, 1), l.Offset()*part)
		return l
	}
	d, s = layout.Simplify(split(d), split(s))
	return d, s, limit
}

// Fill sets every element of dst to the pattern.
func (q *Queue) Fill(dst device.Operand, pattern []byte) error {
	if err := q.begin("Fill"); err != nil {
		return err
	}
	defer q.end()
	if err := device.CheckFill(&dst, pattern); err != nil {
		return err
	}
	m, err := q.use("Fill", "dst", dst.Buffer)
	if err != nil {
		return err
	}
	defer m.release()
	bits := dst.Type.Bits()
	limit := 8 * alignment(m.base())
	d, _ := layout.Simplify(dst.Layout, dst.Layout)
	if d.Rank() == 1 && d.Dim(0) == 0 {
		return nil
	}
	// The source is one element, as wide as the destination lets it be.
	p := patterns.Get().(*[16]byte)
	defer patterns.Put(p)
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
	if bits > limit && !looseAlignment {
		one, err := layout.Layout{}.Expand(d.Shape()...)
		if err != nil {
			return err
		}
		var s layout.Layout
		d, s, bits = narrow(d, one, bits, limit)
		q.dev.counters.Launch(execute(m.base(), unsafe.Pointer(p), &d, &s, bits, false))
		return nil
	}
	d, _, bits = layout.Widen(d, d, bits, limit)
	q.dev.counters.Launch(fillFrom(m.base(), unsafe.Pointer(p), &d, bits, false))
	return nil
}

var patterns = sync.Pool{New: func() any { return new([16]byte) }}

// fillFrom copies one element to all of d.
func fillFrom(dst, src unsafe.Pointer, d *layout.Layout, bits int, strings bool) int64 {
	j := jobs.Get().(*job)
	defer j.drop()
	j.load(dst, src, d, d, bits, bits, strings)
	j.sOff = 0
	for i := range j.axes[:j.rank] {
		j.axes[i].s = 0
	}
	j.execute()
	return j.bytes
}

// KernelName tells which form a copy would take, and on elements of which
// width; "" for a copy that Copy would refuse.
func (q *Queue) KernelName(dst, src device.Operand) string {
	if device.CheckCopy(&dst, &src) != nil {
		return ""
	}
	d, s := layout.Simplify(dst.Layout, src.Layout)
	if d.Rank() == 1 && d.Dim(0) == 0 {
		return "nothing"
	}
	bits, limit := dst.Type.Bits(), 128
	strings := dst.Type == layout.String
	if strings {
		bits, limit = 128, 0
	}
	d, s, bits = layout.Widen(d, s, bits, limit)
	j := jobs.Get().(*job)
	defer j.drop()
	j.load(nil, nil, &d, &s, bits, bits, strings)
	j.plan()
	return j.name()
}

// Record returns an event that is done.
func (q *Queue) Record() (device.Event, error) {
	if err := q.begin("Record"); err != nil {
		return nil, err
	}
	defer q.end()
	return &event{q.dev}, nil
}

// WaitFor has nothing to wait for: an event of this device is done.
func (q *Queue) WaitFor(e device.Event) error {
	if err := q.begin("WaitFor"); err != nil {
		return err
	}
	defer q.end()
	if ev, ok := e.(*event); !ok || ev == nil || ev.dev != q.dev {
		return layout.Errorf(device.ErrInvalid, "WaitFor", "the event, a %T, is none of this device", e)
	}
	return nil
}

// Wait returns when the calls that other goroutines have begun are done.
func (q *Queue) Wait() error {
	if err := q.begin("Wait"); err != nil {
		return err
	}
	q.end()
	return nil
}

// Close waits as Wait does, and ends the queue.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return layout.Errorf(device.ErrClosed, "Close", "the queue was closed before")
	}
	q.closed = true
	return nil
}
