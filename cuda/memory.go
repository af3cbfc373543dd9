package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

// memory is device memory. The driver may reuse a pointer for other memory; a *memory is
// unique.
type memory struct {
	at      cuDevicePtr
	ordered bool  // allocated and freed in the order of a stream
	pooled  int64 // bytes, if it comes from the driver's own pool
}

func (d *driver) Alloc(bytes int64) (gpu.Mem, error) {
	var m *memory
	err := d.with(func(f *frame) error {
		var err error
		m, err = d.alloc(f, bytes)
		if errors.Is(err, device.ErrOutOfMemory) {
			if free, total, infoErr := d.api.memory(); d.check(infoErr) == nil {
				err = fmt.Errorf("%w: %d bytes asked for; %d of %d are free", err, bytes, free, total)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// alloc returns memory that all streams may use immediately.
func (d *driver) alloc(f *frame, bytes int64) (*memory, error) {
	if d.ordered {
		m, err := d.allocOrdered(bytes)
		if err == nil {
			if err = d.api.synchronize(f, d.side); err != nil {
				return nil, errors.Join(err, d.release(m))
			}
			return m, nil
		}
		if !errors.Is(err, device.ErrUnsupported) { // some virtual GPUs return this although they report pools
			return nil, err
		}
	}
	p, err := d.api.alloc(bytes)
	return &memory{at: p}, err
}

// release frees memory: in the order of a stream if possible, as cuMemFree waits for the
// device.
func (d *driver) release(m *memory) error {
	if m.pooled > 0 {
		d.hold(-m.pooled)
	}
	if m.ordered {
		return d.api.freeOn(d.side, m.at)
	}
	return d.api.free(m.at)
}

func (d *driver) Free(m gpu.Mem) error {
	return d.giveBack(func(*frame) error { return d.release(m.(*memory)) })
}

// PartAlign is the alignment of words that kernels access.
func (d *driver) PartAlign() int64 { return 16 }

// Part returns the address of a part.
func (d *driver) Part(m gpu.Mem, off, _ int64) (gpu.Mem, error) {
	return &memory{at: m.(*memory).at + cuDevicePtr(off)}, nil
}

// FreePart has nothing to free.
func (d *driver) FreePart(gpu.Mem) error { return nil }

func (d *driver) AllocHost(bytes int64) ([]byte, error) {
	var p unsafe.Pointer
	err := d.with(func(*frame) error {
		var err error
		p, err = d.api.allocHost(bytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

func (d *driver) FreeHost(b []byte) error {
	return d.giveBack(func(*frame) error { return d.api.freeHost(unsafe.Pointer(unsafe.SliceData(b))) })
}
