package cuda

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
	"github.com/restride/restride/layout"
)

// withinCopier is the part of a driver that CopyByDriver needs; not every one has
// it.
type withinCopier interface {
	copyWithin(dst, src pointer, n int64, s stream) error
}

// CopyByDriver queues a copy of the first bytes of a buffer by the driver, not by
// our kernels (cuMemcpyDtoDAsync): what benchmarks compare with. It counts in no
// Stats.
func (d *Device) CopyByDriver(q device.Queue, dst, src device.Buffer, bytes int64) error {
	const op = "CopyByDriver"
	drv, ok := d.g.drv.(withinCopier)
	if !ok {
		return layout.Errorf(device.ErrUnsupported, op, "%s does not copy within a device", d.g.drv.name())
	}
	sharer, ok := q.(device.Sharer)
	if !ok || StreamOf(q) == 0 {
		return layout.Errorf(device.ErrInvalid, op, "the queue, a %T, is none of cuda, or the default stream", q)
	}
	for _, b := range []device.Buffer{dst, src} {
		if err := device.CheckRange(op, b, 0, bytes); err != nil {
			return err
		}
	}
	if dst == src {
		return layout.Errorf(device.ErrInvalid, op, "dst and src are one buffer")
	}
	if bytes == 0 {
		return nil
	}
	return engine.While(d.Device, op, func() error {
		// Used before, too: it says whether the buffers are of this device and alive.
		if err := sharer.Used(dst, src); err != nil {
			return err
		}
		err := d.g.with(func(*frame) error {
			return drv.copyWithin(pointer(PointerOf(dst)), pointer(PointerOf(src)), bytes, stream(StreamOf(q)))
		})
		if err != nil {
			return err
		}
		return sharer.Used(dst, src)
	})
}
