package opencl

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// AdoptHost makes a buffer of memory of the host's (device.HostAdopter), if the device is the
// host's processor. Go memory is neither moved nor collected until the buffer is freed and the
// work on it is over.
func (d *Device) AdoptHost(host []byte, done func()) (device.Buffer, error) {
	const op = "AdoptHost"
	var b device.Buffer
	err := gpu.While(d.Device, op, func() error {
		at, bytes := uintptr(unsafe.Pointer(unsafe.SliceData(host))), int64(len(host))
		switch {
		case !d.driver.properties.onHost:
			return layout.Errorf(device.ErrUnsupported, op, "%s has memory of its own", d.Info().ID())
		case bytes == 0:
			return layout.Errorf(device.ErrInvalid, op, "there is no memory")
		case at%16 != 0:
			return layout.Errorf(device.ErrUnsupported, op, "the memory %#x does not begin on 16 bytes", at)
		}
		if err := gpu.CheckWords(op, bytes); err != nil {
			return err
		}
		mem, err := clCreateBuffer.create(d.driver.context, memReadWrite|memUseHostPtr, uintptr(bytes), at)
		if err != nil {
			return err
		}
		b = gpu.Adopt(d.Device, &memory{handle: mem}, bytes, func() error {
			return errors.Join(d.driver.giveBack(mem, bytes), clReleaseMemObject.call(mem))
		}, func() {
			runtime.KeepAlive(host)
			if done != nil {
				done()
			}
		})
		return nil
	})
	return b, err
}

// giveBack makes the device's writes visible to the host: a driver may keep them elsewhere
// until the memory is mapped.
func (d *driver) giveBack(mem uintptr, bytes int64) error {
	queue, err := d.mapper()
	if err != nil {
		return err
	}
	at, err := clEnqueueMapBuffer.create(queue, mem, yes, mapRead, 0, uintptr(bytes), 0, 0, 0)
	if err != nil {
		return err
	}
	return errors.Join(clEnqueueUnmapMemObject.call(queue, mem, at, 0, 0, 0), clFinish.call(queue))
}
