package opencl

import (
	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

// CopyByDriver queues a copy of the first bytes of a buffer by the driver
// (clEnqueueCopyBuffer), not by a kernel of this module: the reference of benchmarks. Stats do
// not count it.
func (d *Device) CopyByDriver(q device.Queue, dst, src device.Buffer, bytes int64) error {
	return gpu.CopyByDriver(d.Device, q, dst, src, bytes, func(s gpu.Stream, to, from gpu.Mem) error {
		return clEnqueueCopyBuffer.call(s.(*stream).handle, from.(*memory).handle, to.(*memory).handle, 0, 0, uintptr(bytes), 0, 0, 0)
	})
}
