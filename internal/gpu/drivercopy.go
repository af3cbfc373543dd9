package gpu

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// Copier is implemented by drivers with a copy of their own.
type Copier interface {
	// Copy queues a copy of the first bytes on a stream.
	Copy(s Stream, dst, src Mem, bytes int64) error
}

// CopyByDriver queues a copy of the first bytes of a buffer by the driver, not by a kernel
// of this module (device.DriverCopier): what benchmarks compare with. It counts in no Stats.
func (d *Device) CopyByDriver(q device.Queue, dst, src device.Buffer, bytes int64) error {
	const op = "CopyByDriver"
	driver, ok := d.driver.(Copier)
	if !ok {
		return layout.Errorf(device.ErrUnsupported, op, "the driver of %s has no copy", d.Info().ID())
	}
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
		if err := driver.Copy(queue.stream, to.Mem(), from.Mem(), bytes); err != nil {
			return err
		}
		to.depend(0, bytes, true, from.suspects(0, bytes, nil))
		return queue.Used(dst, src)
	})
}
