package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// Queue is a device.Queue over a stream: work in order, which is numbered.
type Queue struct {
	dev    *Device
	stream Stream
	number uint64 // among all queues

	done   atomic.Uint64 // all work up to this number is known to be done
	wanted atomic.Uint64 // frees are deferred until this number

	mu       sync.Mutex // calls come one at a time
	closed   bool
	seq      uint64 // the number of the last piece of work
	probe    probe
	launches *planner.Cache[Mem]
	ring     ring
	args     [planner.MaxArguments]Argument // of the last launch
	statuses statuses
	records  records
	pins     []pin
	capture  *capture // nil: work is run, not captured
	replays  map[*replay]struct{}
	borrowed Borrowed // nil: the stream is nobody else's

	// Used by flow, to avoid allocations.
	parts     []part
	suspected []*outcome
}

// mostLaunches is the most plans of launches that a queue keeps.
const mostLaunches = 1024

// Stream returns the queue's stream.
func (q *Queue) Stream() Stream { return q.stream }

// ownQueue returns a queue of the device.
func (d *Device) ownQueue(op string, of device.Queue) (*Queue, error) {
	q, ok := device.As[*Queue](of)
	if !ok || q == nil || q.dev != d {
		return nil, layout.Errorf(device.ErrInvalid, op, "the queue, a %T, is not of this device", of)
	}
	return q, nil
}

// begin locks the queue for a call, unless there is an error.
func (q *Queue) begin(op string) error {
	q.mu.Lock()
	if q.closed || q.dev.closed.Load() {
		q.mu.Unlock()
		return layout.Errorf(device.ErrClosed, op, "the queue or its device is closed")
	}
	if q.lentOut() {
		q.mu.Unlock()
		return lentOutError(op)
	}
	if q.capture != nil {
		_, others := q.stream.(OthersCapturer)
		if err := backend.CheckCaptured(op); err != nil && !(others && op == "MarkUsed") {
			q.mu.Unlock()
			return err
		}
	}
	return nil
}

// lentOut reports whether the stream's owner is capturing it.
func (q *Queue) lentOut() bool {
	return q.borrowed != nil && !q.closed && q.capture == nil && q.borrowed.Captured()
}

func lentOutError(op string) error {
	return layout.Errorf(device.ErrInvalid, op, "the owner of the queue's stream is capturing it: nobody could tell how long buffers have to live that are part of that")
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
	if !buf.touch(use{q, q.seq}, writes) {
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
		err = q.stage(b.block, off, src)
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

// upload queues a transfer to a block; the caller keeps the host memory alive. Drivers that
// allocate at first use may run out of memory only here.
func (q *Queue) upload(b *block, off int64, src []byte) error {
	err := q.stream.Upload(b.mem, off, src)
	if isMemory(err) {
		q.makeRoom()
		err = q.noRoom(q.stream.Upload(b.mem, off, src))
	}
	return err
}

// download is upload in the other direction.
func (q *Queue) download(dst []byte, b *block, off int64) error {
	err := q.stream.Download(dst, b.mem, off)
	if isMemory(err) {
		q.makeRoom()
		err = q.noRoom(q.stream.Download(dst, b.mem, off))
	}
	return err
}

func isMemory(err error) bool { return err != nil && errors.Is(err, device.ErrOutOfMemory) }

// makeRoom frees what memory it can, for a piece of work that is not queued yet.
func (q *Queue) makeRoom() {
	q.drain(q.seq - 1)
	for _, other := range q.dev.openQueues() {
		other.poll()
	}
	_ = q.dev.trimPool()
}

// withRoom calls f, which allocates memory outside the pool: once more, after makeRoom, if
// memory is short.
func (q *Queue) withRoom(f func() (Mem, error)) (Mem, error) {
	m, err := f()
	if isMemory(err) {
		q.makeRoom()
		m, err = f()
	}
	return m, q.noRoom(err)
}

// loadParameters returns a function that copies a launch's parameters to the device.
func (q *Queue) loadParameters(l Loader) func(parameters []byte) (Mem, error) {
	return func(parameters []byte) (Mem, error) {
		return q.withRoom(func() (Mem, error) { return l.LoadParameters(parameters) })
	}
}

// noRoom adds the amount of held memory to an out-of-memory error.
func (q *Queue) noRoom(err error) error {
	if !isMemory(err) {
		return err
	}
	return fmt.Errorf("%w (%d bytes of %d are held)", err, q.dev.pool.Reserved(), q.dev.properties.Info.Memory)
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

// finish waits for all work, and returns the first error that has not been returned.
func (q *Queue) finish() error {
	_, err := q.drain(q.seq)
	return cmp.Or(q.firstUntold(), err)
}

// waitForWork waits for all work. It returns an error of the device, which cannot be
// attributed; errors of takes and puts go to those that depend on them.
func (q *Queue) waitForWork() error {
	if fault, _ := q.drain(q.seq); fault != nil {
		return fault.tell()
	}
	return nil
}

// drain waits for all queued work, after which work up to a number is done: not the last piece,
// if it is not yet queued completely. The error says why the outcomes of takes and puts are not
// known.
func (q *Queue) drain(seq uint64) (fault *outcome, notAsked error) {
	if q.capture != nil || q.lentOut() {
		return nil, nil // a capture must not be waited for, and none of it runs
	}
	q.dev.counters.Wait()
	q.closeFaults(seq)
	_, notAsked = q.ask()
	err := q.stream.Finish()
	q.records.mu.Lock()
	if err != nil {
		fault = q.faulted(seq, err)
		q.askAgain(err)
	} else {
		q.look()
	}
	q.records.mu.Unlock()
	q.reached(seq) // also after an error: failed work does not continue
	return fault, notAsked
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
	q.statuses.release(q)
	q.launches = nil // buffers may refer to the queue
	return errors.Join(err, q.stream.Close())
}
