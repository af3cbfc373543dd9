package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/engine"
)

// gpu is a device behind a driver: what package engine asks for.
type gpu struct {
	drv     driver
	number  uint64 // among all that were opened
	ordinal int
	ctx     context
	primary bool // ctx is a reference to the device's primary context
	info    device.Info
	ordered bool   // memory comes in the order of a stream
	side    stream // for memory and descriptors, which wait for it
	modules modules
	lost    atomic.Bool // the context is: no call succeeds any more

	bus         string // its place on the bus; "": unknown
	sensors     sensors
	sensorsOnce sync.Once

	// life is read-locked by the calls of marks, which may outlive the device.
	life   sync.RWMutex
	closed bool

	mu       sync.Mutex
	queues   map[*queue]struct{}
	retired  []*memory       // descriptors that queued work may still read
	kept     map[*memory]int // descriptors by the graphs that they are in
	captures int             // that are under way
	idle     []event         // to be recorded anew
	events   map[event]struct{}
	ways     map[uint64]bool // to devices, by their number, that were opened or cannot be
}

// minCapability is the oldest compute capability that the kernels are built for.
const minCapability = 70

// usable returns what a device is, or why it is of no use.
func usable(drv driver, ordinal int) (facts, device.Info, error) {
	f, err := drv.describe(ordinal)
	if err != nil {
		return facts{}, device.Info{}, err
	}
	if f.major*10+f.minor < minCapability {
		return facts{}, device.Info{}, fmt.Errorf("%w: cuda:%d, %s, has compute capability %d.%d; the kernels need %d.%d",
			device.ErrUnsupported, ordinal, f.name, f.major, f.minor, minCapability/10, minCapability%10)
	}
	v, err := drv.version()
	return f, device.Info{
		Backend: "cuda", Index: ordinal, Name: f.name, Vendor: "NVIDIA", Kind: device.GPU,
		Driver: fmt.Sprintf("CUDA %s, compute capability %d.%d", versionString(v), f.major, f.minor),
		Memory: f.memory, MHz: max(f.clock, 0) / 1000, MaxAlloc: f.memory &^ 15,
	}, err
}

// openGPU opens a device with a context of the caller's, or with its primary one
// if that is 0.
func openGPU(drv driver, ordinal int, ctx context, o Options) (*gpu, error) {
	f, info, err := usable(drv, ordinal)
	if err != nil {
		return nil, err
	}
	g := &gpu{
		drv: drv, number: gpuNumber.Add(1), ordinal: ordinal, ctx: ctx, info: info, bus: f.bus,
		ordered: f.pools && drv.ordered() && !o.PlainMemory,
		queues:  map[*queue]struct{}{}, events: map[event]struct{}{}, kept: map[*memory]int{},
		ways: map[uint64]bool{},
	}
	g.modules.init(g)
	if ctx == 0 {
		if g.ctx, err = drv.retainPrimary(ordinal); err != nil {
			return nil, err
		}
		g.primary = true
	}
	err = g.with(func(*frame) error {
		var err error
		g.side, err = drv.newStream()
		return err
	})
	if err != nil {
		return nil, errors.Join(err, g.letGo())
	}
	return g, nil
}

// letGo gives the context back. The primary one stays with others who use it.
func (g *gpu) letGo() error {
	if !g.primary {
		return nil
	}
	return g.drv.releasePrimary(g.ordinal)
}

// seat is a place on an OS thread: the context that it had before a call of ours.
type seat struct {
	frame
	before context
}

// enter makes the device's context that of the OS thread, to which the goroutine
// is bound until leave. A context of somebody else's comes back then; where there
// was none, ours stays, which costs the next call less.
func (g *gpu) enter(s *seat) error {
	runtime.LockOSThread()
	var err error
	if s.before, err = g.drv.current(&s.frame); err == nil && s.before != g.ctx {
		err = g.drv.setCurrent(&s.frame, g.ctx)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return g.check(err)
	}
	return nil
}

// leave ends what an enter without an error began.
func (g *gpu) leave(s *seat) {
	if s.before != g.ctx && s.before != 0 {
		_ = g.drv.setCurrent(&s.frame, s.before) // fails if it has ended or is lost: then nobody misses it
	}
	runtime.UnlockOSThread()
}

var seats = sync.Pool{New: func() any { return new(seat) }}

// with calls f with the device's context.
func (g *gpu) with(f func(*frame) error) error {
	s := seats.Get().(*seat)
	defer seats.Put(s)
	if err := g.enter(s); err != nil {
		return err
	}
	defer g.leave(s)
	return g.check(f(&s.frame))
}

// check notes that the context is lost.
func (g *gpu) check(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, ErrLost) {
		g.lost.Store(true)
	}
	return err
}

// giveBack is with for what a lost context does not have any more.
func (g *gpu) giveBack(f func(*frame) error) error {
	if g.lost.Load() {
		return nil
	}
	return g.with(f)
}

func (g *gpu) Traits() engine.Traits { return engine.Traits{Info: g.info, Pinned: true} }

// Close gives everything back.
func (g *gpu) Close() error {
	g.life.Lock() // marks are let go
	g.closed = true
	g.life.Unlock()
	err := g.giveBack(func(f *frame) error {
		clear(g.kept) // no graph is left
		errs := []error{g.freeRetired()}
		for e := range g.events {
			errs = append(errs, g.drv.destroyEvent(e))
		}
		errs = append(errs, g.modules.unload(), g.drv.synchronize(f, g.side), g.drv.destroyStream(g.side))
		return errors.Join(errs...)
	})
	return errors.Join(err, g.letGo())
}
