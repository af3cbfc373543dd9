package gpu

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// blockAlign divides the sizes of blocks: kernels access whole vectors of 16 bytes.
const blockAlign = 16

// block is the unit of the pool: memory of the driver.
type block struct {
	mem  Mem
	size int64
}

// Buffer is a device.Buffer: a block, or adopted memory.
type Buffer struct {
	dev     *Device
	size    int64
	block   *block       // nil: no bytes
	release func() error // of adopted memory, which is not the pool's
	done    func()       // tells the owner of adopted memory; nil: not needed
	gl      *glBuffer    // the GL buffer whose memory it is

	mu    sync.Mutex
	freed bool
	uses  []use
	first [2]use // the uses of most buffers: few queues use more

	wrote     use // the last work that wrote the buffer
	marks     []mark
	firstMark [1]mark     // the marks of most buffers
	marked    atomic.Bool // it has marks
}

// use is the last work of a queue that uses a buffer.
type use struct {
	q   *timeline
	seq uint64
}

// pending reports whether the work may be under way.
func (u use) pending() bool { return u.q.done.Load() < u.seq }

// Size returns the size in bytes.
func (b *Buffer) Size() int64 { return b.size }

// Mem returns the driver's memory, valid until the buffer is freed; nil for a buffer
// of no bytes.
func (b *Buffer) Mem() Mem {
	if b.block == nil {
		return nil
	}
	return b.block.mem
}

// Device returns the buffer's device.
func (b *Buffer) Device() *Device { return b.dev }

// touch records that work uses the buffer, and whether it writes there. It returns false if the
// buffer is freed.
func (b *Buffer) touch(by use, writes bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed {
		return false
	}
	if writes {
		b.written(by)
	}
	for i := range b.uses {
		if u := &b.uses[i]; u.q == by.q || !u.pending() {
			*u = by // two entries of one queue do no harm
			return true
		}
	}
	if b.uses == nil {
		b.uses = b.first[:0]
	}
	b.uses = append(b.uses, by)
	return true
}

// written records the last work that writes the buffer, which is locked.
func (b *Buffer) written(by use) {
	if o := b.wrote.fault(); o != nil { // it may be overwritten in part
		b.mark(o, 0, b.size)
	}
	b.wrote = by
}

// Free returns the memory to the pool when the queued work that uses it is done, without
// waiting.
func (b *Buffer) Free() error {
	if err := b.dev.begin("Free"); err != nil {
		return err
	}
	first, err := b.free()
	after := func() {}
	if first && b.done != nil {
		after = b.dev.tell(b.uses, b.done)
	}
	b.dev.end() // before the owner's done, which may use the device
	after()
	return err
}

// free is Free within a call. It returns false if it has been called before.
func (b *Buffer) free() (first bool, err error) {
	d := b.dev
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed {
		return false, layout.Errorf(device.ErrClosed, "Free", "the buffer of size %d was freed before", b.size)
	}
	b.freed = true
	d.mu.Lock()
	delete(d.buffers, b)
	d.mu.Unlock()
	if b.release != nil {
		return true, b.release()
	}
	if b.block != nil {
		d.deferred.add(d, deferredFree{block: b.block, size: b.size, uses: b.uses})
	}
	d.counters.Freed(b.size)
	return true, nil
}

// drop returns the memory to the pool, or to its owner, immediately.
func (b *Buffer) drop() error {
	switch {
	case b.release != nil:
		if b.done != nil {
			defer b.done()
		}
		return b.release()
	case b.block == nil:
		return nil
	}
	return b.dev.pool.Put(b.block, b.size)
}

// Alloc returns a buffer of a size in bytes.
func (d *Device) Alloc(bytes int64) (device.Buffer, error) { return d.alloc(bytes, nil) }

// Alloc returns a buffer for work of this queue, or work that waits for it: earlier
// work of the queue may still be using its memory.
func (q *Queue) Alloc(bytes int64) (device.Buffer, error) { return q.dev.alloc(bytes, q) }

// alloc returns a buffer. A queue is given if all work on the buffer will follow the queue's
// present work.
func (d *Device) alloc(bytes int64, after *Queue) (device.Buffer, error) {
	if err := d.begin("Alloc"); err != nil {
		return nil, err
	}
	defer d.end()
	if err := d.checkSize("Alloc", bytes); err != nil {
		return nil, err
	}
	b := &Buffer{dev: d, size: bytes}
	if bytes > 0 {
		d.deferred.sweep(d)
		var err error
		if f, ok := d.deferred.take(bytes, after); ok {
			b.block, b.uses = f.block, append(b.first[:0], f.uses...)
		} else {
			b.block, err = d.pool.Get(bytes)
		}
		if errors.Is(err, device.ErrOutOfMemory) && d.deferred.wait(d) {
			b.block, err = d.pool.Get(bytes)
		}
		if err != nil {
			return nil, err
		}
	}
	d.register(b)
	d.counters.Allocated(bytes)
	return b, nil
}

// register adds a buffer to the live ones.
func (d *Device) register(b *Buffer) {
	d.mu.Lock()
	d.buffers[b] = struct{}{}
	d.mu.Unlock()
}

// checkSize refuses a size that exceeds the limit of a single allocation.
func (d *Device) checkSize(op string, bytes int64) error {
	most := d.properties.Info.MaxAlloc &^ (blockAlign - 1)
	switch {
	case bytes < 0:
		return layout.Errorf(device.ErrInvalid, op, "%d bytes: the size is negative", bytes)
	case bytes > most && most > 0:
		return layout.Errorf(device.ErrOutOfMemory, op, "%d bytes; the largest buffer of %s has %d", bytes, d.properties.Info.ID(), most)
	}
	return nil
}

// idleCap is the most bytes that the pool keeps idle, and that deferred frees may
// hold.
func (d *Device) idleCap() int64 { return min(1<<30, max(d.properties.Info.Memory/8, 1<<20)) }

// Trim returns idle memory to the driver, without waiting.
func (d *Device) Trim() error {
	if err := d.begin("Trim"); err != nil {
		return err
	}
	defer d.end()
	for _, q := range d.openQueues() {
		q.poll()
	}
	return d.trimPool()
}

// trim is Trim for an allocation of another device or the host, which may hold any lock. A
// device that is being closed trims itself.
func (d *Device) trim() {
	// TryRLock: the caller may be a call of this device, which Close waits for.
	if !d.life.TryRLock() {
		return
	}
	defer d.life.RUnlock()
	if !d.closed.Load() {
		_ = d.trimPool() // the owner's next call returns an error of the driver
	}
}

// trimPool returns all idle memory to the system, including the memory of deferred frees whose
// work is known to be done.
func (d *Device) trimPool() error {
	d.deferred.collect(d)
	err := d.pool.Trim()
	if t, ok := d.driver.(Trimmer); ok {
		t.Trim()
	}
	return err
}

func (d *Device) newBlock(size int64) (*block, error) {
	if most := d.properties.Info.MaxAlloc &^ (blockAlign - 1); most > 0 {
		size = min(size, most) // rounding may have exceeded it
	}
	if err := d.budget.Take("Alloc", size); err != nil { // a driver that allocates host memory may not refuse
		return nil, err
	}
	mem, err := d.driver.Alloc(size)
	if err != nil {
		d.budget.Give(size)
		return nil, fmt.Errorf("%w (Alloc of %d bytes; %s has %v)", err, size, d.properties.Info.ID(), d.budget)
	}
	return &block{mem, size}, nil
}

func (d *Device) freeBlock(b *block) error {
	d.budget.Give(b.size)
	return d.driver.Free(b.mem)
}
