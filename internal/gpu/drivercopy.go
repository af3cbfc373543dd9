package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// CopyByDriver queues a copy of the first bytes of a buffer by a driver's function, which copy
// calls on the queue's stream. Stats do not count it.
func CopyByDriver(d *Device, q device.Queue, dst, src device.Buffer, bytes int64, copy func(s Stream, dst, src Mem) error) error {
	const op = "CopyByDriver"
	queue, err := d.ownQueue(op, q)
	if err != nil {
		return err
	}
	for _, b := range []device.Buffer{dst, src} {
		if err := backend.CheckRange(op, b, 0, bytes); err != nil {
			return err
		}
		if own, ok := b.(*Buffer); !ok || own.dev != d {
			return layout.Errorf(device.ErrInvalid, op, "a buffer, a %T, is not of this device", b)
		}
	}
	if dst == src {
		return layout.Errorf(device.ErrInvalid, op, "dst and src are one buffer")
	}
	if bytes == 0 {
		return nil
	}
	return While(d, op, func() error {
		// Checked first: Used refuses freed buffers.
		if err := queue.Used(dst, src); err != nil {
			return err
		}
		to, from := dst.(*Buffer), src.(*Buffer)
		if err := copy(queue.stream, to.Mem(), from.Mem()); err != nil {
			return err
		}
		to.depend(0, bytes, true, from.suspects(0, bytes, nil))
		return queue.Used(dst, src)
	})
}
