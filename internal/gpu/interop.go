package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// OthersCapturer is implemented by streams whose captures contain the work of others, too.
type OthersCapturer interface{ CapturesOthers() }

// MarkUsed notes that work that others queued on the queue's stream uses buffers: freeing
// them takes account of it as of the queue's own. It is called after the work was
// queued and before the buffers are freed. A capture that contains such work keeps them.
func (q *Queue) MarkUsed(buffers ...device.Buffer) error {
	if err := q.begin("MarkUsed"); err != nil {
		return err
	}
	defer q.mu.Unlock()
	q.seq++
	for _, b := range buffers {
		if _, err := q.use("MarkUsed", "a buffer", b); err != nil {
			return err
		}
	}
	return nil
}

// Adopt makes a buffer of foreign memory. The size is a multiple of 4 (see CheckWords). release
// is called when the buffer is freed, with work on it perhaps under way; done, unless it is
// nil, when that work is over, at the latest by the device's Close, perhaps in a goroutine of
// its own. Stats do not count the buffer. The caller is within While.
func Adopt(d *Device, m Mem, bytes int64, release func() error, done func()) *Buffer {
	b := &Buffer{dev: d, size: bytes, release: release, done: done, block: &block{mem: m, size: bytes}}
	d.register(b)
	return b
}

// CheckWords refuses to adopt memory that is not a whole number of words, which kernels access.
// Kernels read the whole of the aligned 16 bytes in which the memory ends, but never write
// beyond its end: a page always contains those bytes.
func CheckWords(op string, bytes int64) error {
	if bytes%4 != 0 {
		return layout.Errorf(device.ErrUnsupported, op, "%d bytes: kernels access words of 4 bytes, of which the size must be a multiple", bytes)
	}
	return nil
}

// AdoptStream makes a queue of a stream, which the queue's Close closes. The caller
// is within While.
func AdoptStream(d *Device, s Stream) *Queue {
	q := &Queue{timeline: timeline{dev: d, stream: s, number: queueNumber.Add(1)}}
	q.borrowed, _ = s.(Borrowed)
	var load func([]byte) (Mem, error)
	var free func(Mem)
	if l, ok := d.driver.(Loader); ok {
		load, free = q.loadParameters(l), l.FreeParameters
	}
	q.launches = planner.NewCache(d.properties.Target, mostLaunches, load, free)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues[q] = struct{}{}
	return q
}
