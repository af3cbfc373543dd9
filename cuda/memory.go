package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

// memory is device memory. The driver may use a pointer again for other memory; a
// *memory differs.
type memory struct {
	at      cuDevicePtr
	ordered bool // allocated in the order of a stream, and freed so
}

func (d *driver) Alloc(bytes int64) (gpu.Mem, error) {
	var m *memory
	err := d.with(func(f *frame) error {
		var err error
		m, err = d.alloc(f, bytes)
		if errors.Is(err, device.ErrOutOfMemory) {
			if free, total, infoErr := d.api.memory(); infoErr == nil {
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

// alloc returns memory that all streams may use at once.
func (d *driver) alloc(f *frame, bytes int64) (*memory, error) {
	if d.ordered {
		p, err := d.api.allocOn(d.side, bytes)
		if err == nil {
			if err = d.api.synchronize(f, d.side); err != nil {
				return nil, errors.Join(err, d.api.freeOn(d.side, p))
			}
			return &memory{p, true}, nil
		}
		if !errors.Is(err, device.ErrUnsupported) { // some virtual GPUs say so although they report pools
			return nil, err
		}
	}
	p, err := d.api.alloc(bytes)
	return &memory{p, false}, err
}

// release frees memory: where it can, in the order of a stream, as cuMemFree waits for
// the device.
func (d *driver) release(m *memory) error {
	if m.ordered {
		return d.api.freeOn(d.side, m.at)
	}
	return d.api.free(m.at)
}

func (d *driver) Free(m gpu.Mem) error {
	return d.giveBack(func(*frame) error { return d.release(m.(*memory)) })
}

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

func (d *driver) LoadParameters(parameters []byte) (gpu.Mem, error) {
	var m *memory
	err := d.with(func(f *frame) error {
		err := d.collect(f)
		if err != nil {
			return err
		}
		if m, err = d.alloc(f, int64(len(parameters))); err != nil {
			return err
		}
		err = d.api.upload(f, m.at, unsafe.Pointer(unsafe.SliceData(parameters)), int64(len(parameters)), d.side)
		if err == nil {
			err = d.api.synchronize(f, d.side)
		}
		if err != nil {
			err = errors.Join(err, d.release(m))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// mostRetired is the most freed parameters that are kept before collect waits.
const mostRetired = 1 << 12

func (d *driver) FreeParameters(m gpu.Mem) {
	d.mu.Lock()
	d.retired = append(d.retired, m.(*memory))
	d.mu.Unlock()
}

// collect frees retired parameters, if there are many, after a wait for all streams.
// Those of graphs stay, and during a capture all do.
func (d *driver) collect(f *frame) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.retired)-len(d.kept) < mostRetired || d.captures > 0 {
		return nil
	}
	for s := range d.streams {
		if err := d.api.synchronize(f, s.handle); err != nil {
			return err
		}
	}
	return d.freeRetired()
}

func (d *driver) freeRetired() error {
	var errs []error
	kept := d.retired[:0]
	for _, m := range d.retired {
		if d.kept[m] > 0 {
			kept = append(kept, m)
		} else {
			errs = append(errs, d.release(m))
		}
	}
	clear(d.retired[len(kept):])
	d.retired = kept
	return errors.Join(errs...)
}
