package cuda

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
	"github.com/restride/restride/layout"
)

// Device is a CUDA device. Its buffers and queues are those of device.Device;
// what else they can do is in the optional interfaces of package device.
type Device struct {
	*engine.Device
	g *gpu
}

// Options say how to open a device. The zero Options are right for most uses.
type Options struct {
	// PlainMemory takes memory by cuMemAlloc, not from the driver's pool
	// (cuMemAllocAsync): other processes and devices can share only the former.
	// Freeing it makes the driver wait for the device.
	PlainMemory bool
}

// OpenWith opens the device with the given index, with its primary context, which
// programs of CUDA's runtime API share.
func OpenWith(index int, o Options) (*Device, error) {
	drv, err := openDriver()
	if err != nil {
		return nil, err
	}
	n, err := drv.deviceCount()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= n {
		return nil, fmt.Errorf("%w: there is no CUDA device %d of %d", device.ErrNoDevice, index, n)
	}
	return open(drv, index, 0, o)
}

func open(drv driver, ordinal int, ctx context, o Options) (*Device, error) {
	g, err := openGPU(drv, ordinal, ctx, o)
	if err != nil {
		return nil, err
	}
	return &Device{engine.New(g), g}, nil
}

// Handles are a device's handles of the driver: a CUcontext, and the ordinal of
// its CUdevice.
type Handles struct {
	Context uintptr
	Ordinal int
}

// Handles returns the device's handles. The context is valid until the device is
// closed, or as long as somebody else retains it.
func (d *Device) Handles() Handles { return Handles{uintptr(d.g.ctx), d.g.ordinal} }

// PointerOf returns a buffer's CUdeviceptr, valid until the buffer is freed; 0 for
// a buffer of no bytes, or of another backend. Work that others queue on it must
// be told to a queue: see device.Sharer.
func PointerOf(b device.Buffer) uintptr {
	if buffer, ok := b.(*engine.Buffer); ok && buffer != nil {
		if m, ok := buffer.Mem().(*memory); ok {
			return uintptr(m.at)
		}
	}
	return 0
}

// StreamOf returns a queue's CUstream, valid until the queue is closed; 0 for a
// queue of another backend. It does not wait for the legacy default stream.
func StreamOf(q device.Queue) uintptr {
	if it, ok := q.(*engine.Queue); ok && it != nil {
		if s, ok := it.Stream().(*queue); ok {
			return uintptr(s.s)
		}
	}
	return 0
}

// Adopt makes a device of an engine's context, which must live until the device
// is closed, and which is left as it is then.
func Adopt(h Handles, o Options) (*Device, error) {
	const op = "Adopt"
	drv, err := openDriver()
	if err != nil {
		return nil, err
	}
	if h.Context == 0 {
		return nil, layout.Errorf(device.ErrInvalid, op, "the context is nil")
	}
	n, err := ordinalOf(drv, context(h.Context))
	if err != nil {
		return nil, err
	}
	if n != h.Ordinal {
		return nil, layout.Errorf(device.ErrInvalid, op, "the context is of device %d, not of %d", n, h.Ordinal)
	}
	return open(drv, h.Ordinal, context(h.Context), o)
}

// ordinalOf says which device a context is of.
func ordinalOf(drv driver, ctx context) (n int, err error) {
	g := &gpu{drv: drv, ctx: ctx} // a device that is not open yet
	err = g.with(func(*frame) error {
		var err error
		n, err = drv.ordinal()
		return err
	})
	return n, err
}

// AdoptBuffer makes a buffer of an engine's device memory, of which it takes the
// first bytes: a multiple of 4, as kernels access whole words, from an address
// that is a multiple of 16, as they access vectors. The memory must live until the
// buffer is freed and the work on it is done; it is left as it is then. It counts
// in no Stats.
func (d *Device) AdoptBuffer(at uintptr, bytes int64) (device.Buffer, error) {
	const op = "AdoptBuffer"
	var b device.Buffer
	err := engine.While(d.Device, op, func() error {
		switch {
		case at == 0 || bytes < 0:
			return layout.Errorf(device.ErrInvalid, op, "memory %#x of %d bytes", at, bytes)
		case at%16 != 0:
			return layout.Errorf(device.ErrUnsupported, op, "address %#x: kernels access vectors of 16 bytes, of which it must be a multiple; adopt what is before, and use an offset", at)
		}
		if err := engine.CheckWords(op, bytes); err != nil {
			return err
		}
		if err := d.g.with(func(*frame) error { return d.checkPlace(op, pointer(at), bytes) }); err != nil {
			return err
		}
		b = engine.Adopt(d.Device, &memory{at: pointer(at)}, bytes, func() error { return nil })
		return nil
	})
	return b, err
}

// checkPlace refuses memory that is not the device's.
func (d *Device) checkPlace(op string, at pointer, bytes int64) error {
	p, err := d.g.drv.place(at)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", layout.Errorf(device.ErrInvalid, op, "%#x is no address of CUDA's", at), err)
	case !p.device:
		return layout.Errorf(device.ErrUnsupported, op, "the memory at %#x is the host's", at)
	case p.ordinal != d.g.ordinal:
		return layout.Errorf(device.ErrInvalid, op, "the memory at %#x is that of device %d, not of %d", at, p.ordinal, d.g.ordinal)
	case at+pointer(bytes) > p.base+pointer(p.bytes):
		return layout.Errorf(device.ErrInvalid, op, "%d bytes from %#x, of an allocation of %d from %#x", bytes, at, p.bytes, p.base)
	}
	return nil
}

// perThread is the default stream of the calling thread: which one that is, Go
// does not say.
const perThread = 2

// AdoptStream makes a queue of an engine's CUstream of the same context; 0 is the
// legacy default stream. It must live until the queue is closed, which waits for
// all work on it, the engine's, too, and leaves it as it is.
func (d *Device) AdoptStream(handle uintptr) (device.Queue, error) {
	const op = "AdoptStream"
	var q device.Queue
	err := engine.While(d.Device, op, func() error {
		if handle == perThread {
			return layout.Errorf(device.ErrUnsupported, op, "the default stream of a thread: goroutines change threads")
		}
		err := d.g.with(func(*frame) error {
			of, err := d.g.drv.contextOf(stream(handle))
			if err == nil && of != d.g.ctx {
				err = layout.Errorf(device.ErrInvalid, op, "the stream is of another context")
			}
			return err
		})
		if err == nil {
			q = engine.AdoptStream(d.Device, d.g.queue(stream(handle), false))
		}
		return err
	})
	return q, err
}
