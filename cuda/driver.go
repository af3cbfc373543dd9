package cuda

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/planner"
)

// driver is a CUDA device with a context.
type driver struct {
	api     api
	number  uint64 // unique among all drivers
	ordinal int
	ctx     cuContext
	primary bool // ctx is a reference to the device's primary context
	info    device.Info
	target  planner.Target
	ordered bool   // memory is allocated in the order of a stream,
	pool    cuPool // from this pool; 0: from the default one
	keeps   int64  // the most freed memory that the pool keeps
	heldMu  sync.Mutex
	held    int64    // bytes of the pool that are in use
	side    cuStream // for allocations, which wait for it
	modules modules
	lost    atomic.Pointer[error] // why the context is lost

	bus         string // its PCI address; "": unknown
	sensors     sensors
	sensorsOnce sync.Once

	// life is read-locked by calls of events, which may outlive the device.
	life   sync.RWMutex
	closed bool

	mu     sync.Mutex
	idle   []cuEvent // for reuse
	events map[cuEvent]struct{}
	peers  map[uint64]bool // devices, by their number, whose memory is accessible, or cannot be
}

// newDriver returns a driver of a device, with a context of the caller's, or, for 0,
// with the primary one.
func newDriver(a api, ordinal int, ctx cuContext, o Options) (*driver, error) {
	p, info, err := usable(a, ordinal)
	if err != nil {
		return nil, err
	}
	d := &driver{
		api: a, number: driverNumber.Add(1), ordinal: ordinal, ctx: ctx, info: info, bus: p.bus,
		target:  planner.Target{Multiprocessors: p.units, Capability: p.major*10 + p.minor},
		ordered: p.pools && a.ordered() && !o.PlainMemory,
		events:  map[cuEvent]struct{}{}, peers: map[uint64]bool{},
	}
	d.modules.init(d)
	if err := d.modules.cubins.open(o, d.target.Capability); err != nil {
		return nil, err
	}
	if ctx == 0 {
		if d.ctx, err = a.retainPrimary(ordinal); err != nil {
			return nil, err
		}
		d.primary = true
	}
	err = d.with(func(*frame) error {
		var err error
		d.side, err = a.newStream()
		return err
	})
	if err != nil {
		return nil, errors.Join(err, d.releaseContext())
	}
	d.openPool(o)
	return d, nil
}

// releaseContext releases the primary context, which lives on for its other users.
func (d *driver) releaseContext() error {
	if !d.primary {
		return nil
	}
	return d.api.releasePrimary(d.ordinal)
}

func (d *driver) Properties() gpu.Properties {
	return gpu.Properties{Info: d.info, Target: d.target, Pinned: true, Shared: true}
}

func (d *driver) Close() error {
	d.life.Lock() // waits for calls of events
	d.closed = true
	d.life.Unlock()
	err := d.giveBack(func(f *frame) error {
		var errs []error
		for e := range d.events {
			errs = append(errs, d.api.destroyEvent(e))
		}
		errs = append(errs, d.modules.unload(), d.api.synchronize(f, d.side), d.closePool(), d.api.destroyStream(d.side))
		return errors.Join(errs...)
	})
	return errors.Join(err, d.gone(), d.releaseContext())
}
