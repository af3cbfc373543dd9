package cuda

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// CopyByDriver queues a copy of the first bytes of a buffer by the driver (cuMemcpyDtoDAsync),
// not by a kernel of this module: the reference of benchmarks. Stats do not count it.
func (d *Device) CopyByDriver(q device.Queue, dst, src device.Buffer, bytes int64) error {
	return gpu.CopyByDriver(d.Device, q, dst, src, bytes, func(s gpu.Stream, to, from gpu.Mem) error {
		on := s.(*stream).handle
		if on == 0 {
			return layout.Errorf(device.ErrInvalid, "CopyByDriver", "the queue is the default stream")
		}
		return d.driver.with(func(f *frame) error {
			return d.driver.api.copyWithin(f, to.(*memory).at, from.(*memory).at, bytes, on)
		})
	})
}
