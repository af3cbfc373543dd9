package gpu

import (
	"runtime"
	"unsafe"

	"github.com/restride/restride/device"
)

// WriteAsync copies src to the buffer from byte off, without waiting.
func (q *Queue) WriteAsync(dst device.Buffer, off int64, src []byte) (device.Event, error) {
	e, err := q.async("WriteAsync", written, dst, off, src, func(b *block) error { return q.upload(b, off, src) })
	if err != nil {
		return nil, err
	}
	q.dev.counters.Upload(int64(len(src)))
	return e, nil
}

// ReadAsync copies len(dst) bytes of the buffer from byte off, without waiting. The event's
// Wait returns the error of the work that the bytes depend on.
func (q *Queue) ReadAsync(dst []byte, src device.Buffer, off int64) (device.Event, error) {
	e, err := q.async("ReadAsync", "src", src, off, dst, func(b *block) error { return q.download(dst, b, off) })
	if err != nil {
		return nil, err
	}
	q.dev.counters.Download(int64(len(dst)))
	return e, nil
}

// async queues a transfer and an event behind it, and pins the host memory until
// then.
func (q *Queue) async(op, role string, buffer device.Buffer, off int64, host []byte, transfer func(*block) error) (*queueEvent, error) {
	if err := q.begin(op); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	b, err := q.useRange(op, role, buffer, off, int64(len(host)))
	if err != nil {
		return nil, err
	}
	if len(host) > 0 {
		p := new(runtime.Pinner)
		p.Pin(unsafe.SliceData(host))
		q.pins = append(q.pins, pin{q.seq, p})
		if err := transfer(b.block); err != nil {
			return nil, err
		}
	}
	e, err := q.record()
	if err != nil {
		q.drain(q.seq) // the host memory may be reused by the caller
		return nil, err
	}
	if end := off + int64(len(host)); role == written {
		b.depend(off, end, true, nil)
	} else {
		e.suspects = b.suspects(off, end, nil)
	}
	q.reached(q.done.Load()) // unpins the memory of earlier transfers
	return e, nil
}
