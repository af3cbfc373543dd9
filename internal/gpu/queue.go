package gpu

import (
	"errors"
	"runtime"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// Queue is a device.Queue over a stream: work in order, which is numbered.
type Queue struct {
	timeline
	launches *planner.Cache[Mem]
	ring     ring
	args     [planner.MaxArguments]Argument // of the last launch

	flow flow
}

// mostLaunches is the most plans of launches that a queue keeps.
const mostLaunches = 1024

// ownQueue returns a queue of the device.
func (d *Device) ownQueue(op string, of device.Queue) (*Queue, error) {
	q, ok := device.As[*Queue](of)
	if !ok || q == nil || q.dev != d {
		return nil, layout.Errorf(device.ErrInvalid, op, "the queue, a %T, is not of this device", of)
	}
	return q, nil
}

// written is the role of a buffer that a call writes.
const written = "dst"

// use records that the next piece of work uses a buffer, and writes it if the role says so.
func (q *Queue) use(op, role string, b device.Buffer) (*Buffer, error) {
	return q.useAs(op, role, b, role == written)
}

func (q *Queue) useAs(op, role string, b device.Buffer, writes bool) (*Buffer, error) {
	buf, ok := b.(*Buffer)
	if !ok || buf == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "%s is a %T, which is no buffer of %s", role, b, q.dev.Info().ID())
	}
	if buf.dev != q.dev {
		return nil, layout.Errorf(device.ErrInvalid, op, "%s is a buffer of another device or context", role)
	}
	if buf.gl != nil {
		if err := buf.gl.checkUse(op, role, writes, q.capture != nil); err != nil {
			return nil, err
		}
	}
	if !buf.touch(use{&q.timeline, q.seq}, writes) {
		return nil, layout.Errorf(device.ErrClosed, op, "%s, a buffer of size %d, is freed", role, buf.size)
	}
	if q.capture != nil {
		buf.touch(use{q.capture.hold, 1}, false)
	}
	return buf, nil
}

// useRange is use for a range of a buffer.
func (q *Queue) useRange(op, role string, b device.Buffer, off, n int64) (*Buffer, error) {
	if err := backend.CheckRange(op, b, off, n); err != nil {
		return nil, err
	}
	q.seq++
	return q.use(op, role, b)
}

// Write copies src to the buffer from byte off.
func (q *Queue) Write(dst device.Buffer, off int64, src []byte) error {
	if err := q.begin("Write"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	b, err := q.useRange("Write", written, dst, off, int64(len(src)))
	if err != nil {
		return err
	}
	switch direct := q.dev.properties.Direct; {
	case len(src) == 0:
	case direct > 0 && int64(len(src)) >= direct:
		if err = q.upload(b.block, off, src); err == nil {
			err = q.waitForWork()
		}
		runtime.KeepAlive(src) // there may be no other reference to it
	default:
		err = q.ring.stage(&q.timeline, b.block, off, src)
	}
	if err != nil {
		return err
	}
	b.depend(off, off+int64(len(src)), true, nil)
	q.dev.counters.Upload(int64(len(src)))
	return nil
}

// Read copies len(dst) bytes of the buffer from byte off.
func (q *Queue) Read(dst []byte, src device.Buffer, off int64) error {
	suspects, err := q.read(dst, src, off)
	if err == nil {
		err = waitAll(suspects)
	}
	if err != nil {
		return err
	}
	q.dev.counters.Download(int64(len(dst)))
	return nil
}

// read is Read, and returns the outcomes that the bytes depend on instead of waiting for them.
func (q *Queue) read(dst []byte, src device.Buffer, off int64) ([]*outcome, error) {
	if err := q.begin("Read"); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	n := int64(len(dst))
	b, err := q.useRange("Read", "src", src, off, n)
	if err != nil || n == 0 {
		return nil, err
	}
	if err := q.download(dst, b.block, off); err != nil {
		return nil, err
	}
	err = q.waitForWork()
	runtime.KeepAlive(dst) // there may be no other reference to it
	return b.suspects(off, off+n, nil), err
}

// CheckBuffer returns the error of the work that n bytes of a buffer from byte off depend
// on.
func (q *Queue) CheckBuffer(of device.Buffer, off, n int64) error {
	const op = "CheckBuffer"
	if err := q.begin(op); err != nil {
		return err
	}
	b, err := q.useRange(op, "the buffer", of, off, n)
	q.mu.Unlock()
	if err != nil {
		return err
	}
	return waitAll(b.suspects(off, off+n, nil))
}

// Target is what kernels are planned for.
func (q *Queue) Target() planner.Target { return q.dev.properties.Target }

// KernelName returns the class and the kernel of a copy: of the launch that Copy kept, or, if it
// is not kept any more, of one that is planned.
func (q *Queue) KernelName(dst, src device.Operand) (class, kernel string) {
	if backend.CheckCopy(&dst, &src) != nil {
		return "", ""
	}
	c := newCall(planner.OpCopy, operands{&dst, &src})
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return "", ""
	}
	if e := q.launches.Find(&c.Operation); e != nil {
		return e.Class, e.Kernel()
	}
	l, err := planner.Plan(&c.Operation, q.dev.properties.Target)
	if err != nil {
		return "", ""
	}
	return l.Class, l.Kernel()
}

// Wait returns when all queued work is done.
func (q *Queue) Wait() error {
	if err := q.begin("Wait"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	return q.finish()
}

// Close waits, then ends the queue.
func (q *Queue) Close() error {
	q.mu.Lock()
	out := q.lentOut()
	q.mu.Unlock()
	if out {
		return lentOutError("Close")
	}
	err := q.end()
	// Not earlier: Close of the device waits for the queues in the list.
	q.dev.mu.Lock()
	delete(q.dev.queues, q)
	q.dev.mu.Unlock()
	return err
}

// end is Close without the device's list.
func (q *Queue) end() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return layout.Errorf(device.ErrClosed, "Close", "the queue was closed before")
	}
	q.closed = true
	q.endCapture()
	err := q.finish()
	for r := range q.replays {
		err = errors.Join(err, r.end())
	}
	q.done.Store(1<<64 - 1) // whatever its number
	q.launches.Clear()
	q.ring.release(q.dev)
	q.statuses.release(&q.timeline)
	q.launches = nil // buffers may refer to the queue
	return errors.Join(err, q.stream.Close())
}
