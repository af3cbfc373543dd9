package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
	"github.com/restride/restride/kernels"
)

// gpu is a device behind a driver: what package engine asks for.
type gpu struct {
	drv     driver
	ordinal int
	ctx     context
	info    device.Info
	side    stream // for allocations and descriptors, which wait for it

	mu        sync.Mutex
	modules   []module
	functions map[kernels.Spec]function
	retired   []pointer // descriptors that queued work may still read
	seat      seat      // for calls under mu
}

// minCapability is the oldest compute capability that the kernels are built for.
const minCapability = 70

func openGPU(drv driver, ordinal int) (*gpu, error) {
	f, err := drv.describe(ordinal)
	if err != nil {
		return nil, err
	}
	if f.major*10+f.minor < minCapability {
		return nil, fmt.Errorf("%w: %s has compute capability %d.%d; the kernels need %d.%d", device.ErrUnsupported,
			f.name, f.major, f.minor, minCapability/10, minCapability%10)
	}
	info, err := infoOf(drv, ordinal)
	if err != nil {
		return nil, err
	}
	ctx, err := drv.retainPrimary(ordinal)
	if err != nil {
		return nil, err
	}
	g := &gpu{drv: drv, ordinal: ordinal, ctx: ctx, info: info, functions: map[kernels.Spec]function{}}
	err = g.with(func() error {
		var err error
		g.side, err = drv.newStream()
		return err
	})
	if err != nil {
		return nil, errors.Join(err, drv.releasePrimary(ordinal))
	}
	return g, nil
}

// seat remembers what context a thread had before a call of ours.
type seat struct{ before context }

// enter makes the device's context that of the OS thread, to which the goroutine
// is bound until leave. A context of somebody else's on it comes back then; one
// of ours stays, which costs the next call less.
func (g *gpu) enter(s *seat) error {
	runtime.LockOSThread()
	err := g.drv.current(&s.before)
	if err == nil && s.before != g.ctx {
		err = g.drv.setCurrent(g.ctx)
	}
	if err != nil {
		runtime.UnlockOSThread()
	}
	return err
}

func (g *gpu) leave(s *seat) {
	if s.before != g.ctx && s.before != 0 {
		_ = g.drv.setCurrent(s.before) // it was current a moment ago
	}
	runtime.UnlockOSThread()
}

// with calls f with the device's context.
func (g *gpu) with(f func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.enter(&g.seat); err != nil {
		return err
	}
	defer g.leave(&g.seat)
	return f()
}

func (g *gpu) Traits() engine.Traits { return engine.Traits{Info: g.info, Pinned: true} }

func (g *gpu) Alloc(bytes int64) (engine.Mem, error) {
	var p pointer
	err := g.with(func() error {
		var err error
		p, err = g.alloc(bytes)
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
	return &memory{p}, nil
}

// memory is device memory. A pointer may come back for other memory: these do
// not.
type memory struct{ at pointer }

// alloc returns memory that all streams may use at once.
func (g *gpu) alloc(bytes int64) (pointer, error) {
	if !g.drv.ordered() {
		return g.drv.alloc(bytes)
	}
	p, err := g.drv.allocOn(g.side, bytes)
	if err != nil {
		return 0, err
	}
	return p, g.drv.synchronize(g.side)
}

// release frees memory. With ordered allocation that does not wait for the
// device, as it would otherwise.
func (g *gpu) release(p pointer) error {
	if !g.drv.ordered() {
		return g.drv.free(p)
	}
	return g.drv.freeOn(g.side, p)
}

func (g *gpu) Free(m engine.Mem) error {
	return g.with(func() error { return g.release(m.(*memory).at) })
}

func (g *gpu) AllocHost(bytes int64) ([]byte, error) {
	var p unsafe.Pointer
	err := g.with(func() error {
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
	return g.with(func() error { return g.drv.freeHost(unsafe.Pointer(unsafe.SliceData(b))) })
}

// maxRetired is how many descriptors may wait for the device to be idle.
const maxRetired = 1 << 12

func (g *gpu) Describe(desc []byte) (engine.Mem, error) {
	var p pointer
	err := g.with(func() error {
		if len(g.retired) >= maxRetired {
			if err := g.drv.synchronizeAll(); err != nil {
				return err
			}
			if err := g.freeRetired(); err != nil {
				return err
			}
		}
		var err error
		if p, err = g.alloc(int64(len(desc))); err != nil {
			return err
		}
		if err = g.drv.upload(p, unsafe.Pointer(unsafe.SliceData(desc)), int64(len(desc)), g.side); err == nil {
			err = g.drv.synchronize(g.side)
		}
		if err != nil {
			err = errors.Join(err, g.release(p))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &memory{p}, nil
}

func (g *gpu) Forget(m engine.Mem) {
	g.mu.Lock()
	g.retired = append(g.retired, m.(*memory).at)
	g.mu.Unlock()
}

func (g *gpu) freeRetired() error {
	var errs []error
	for _, p := range g.retired {
		errs = append(errs, g.release(p))
	}
	g.retired = nil
	return errors.Join(errs...)
}

// function returns a kernel, which its first use loads.
func (g *gpu) function(s kernels.Spec) (function, error) {
	var f function
	err := g.with(func() error {
		var ok bool
		if f, ok = g.functions[s]; ok {
			return nil
		}
		text, err := ptxOf(s)
		if err != nil {
			return err
		}
		m, err := g.drv.load(text)
		if err != nil {
			return fmt.Errorf("kernel %v: %w", s, err)
		}
		g.modules = append(g.modules, m)
		if f, err = g.drv.lookup(m, s.String()); err != nil {
			return fmt.Errorf("kernel %v: %w", s, err)
		}
		g.functions[s] = f
		return nil
	})
	return f, err
}

// Close gives everything back. The primary context is left to others who use it.
func (g *gpu) Close() error {
	err := g.with(func() error {
		errs := []error{g.drv.synchronizeAll(), g.freeRetired(), g.drv.synchronize(g.side), g.drv.destroyStream(g.side)}
		for _, m := range g.modules {
			errs = append(errs, g.drv.unload(m))
		}
		return errors.Join(errs...)
	})
	return errors.Join(err, g.drv.releasePrimary(g.ordinal))
}
