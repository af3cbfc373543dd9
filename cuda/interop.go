package cuda

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// Handles are a device's handles: a CUcontext, and the ordinal of its CUdevice.
type Handles struct {
	Context uintptr
	Ordinal int
}

// Handles returns the device's handles. The context is valid until the device is
// closed, or for as long as somebody else retains it.
func (d *Device) Handles() Handles { return Handles{uintptr(d.driver.ctx), d.driver.ordinal} }

// Library returns the driver's library, for the program's own binding: the name or path that it
// was found by, and its handle, as dlopen or LoadLibrary return it.
func Library() (path string, handle uintptr, err error) {
	a, err := openAPI()
	if err != nil {
		return "", 0, err
	}
	return a.name(), a.libraryHandle(), nil
}

// HandleOf returns a buffer's CUdeviceptr, valid until the buffer is freed; 0 for a
// buffer of no bytes, or of another backend (device.HandleMemory). A program that queues work
// of its own on it calls MarkUsed of device.Sharer before the buffer is freed.
func (d *Device) HandleOf(b device.Buffer) uintptr { return handleOf(b) }

func handleOf(b device.Buffer) uintptr {
	if buffer, ok := b.(*gpu.Buffer); ok && buffer != nil {
		if m, ok := buffer.Mem().(*memory); ok {
			return uintptr(m.at)
		}
	}
	return 0
}

// StreamOf returns a queue's CUstream, valid until the queue is closed; 0 for a
// queue of another backend. It does not wait for the legacy default stream.
func StreamOf(q device.Queue) uintptr {
	if it, ok := device.As[*gpu.Queue](q); ok && it != nil {
		if s, ok := it.Stream().(*stream); ok {
			return uintptr(s.handle)
		}
	}
	return 0
}

// Adopt makes a device of an engine's context, which must live until the device is closed, and
// which Close does not destroy.
func Adopt(h Handles, o Options) (*Device, error) {
	const op = "Adopt"
	a, err := openAPI()
	if err != nil {
		return nil, err
	}
	if h.Context == 0 {
		return nil, layout.Errorf(device.ErrInvalid, op, "the context is nil")
	}
	n, err := ordinalOf(a, cuContext(h.Context))
	if err != nil {
		return nil, err
	}
	if n != h.Ordinal {
		return nil, layout.Errorf(device.ErrInvalid, op, "the context is of device %d, not of %d", n, h.Ordinal)
	}
	return newDevice(a, h.Ordinal, cuContext(h.Context), o)
}

// ordinalOf returns the ordinal of a context's device.
func ordinalOf(a api, ctx cuContext) (n int, err error) {
	d := &driver{api: a, ctx: ctx} // a device that is not open yet
	err = d.with(func(*frame) error {
		var err error
		n, err = a.ordinal()
		return err
	})
	return n, err
}

// AdoptHandle makes a buffer of bytes of an engine's device memory from an address on
// (device.HandleMemory). The size is a multiple of 4, as kernels access whole words, the
// address of 16, as they access vectors; others are device.ErrUnsupported. Kernels may read,
// and never write, up to 12 bytes behind it, to the next multiple of 16. The memory is of the
// device's context or of a pool. It must live until the buffer is freed and the work on it is
// done, when done is called, unless it is nil; Free leaves the memory as it is. The buffer
// counts in no Stats.
func (d *Device) AdoptHandle(at uintptr, bytes int64, done func()) (device.Buffer, error) {
	const op = "AdoptHandle"
	var b device.Buffer
	err := gpu.While(d.Device, op, func() error {
		switch {
		case at == 0 || bytes < 0:
			return layout.Errorf(device.ErrInvalid, op, "memory %#x of %d bytes", at, bytes)
		case at%16 != 0:
			return layout.Errorf(device.ErrUnsupported, op, "address %#x: kernels access vectors of 16 bytes, of which it must be a multiple; adopt what is before, and use an offset", at)
		}
		if err := gpu.CheckWords(op, bytes); err != nil {
			return err
		}
		if err := d.driver.with(func(*frame) error { return d.checkLocation(op, cuDevicePtr(at), bytes) }); err != nil {
			return err
		}
		b = gpu.Adopt(d.Device, &memory{at: cuDevicePtr(at)}, bytes, func() error { return nil }, done)
		return nil
	})
	return b, err
}

// checkLocation refuses memory that is not the device's.
func (d *Device) checkLocation(op string, at cuDevicePtr, bytes int64) error {
	p, err := d.driver.api.locate(at)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", layout.Errorf(device.ErrInvalid, op, "%#x is no address of CUDA's", at), err)
	case !p.device:
		return layout.Errorf(device.ErrUnsupported, op, "the memory at %#x is the host's", at)
	case p.ordinal != d.driver.ordinal:
		return layout.Errorf(device.ErrInvalid, op, "the memory at %#x is that of device %d, not of %d", at, p.ordinal, d.driver.ordinal)
	case p.context != 0 && p.context != d.driver.ctx:
		return layout.Errorf(device.ErrInvalid, op, "the memory at %#x is that of another context of device %d, which kernels here do not reach", at, p.ordinal)
	case at+cuDevicePtr(bytes) > p.base+cuDevicePtr(p.bytes):
		return layout.Errorf(device.ErrInvalid, op, "%d bytes from %#x, of an allocation of %d from %#x", bytes, at, p.bytes, p.base)
	}
	return nil
}

// perThread is the default stream of the calling thread, which a goroutine cannot choose.
const perThread = 2

// AdoptStream makes a queue of an engine's CUstream of the same context; 0 is the
// legacy default stream. The stream must live until the queue is closed. Close waits for all
// work on it, also the engine's, and does not destroy it. While the engine captures the stream,
// calls of the queue are device.ErrInvalid.
func (d *Device) AdoptStream(handle uintptr) (device.Queue, error) {
	const op = "AdoptStream"
	var q device.Queue
	err := gpu.While(d.Device, op, func() error {
		if handle == perThread {
			return layout.Errorf(device.ErrUnsupported, op, "the default stream of a thread: goroutines change threads")
		}
		err := d.driver.with(func(*frame) error {
			of, err := d.driver.api.contextOf(cuStream(handle))
			if err == nil && of != d.driver.ctx {
				err = layout.Errorf(device.ErrInvalid, op, "the stream is of another context")
			}
			return err
		})
		if err == nil {
			q = gpu.AdoptStream(d.Device, newStream(d.driver, cuStream(handle), false))
		}
		return err
	})
	return q, err
}
