package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
)

// memory is device memory. A pointer may come back for other memory: these do
// not.
type memory struct {
	at      pointer
	ordered bool // taken in the order of a stream, and freed so
}

func (g *gpu) Alloc(bytes int64) (engine.Mem, error) {
	var m *memory
	err := g.with(func(f *frame) error {
		var err error
		m, err = g.alloc(f, bytes)
		if errors.Is(err, device.ErrOutOfMemory) {
			if free, total, infoErr := g.drv.memory(); infoErr == nil {
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
func (g *gpu) alloc(f *frame, bytes int64) (*memory, error) {
	if g.ordered {
		p, err := g.drv.allocOn(g.side, bytes)
		if err == nil {
			if err = g.drv.synchronize(f, g.side); err != nil {
				return nil, errors.Join(err, g.drv.freeOn(g.side, p))
			}
			return &memory{p, true}, nil
		}
		if !errors.Is(err, device.ErrUnsupported) { // as some virtual GPUs say that can
			return nil, err
		}
	}
	p, err := g.drv.alloc(bytes)
	return &memory{p, false}, err
}

// release frees memory: in the order of a stream that does not wait for the
// device, as it would otherwise.
func (g *gpu) release(m *memory) error {
	if m.ordered {
		return g.drv.freeOn(g.side, m.at)
	}
	return g.drv.free(m.at)
}

func (g *gpu) Free(m engine.Mem) error {
	return g.giveBack(func(*frame) error { return g.release(m.(*memory)) })
}

func (g *gpu) AllocHost(bytes int64) ([]byte, error) {
	var p unsafe.Pointer
	err := g.with(func(*frame) error {
		var err error
		p, err = g.drv.allocHost(bytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

func (g *gpu) FreeHost(b []byte) error {
	return g.giveBack(func(*frame) error { return g.drv.freeHost(unsafe.Pointer(unsafe.SliceData(b))) })
}

func (g *gpu) Describe(desc []byte) (engine.Mem, error) {
	var m *memory
	err := g.with(func(f *frame) error {
		err := g.collect(f)
		if err != nil {
			return err
		}
		if m, err = g.alloc(f, int64(len(desc))); err != nil {
			return err
		}
		err = g.drv.upload(f, m.at, unsafe.Pointer(unsafe.SliceData(desc)), int64(len(desc)), g.side)
		if err == nil {
			err = g.drv.synchronize(f, g.side)
		}
		if err != nil {
			err = errors.Join(err, g.release(m))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// mostRetired is how many descriptors may wait for the device to be idle.
const mostRetired = 1 << 12

func (g *gpu) Forget(m engine.Mem) {
	g.mu.Lock()
	g.retired = append(g.retired, m.(*memory))
	g.mu.Unlock()
}

// collect frees forgotten descriptors, if there are many, when the queues have
// done what they have. Those of graphs stay, and all do during a capture.
func (g *gpu) collect(f *frame) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.retired)-len(g.kept) < mostRetired || g.captures > 0 {
		return nil
	}
	for q := range g.queues {
		if err := g.drv.synchronize(f, q.s); err != nil {
			return err
		}
	}
	return g.freeRetired()
}

func (g *gpu) freeRetired() error {
	var errs []error
	kept := g.retired[:0]
	for _, m := range g.retired {
		if g.kept[m] > 0 {
			kept = append(kept, m)
		} else {
			errs = append(errs, g.release(m))
		}
	}
	clear(g.retired[len(kept):])
	g.retired = kept
	return errors.Join(errs...)
}
