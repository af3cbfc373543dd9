package cuda

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
	"github.com/restride/restride/layout"
)

// CopyByDriver queues a copy of the first bytes of a buffer by the driver, not by
// our kernels (cuMemcpyDtoDAsync): what benchmarks compare with. It counts in no
// Stats.
func (d *Device) CopyByDriver(q device.Queue, dst, src device.Buffer, bytes int64) error {
	const op = "CopyByDriver"
	sharer, ok := q.(device.Sharer)
	if !ok || StreamOf(q) == 0 {
		return layout.Errorf(device.ErrInvalid, op, "the queue, a %T, is none of cuda, or the default stream", q)
	}
	for _, b := range []device.Buffer{dst, src} {
		if err := device.CheckRange(op, b, 0, bytes); err != nil {
			return err
		}
		if own, ok := b.(*engine.Buffer); !ok || own.Device() != d.Device {
			return layout.Errorf(device.ErrInvalid, op, "a buffer, a %T, is not of this device", b)
		}
	}
	if dst == src {
		return layout.Errorf(device.ErrInvalid, op, "dst and src are one buffer")
	}
	if bytes == 0 {
		return nil
	}
	return engine.While(d.Device, op, func() error {
		// Used before, too: it says whether the buffers are the queue's and alive.
		if err := sharer.Used(dst, src); err != nil {
			return err
		}
		err := d.g.with(func(f *frame) error {
			return d.g.drv.copyWithin(f, pointer(PointerOf(dst)), pointer(PointerOf(src)), bytes, stream(StreamOf(q)))
		})
		if err != nil {
			return err
		}
		return sharer.Used(dst, src)
	})
}
