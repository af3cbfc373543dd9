package gpu

import (
	"errors"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/backend"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// Device is a driver's device with a pool of memory. What packages of drivers do
// with one is in functions, not in methods: their own devices embed it.
type Device struct {
	driver     Driver
	properties Properties
	counters   backend.Counters
	pool       *backend.Pool[*block]
	deferred   deferredFrees

	// life is read-locked by calls that need the driver, so that Close comes
	// before or after them. Those of queues need the queue's lock instead.
	life   sync.RWMutex
	closed atomic.Bool

	mu      sync.Mutex
	queues  map[*Queue]struct{}
	buffers map[*Buffer]struct{}
	hosts   map[*byte][]byte // what AllocHost returned, by its first byte
	held    int64            // bytes of blocks and host memory
}

// New returns a device over a driver, which it closes in the end.
func New(driver Driver) *Device {
	d := &Device{
		driver: driver, properties: driver.Properties(),
		queues: map[*Queue]struct{}{}, buffers: map[*Buffer]struct{}{}, hosts: map[*byte][]byte{},
	}
	d.pool = backend.NewPool(d.idleCap(), d.newBlock, d.freeBlock)
	return d
}

// Info says what the device is.
func (d *Device) Info() device.Info { return d.properties.Info }

// Stats returns what the device has done so far.
func (d *Device) Stats() device.Stats { return d.counters.Stats(d.pool.Reserved()) }

// While calls f while the device cannot be closed, for op.
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

// AdoptStream makes a queue of a stream, which it closes in the end. The device
// is kept from closing (see While).
func AdoptStream(d *Device, s Stream) *Queue {
	q := &Queue{dev: d, stream: s, number: queueNumber.Add(1)}
	q.launches = kernels.NewCache(d.properties.Target, mostLaunches, q.loadParameters, d.driver.FreeParameters)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queues[q] = struct{}{}
	return q
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

// Close waits for all work in flight and gives all memory back.
func (d *Device) Close() error {
	d.life.Lock()
	before := d.closed.Swap(true)
	d.life.Unlock()
	if before {
		return d.closedError("Close")
	}
	// Only queues are still at work, and Close of theirs.
	var errs []error
	for _, q := range d.openQueues() {
		if err := q.end(); !errors.Is(err, device.ErrClosed) { // it may just be closing
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
	d.deferred.collect(d)
	errs = append(errs, d.pool.Trim(), d.driver.Close())
	return errors.Join(errs...)
}

// AllocHost returns host memory that is transferred fast, for WriteAsync and
// ReadAsync above all. The device's Close gives it back, too.
func (d *Device) AllocHost(bytes int64) ([]byte, error) {
	const op = "AllocHost"
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	if bytes < 0 || !d.properties.Pinned {
		if err := d.checkSize(op, bytes); err != nil {
			return nil, err
		}
	}
	if bytes == 0 {
		return []byte{}, nil
	}
	h, err := d.newHost(bytes)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.hosts[unsafe.SliceData(h)] = h
	d.mu.Unlock()
	return h, nil
}

// FreeHost gives back what AllocHost returned.
func (d *Device) FreeHost(b []byte) error {
	const op = "FreeHost"
	if err := d.begin(op); err != nil {
		return err
	}
	defer d.end()
	if cap(b) == 0 {
		return nil
	}
	at := unsafe.SliceData(b)
	d.mu.Lock()
	h := d.hosts[at]
	delete(d.hosts, at)
	d.mu.Unlock()
	if h == nil {
		return layout.Errorf(device.ErrInvalid, op, "%d bytes that AllocHost of this device has not returned, or that are freed", len(b))
	}
	return d.freeHost(h)
}

func (d *Device) newHost(bytes int64) ([]byte, error) {
	if d.properties.Pinned { // it is the host's, and the driver's to bound
		return d.driver.AllocHost(bytes)
	}
	if err := d.reserve("AllocHost", bytes); err != nil {
		return nil, err
	}
	h, err := d.driver.AllocHost(bytes)
	if err != nil {
		d.unreserve(bytes)
	}
	return h, err
}

func (d *Device) freeHost(h []byte) error {
	if !d.properties.Pinned {
		d.unreserve(int64(len(h)))
	}
	return d.driver.FreeHost(h)
}
