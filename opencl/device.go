package opencl

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/layout"
)

// Device is an OpenCL device with a context and a pool of memory.
type Device struct {
	proc     processor
	context  uintptr
	target   kernels.Target
	counters device.Counters
	pool     *device.Pool[*block]
	limbo    limbo
	programs programs

	// life is read-locked by calls that need the context, so that Close comes
	// before or after them. Those of queues need the queue's lock instead.
	life   sync.RWMutex
	closed atomic.Bool

	mu      sync.Mutex
	queues  map[*Queue]struct{}
	buffers map[*Buffer]struct{}
	hosts   map[uintptr]*hostBlock // by address
	held    int64                  // bytes of blocks and host blocks
	maps    uintptr                // a cl_command_queue, to map host blocks; 0: none yet
}

// newDevice returns a device that owns a reference to the context.
func newDevice(p processor, context uintptr, o Options) (*Device, error) {
	target, err := o.target(p)
	if err != nil {
		return nil, err
	}
	d := &Device{
		proc: p, context: context, target: target,
		queues: map[*Queue]struct{}{}, buffers: map[*Buffer]struct{}{}, hosts: map[uintptr]*hostBlock{},
	}
	d.pool = device.NewPool(d.idleCap(), d.newBlock, d.freeBlock)
	d.programs.init(d)
	return d, nil
}

// Info says what the device is.
func (d *Device) Info() device.Info { return d.proc.info }

// Stats returns what the device has done so far.
func (d *Device) Stats() device.Stats { return d.counters.Stats(d.pool.Reserved()) }

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
	return layout.Errorf(device.ErrClosed, op, "the device %s is closed", d.proc.info.ID())
}

// NewQueue returns a queue of the device.
func (d *Device) NewQueue() (device.Queue, error) {
	if err := d.begin("NewQueue"); err != nil {
		return nil, err
	}
	defer d.end()
	properties := uintptr(0)
	if d.proc.profiling {
		properties = profilingEnable
	}
	handle, err := clCreateCommandQueue.create(d.context, d.proc.id, properties)
	if err != nil {
		return nil, err
	}
	return d.newQueue(handle), nil
}

// newQueue makes a queue of a handle, of which it owns a reference.
func (d *Device) newQueue(handle uintptr) *Queue {
	q := &Queue{dev: d, handle: handle, kernels: map[kernels.Spec]*kernel{}}
	q.launches = kernels.NewCache(d.target, mostLaunches, d.newDescriptor, d.dropDescriptor)
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
		if !b.adopted {
			d.counters.Freed(b.size)
		}
		errs = append(errs, b.drop())
	}
	for _, h := range d.hosts {
		errs = append(errs, h.free(d))
	}
	d.buffers, d.hosts = nil, nil
	if d.maps != 0 {
		errs = append(errs, clReleaseCommandQueue.call(d.maps))
	}
	d.limbo.collect(d)
	errs = append(errs, d.pool.Trim(), d.programs.release(), clReleaseContext.call(d.context))
	return errors.Join(errs...)
}
