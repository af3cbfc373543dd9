package gpu

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// Device is a driver's device with a pool of memory. It implements device.Device,
// device.HostAllocator and the interfaces of their queues and buffers. Drivers' packages embed
// it in their own devices: the API for drivers is therefore functions, not methods.
type Device struct {
	driver     Driver
	properties Properties
	counters   backend.Counters
	pool       *backend.Pool[*block]
	deferred   deferredFrees

	// life is read-locked by calls that need the driver, so that Close comes before
	// or after them. Calls of queues need the queue's lock instead.
	life   sync.RWMutex
	closed atomic.Bool

	faulted atomic.Bool // some queue has had a fault

	mu      sync.Mutex
	queues  map[*Queue]struct{}
	buffers map[*Buffer]struct{}
	hosts   map[*byte][]byte // what AllocHost returned, by its first byte
	kernels map[*Kernel]struct{}
	gl      map[*glBuffer]bool // shared GL buffers, and whether they are acquired

	budget   *budget.Budget // of blocks, and of host memory that is not pinned
	endTrims func()         // ends calls of trim by other devices' allocations
}

// New returns a device over a driver, which Close closes.
func New(driver Driver) *Device {
	d := &Device{
		driver: driver, properties: driver.Properties(),
		queues: map[*Queue]struct{}{}, buffers: map[*Buffer]struct{}{}, hosts: map[*byte][]byte{},
	}
	info := &d.properties.Info
	d.budget = budget.ForDevice(info.ID(), info.Kind == device.CPU, info.Memory)
	d.pool = backend.NewPool(d.idleCap(), d.newBlock, d.freeBlock)
	d.endTrims = budget.OnShortage(d.trim)
	return d
}

// Info describes the device.
func (d *Device) Info() device.Info { return d.properties.Info }

// Stats returns the device's counters.
func (d *Device) Stats() device.Stats { return d.counters.Stats(d.pool.Reserved()) }

// While calls f, for the operation op, and prevents Close of the device meanwhile.
func While(d *Device, op string, f func() error) error {
	if err := d.begin(op); err != nil {
		return err
	}
	defer d.end()
	return f()
}

// begin starts a call. Every begin without an error needs an end.
func (d *Device) begin(op string) error {
	d.life.RLock()
	if d.closed.Load() {
		d.life.RUnlock()
		return d.closedError(op)
	}
	return nil
}

func (d *Device) end() { d.life.RUnlock() }

func (d *Device) closedError(op string) error {
	return layout.Errorf(device.ErrClosed, op, "the device %s is closed", d.properties.Info.ID())
}

// NewQueue returns a queue of the device.
func (d *Device) NewQueue() (device.Queue, error) {
	if err := d.begin("NewQueue"); err != nil {
		return nil, err
	}
	defer d.end()
	s, err := d.driver.NewStream()
	if err != nil {
		return nil, err
	}
	return AdoptStream(d, s), nil
}

// openQueues returns the queues that are not closed.
func (d *Device) openQueues() []*Queue {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]*Queue, 0, len(d.queues))
	for q := range d.queues {
		all = append(all, q)
	}
	return all
}

// Close waits for all work in flight and releases all memory. While the owner of a queue's
// stream captures it, Close cannot wait, and does nothing.
func (d *Device) Close() error {
	for _, q := range d.openQueues() {
		q.mu.Lock()
		out := q.lentOut()
		q.mu.Unlock()
		if out {
			return lentOutError("Close")
		}
	}
	notGL := d.closeGL()
	d.life.Lock()
	before := d.closed.Swap(true)
	d.life.Unlock()
	if before {
		return d.closedError("Close")
	}
	// Only calls of queues may still be under way.
	errs := []error{notGL}
	for _, q := range d.openQueues() {
		if err := q.end(); !errors.Is(err, device.ErrClosed) { // it may be closing concurrently
			errs = append(errs, err)
		}
	}
	for b := range d.buffers {
		if b.release == nil {
			d.counters.Freed(b.size)
		}
		errs = append(errs, b.drop())
	}
	for _, h := range d.hosts {
		errs = append(errs, d.freeHost(h))
	}
	d.buffers, d.hosts = nil, nil
	errs = append(errs, d.releaseKernels())
	d.endTrims()
	d.deferred.collect(d)
	errs = append(errs, d.pool.Trim(), d.driver.Close())
	return errors.Join(errs...)
}
