package cpu

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/simd"
	"github.com/restride/restride/internal/sysmem"
	"github.com/restride/restride/layout"
)

func init() { device.Register(family{}) }

// family is the cpu as a device.Backend.
type family struct{}

func (family) Name() string { return "cpu" }

func (family) List() ([]device.Info, error) { return []device.Info{host()}, nil }

func (family) Open(index int) (device.Device, error) {
	if index != 0 {
		return nil, fmt.Errorf("%w: there is one cpu device, not %d", device.ErrNoDevice, index+1)
	}
	return Open()
}

// host describes the machine, which does not change.
var host = sync.OnceValue(func() device.Info {
	name := hostName()
	if name == "" {
		name = runtime.GOARCH
	}
	return device.Info{
		Backend: "cpu",
		Name:    name,
		Driver:  driver(kernels.Level, kernelsErr),
		Kind:    device.CPU,
		Memory:  sysmem.Total(),
		Strings: true,

		PutsInOrder: true,
	}
})

// driver names the code that moves elements.
func driver(l simd.Level, ignored error) string {
	s := fmt.Sprintf("%s, %v", runtime.Version(), l)
	if ignored != nil {
		s += fmt.Sprintf(" (ignored: %v)", ignored)
	}
	return s
}

// processor is the machine's processor with its own pool of memory.
type processor struct {
	counters backend.Counters // of buffers only
	pool     *backend.Pool[block]
	budget   *budget.Budget // of blocks and string headers
	endTrims func()         // no more calls of Trim when memory is short elsewhere

	listing sync.Mutex // guards changes of queues, and sums of their counts
	queues  atomic.Pointer[[]*queue]
	ended   device.Stats // of closed queues

	mu     sync.Mutex
	idle   sync.Cond // live has become empty
	live   *memory   // the list of buffers in use
	closed atomic.Bool
}

// Open returns a new cpu device with its own pool of memory. It implements [device.HostMemory],
// [device.HostAdopter], [device.StringAllocator] and [device.Trimmer]; its queues implement
// [device.Attributor], [device.KernelNamer], [device.Launcher], [device.Recorder] and
// [device.StringQueue].
func Open() (device.Device, error) {
	info := host()
	d := &processor{budget: budget.ForDevice(info.ID(), true, info.Memory)}
	d.idle.L = &d.mu
	d.queues.Store(new([]*queue))
	most, _ := d.budget.Limit()
	d.pool = backend.NewPool(min(1<<30, most/4), d.newBlock, d.freeBlock)
	d.endTrims = budget.OnShortage(func() { _ = d.pool.Trim() }) // munmap of a whole mapping does not fail
	allWorkers.opened()
	return d, nil
}

// Info describes the device.
func (d *processor) Info() device.Info { return host() }

// Stats returns the device's counts so far. A long call is counted when it is done.
func (d *processor) Stats() device.Stats {
	s := d.counters.Stats(d.budget.InUse())
	d.listing.Lock()
	defer d.listing.Unlock()
	count(&s, &d.ended)
	for _, q := range *d.queues.Load() {
		done := q.over()
		count(&s, &done)
	}
	return s
}

// count adds the numbers that queues count.
func count(to, s *device.Stats) {
	to.HostToDevice += s.HostToDevice
	to.DeviceToHost += s.DeviceToHost
	to.DeviceToDevice += s.DeviceToDevice
	to.Uploads += s.Uploads
	to.Downloads += s.Downloads
	to.Launches += s.Launches
}

func (d *processor) newBlock(size int64) (block, error) {
	if err := d.budget.Take("Alloc", size); err != nil {
		return block{}, err
	}
	b, err := newBlock(size)
	if err != nil {
		d.budget.Give(size)
		return block{}, layout.Errorf(device.ErrOutOfMemory, "Alloc", "%d bytes: %v", size, err)
	}
	return b, nil
}

func (d *processor) freeBlock(b block) error {
	d.budget.Give(int64(len(b.mem)))
	return b.mapped.Free()
}

// Trim returns the memory of freed buffers to the system; small blocks are left to the garbage
// collector.
func (d *processor) Trim() error {
	if d.closed.Load() {
		return layout.Errorf(device.ErrClosed, "Trim", "the cpu device is closed")
	}
	return d.pool.Trim()
}

// Alloc returns a buffer of the given size in bytes, aligned to 64 bytes.
func (d *processor) Alloc(bytes int64) (device.Buffer, error) {
	if bytes < 0 {
		return nil, layout.Errorf(device.ErrInvalid, "Alloc", "%d bytes: the size is negative", bytes)
	}
	b := &byteBuffer{}
	b.dev, b.size = d, bytes
	if bytes > 0 {
		var err error
		if b.block, err = d.pool.Get(bytes); err != nil {
			return nil, err
		}
	}
	b.begin(unsafe.Pointer(unsafe.SliceData(b.block.mem)))
	if err := d.adopt(&b.memory, "Alloc"); err != nil {
		return nil, err
	}
	return b, nil
}

// AllocStrings returns a buffer of n empty strings.
func (d *processor) AllocStrings(n int64) (device.Buffer, error) {
	const op = "AllocStrings"
	if n < 0 {
		return nil, layout.Errorf(device.ErrInvalid, op, "%d strings: the number is negative", n)
	}
	bytes := int64(math.MaxInt64)
	if n <= bytes/stringSize {
		bytes = n * stringSize
	}
	if err := d.budget.Take(op, bytes); err != nil {
		return nil, err
	}
	b := &stringBuffer{}
	b.dev, b.size, b.strs = d, n, make([]string, n)
	b.begin(unsafe.Pointer(unsafe.SliceData(b.strs)))
	if err := d.adopt(&b.memory, op); err != nil {
		return nil, err
	}
	return b, nil
}

// adopt adds a new buffer to the live ones; if the device is closed, it gives the buffer back
// instead.
func (d *processor) adopt(m *memory, op string) error {
	d.mu.Lock()
	if d.closed.Load() {
		d.mu.Unlock()
		d.recycle(m)
		_ = d.pool.Trim() // Close has done so, but before this block was allocated
		return layout.Errorf(device.ErrClosed, op, "the cpu device is closed")
	}
	if m.next = d.live; m.next != nil {
		m.next.prev = m
	}
	d.live = m
	d.counters.Allocated(m.statBytes()) // within the lock: Close frees the block afterwards
	d.mu.Unlock()
	return nil
}

// giveBack reclaims the memory of a freed buffer that no call uses.
func (d *processor) giveBack(m *memory) {
	d.counters.Freed(m.statBytes())
	d.recycle(m)
	d.mu.Lock()
	if m.prev != nil {
		m.prev.next = m.next
	} else {
		d.live = m.next
	}
	if m.next != nil {
		m.next.prev = m.prev
	}
	m.prev, m.next = nil, nil
	if d.live == nil {
		d.idle.Broadcast()
	}
	d.mu.Unlock()
}

func (d *processor) recycle(m *memory) {
	if m.strs != nil {
		clear(m.strs) // a slice kept from Strings must not keep the strings alive
		m.strs = m.strs[:0:0]
		d.budget.Give(m.size * stringSize)
	}
	if m.block.mem != nil {
		// To the pool or to the system: munmap of a whole mapping does not fail.
		_ = d.pool.Put(m.block, m.size)
		m.block = block{}
	}
}

// NewQueue returns a queue of the device. The device keeps the queue and its plans until either is
// closed, and Free visits all queues: programs that make many should close them.
func (d *processor) NewQueue() (device.Queue, error) {
	if d.closed.Load() {
		return nil, layout.Errorf(device.ErrClosed, "NewQueue", "the cpu device is closed")
	}
	q := &queue{calls: calls{dev: d}}
	d.list(func(open []*queue) []*queue { return append(open, q) })
	return q, nil
}

// forget removes a closed queue from the list, and keeps its counts.
func (d *processor) forget(q *queue) {
	d.list(func(open []*queue) []*queue {
		count(&d.ended, &q.done)
		i := slices.Index(open, q)
		return slices.Delete(open, i, i+1)
	})
}

// list replaces the list of queues by a changed copy: fence reads the list without a lock.
func (d *processor) list(change func([]*queue) []*queue) {
	d.listing.Lock()
	defer d.listing.Unlock()
	open := change(slices.Clone(*d.queues.Load()))
	d.queues.Store(&open)
}

// Close waits for running calls and releases all memory.
func (d *processor) Close() error {
	d.mu.Lock()
	if d.closed.Swap(true) {
		d.mu.Unlock()
		return layout.Errorf(device.ErrClosed, "Close", "the cpu device was closed before")
	}
	var all []*memory
	for m := d.live; m != nil; m = m.next {
		all = append(all, m)
	}
	d.mu.Unlock()
	for _, q := range *d.queues.Load() {
		q.endReplays() // they hold memory
	}
	for _, m := range all {
		m.retire() // unless Free is doing so
	}
	d.mu.Lock()
	for d.live != nil {
		d.idle.Wait()
	}
	d.mu.Unlock()
	allWorkers.closed()
	d.endTrims()
	return d.pool.Trim()
}
