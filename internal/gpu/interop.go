package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// Used says that work that others queued on the queue's stream uses buffers, so
// that freeing them waits for it as for the queue's own. It is called after the
// work was queued and before the buffers are freed.
func (q *Queue) Used(buffers ...device.Buffer) error {
	if err := q.begin("Used"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	q.seq++
	for _, b := range buffers {
		if _, err := q.use("Used", "a buffer", b); err != nil {
			return err
		}
	}
	return nil
}

// Adopt makes a buffer of another's memory, whose size is a multiple of 4, as
// kernels access whole words. release is called when the buffer is freed: work on
// it may still be under way. It counts in no Stats. The device is kept from
// closing (see While).
func Adopt(d *Device, m Mem, bytes int64, release func() error) *Buffer {
	b := &Buffer{dev: d, size: bytes, release: release, block: &block{mem: m, size: bytes}}
	d.register(b)
	return b
}

// CheckWords checks the size of memory that is to be adopted.
func CheckWords(op string, bytes int64) error {
	if bytes%4 != 0 {
		return layout.Errorf(device.ErrUnsupported, op, "%d bytes: kernels access words of 4 bytes, of which the size must be a multiple", bytes)
	}
	return nil
}

// AdoptStream makes a queue of a stream, which it closes in the end. The device
// is kept from closing (see While).
func AdoptStream(d *Device, s Stream) *Queue {
	q := &Queue{dev: d, stream: s, number: queueNumber.Add(1)}
	q.launches = kernels.NewCache(d.properties.Target, mostLaunches, q.loadParameters, d.driver.FreeParameters)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues[q] = struct{}{}
	return q
}
