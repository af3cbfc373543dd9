package opencl

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/hugemem"
	"github.com/restride/restride/layout"
)

// blockAlign is what sizes of blocks are multiples of: kernels access whole
// vectors of 16 bytes.
const blockAlign = 16

// block is memory on the device: what the pool hands out.
type block struct {
	mem  uintptr // a cl_mem
	size int64
	host hugemem.Block // what mem lies in, where that is ours
}

// Buffer is memory on the device.
type Buffer struct {
	dev     *Device
	size    int64
	block   *block // nil: no bytes
	adopted bool   // the block is another's, and not the pool's

	mu    sync.Mutex
	freed bool
	uses  []use
	first [2]use // room for uses: few buffers are used by more queues
}

// use is the last work of a queue that uses a buffer.
type use struct {
	q   *Queue
	seq uint64
}

// pending reports whether the work may still be going on.
func (u use) pending() bool { return u.q.done.Load() < u.seq }

// Size returns the size in bytes.
func (b *Buffer) Size() int64 { return b.size }

// touch notes that a queue's work of that number uses the buffer. False: it is
// freed.
func (b *Buffer) touch(q *Queue, seq uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed {
		return false
	}
	for i := range b.uses {
		if u := &b.uses[i]; u.q == q || !u.pending() {
			*u = use{q, seq} // two entries of one queue do no harm
			return true
		}
	}
	if b.uses == nil {
		b.uses = b.first[:0]
	}
	b.uses = append(b.uses, use{q, seq})
	return true
}

// Free gives the memory back to the pool, once the work that is queued on it is
// done.
func (b *Buffer) Free() error {
	d := b.dev
	if err := d.begin("Free"); err != nil {
		return err
	}
	defer d.end()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed {
		return layout.Errorf(device.ErrClosed, "Free", "the buffer of size %d was freed before", b.size)
	}
	b.freed = true
	d.mu.Lock()
	delete(d.buffers, b)
	d.mu.Unlock()
	if b.adopted {
		return b.drop()
	}
	if b.block != nil {
		d.limbo.add(d, freed{b.block, b.size, b.uses})
	}
	d.counters.Freed(b.size)
	return nil
}

// drop gives the block back to the driver, or to its owner.
func (b *Buffer) drop() error {
	switch {
	case b.block == nil:
		return nil
	case b.adopted:
		return clReleaseMemObject.call(b.block.mem)
	}
	return b.dev.pool.Put(b.block, b.size)
}

// Alloc returns a buffer of bytes.
func (d *Device) Alloc(bytes int64) (device.Buffer, error) {
	if err := d.begin("Alloc"); err != nil {
		return nil, err
	}
	defer d.end()
	switch most := d.proc.info.MaxAlloc; {
	case bytes < 0:
		return nil, layout.Errorf(device.ErrInvalid, "Alloc", "%d bytes: the size is negative", bytes)
	case bytes > most:
		return nil, layout.Errorf(device.ErrOutOfMemory, "Alloc", "%d bytes; the largest buffer of %s has %d", bytes, d.proc.info.ID(), most)
	}
	b := &Buffer{dev: d, size: bytes}
	if bytes > 0 {
		d.limbo.sweep(d)
		var err error
		b.block, err = d.pool.Get(bytes)
		if errors.Is(err, device.ErrOutOfMemory) && d.limbo.wait(d) {
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

// register lists a buffer as live.
func (d *Device) register(b *Buffer) {
	d.mu.Lock()
	d.buffers[b] = struct{}{}
	d.mu.Unlock()
}

// idleCap is how much the pool keeps idle at the most, and limbo, too.
func (d *Device) idleCap() int64 { return min(1<<30, max(d.proc.info.Memory/8, 1<<20)) }

// reserve counts bytes that are to be held, if there is room for them: drivers
// that take the host's memory would rather have the process killed than refuse.
func (d *Device) reserve(bytes int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if limit := d.proc.info.Memory; limit > 0 && bytes > limit-d.held {
		return layout.Errorf(device.ErrOutOfMemory, "Alloc", "%d bytes; %s has %d, of which %d are held", bytes, d.proc.info.ID(), limit, d.held)
	}
	d.held += bytes
	return nil
}

func (d *Device) unreserve(bytes int64) {
	d.mu.Lock()
	d.held -= bytes
	d.mu.Unlock()
}

func (d *Device) newBlock(size int64) (*block, error) {
	size = min(size, d.proc.info.MaxAlloc) // rounding may have gone beyond
	if err := d.reserve(size); err != nil {
		return nil, err
	}
	b := &block{size: size}
	flags, at := uintptr(memReadWrite), uintptr(0)
	if d.proc.hugePages && size >= hugemem.Page {
		if host, err := hugemem.Map(size); err == nil {
			b.host = host
			flags, at = memReadWrite|memUseHostPtr, uintptr(unsafe.Pointer(&host.Bytes[0]))
		}
	}
	var err error
	if b.mem, err = clCreateBuffer.create(d.context, flags, uintptr(size), at); err != nil {
		d.unreserve(size)
		return nil, errors.Join(err, b.host.Free())
	}
	return b, nil
}

func (d *Device) freeBlock(b *block) error {
	d.unreserve(b.size)
	return errors.Join(clReleaseMemObject.call(b.mem), b.host.Free())
}

// newDescriptor takes a launch's descriptor to the device.
func (d *Device) newDescriptor(desc []byte) (*block, error) {
	mem, err := clCreateBuffer.create(d.context, memReadOnly|memCopyHostPtr, uintptr(len(desc)), uintptr(unsafe.Pointer(&desc[0])))
	if err != nil {
		return nil, err
	}
	return &block{mem: mem, size: int64(len(desc))}, nil
}

// dropDescriptor may be called while launches are under way: the driver keeps
// what they use.
func (d *Device) dropDescriptor(b *block) { _ = clReleaseMemObject.call(b.mem) }
