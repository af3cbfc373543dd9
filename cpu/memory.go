package cpu

import (
	"errors"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/hugemem"
	"github.com/restride/restride/layout"
)

// stringSize is the size of a string in device.Stats: its header.
const stringSize = 16

// memory is the common part of buffers of bytes and of strings.
type memory struct {
	dev  *processor // nil: adopted by Wrap
	size int64      // in bytes or in strings

	// at is the address of the bytes or strings (any address, if there are none); nil after a
	// call of Free.
	at    atomic.Pointer[byte]
	block block    // of a device's buffer of bytes
	strs  []string // of a buffer of strings
	done  func()   // of adopted memory: notifies its owner; may be nil

	// uses counts the long calls on the memory. Free lowers it by freed, and the call that
	// lowers it to exactly freed gives the memory back, so Free does not wait for long calls.
	// Brief calls are not counted, because that would take as long as the rest of the call:
	// Free waits until no queue is in one (processor.fence).
	uses atomic.Int64

	prev, next *memory // the device's live buffers
}

const freed = math.MinInt64

type byteBuffer struct{ memory }

type stringBuffer struct{ memory }

// HoldsStrings marks a device.StringBuffer.
func (*stringBuffer) HoldsStrings() {}

// Size returns the size in bytes (of a string buffer: its length in strings).
func (m *memory) Size() int64 { return m.size }

// begin sets the address.
func (m *memory) begin(at unsafe.Pointer) {
	if m.size == 0 {
		at = unsafe.Pointer(&nowhere)
	}
	m.at.Store((*byte)(at))
}

// nowhere is the address of empty memory.
var nowhere [16]byte

// acquire keeps the memory until release. False: it was freed.
func (m *memory) acquire() bool {
	for {
		n := m.uses.Load()
		if n < 0 {
			return false
		}
		if m.uses.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (m *memory) release() {
	switch {
	case m.uses.Add(-1) != freed:
	case m.done != nil:
		go m.giveBack() // the call's queue is locked, which the owner may need
	default:
		m.giveBack()
	}
}

// leave is release for callers that hold no queue's lock.
func (m *memory) leave() {
	if m.uses.Add(-1) == freed {
		m.giveBack()
	}
}

// retire forbids further use. False: that was already done.
func (m *memory) retire() bool {
	for {
		n := m.uses.Load()
		if n < 0 {
			return false
		}
		if m.uses.CompareAndSwap(n, n+freed+1) {
			break // freeing counts as a use until brief calls are done
		}
	}
	m.at.Store(nil)
	if m.dev != nil {
		m.dev.fence()
	}
	m.leave()
	return true
}

// fence returns when all brief calls that began earlier are over.
func (d *processor) fence() {
	for _, q := range *d.queues.Load() {
		q.over()
	}
}

// Free releases the memory as soon as no call uses it.
func (m *memory) Free() error {
	if !m.retire() {
		if m.dev != nil && m.dev.closed.Load() {
			return layout.Errorf(device.ErrClosed, "Free", "the cpu device is closed, and the buffer of size %d was freed before or with it", m.size)
		}
		return layout.Errorf(device.ErrClosed, "Free", "the buffer of size %d was freed before", m.size)
	}
	return nil
}

// giveBack returns the memory to the device, or to the owner of adopted memory.
func (m *memory) giveBack() {
	switch {
	case m.dev != nil:
		m.dev.giveBack(m)
	case m.done != nil:
		m.done()
	}
}

// statBytes is the buffer's size in device.Stats.
func (m *memory) statBytes() int64 {
	if m.strs != nil {
		return m.size * stringSize
	}
	return m.size
}

// Wrap turns Go memory into a buffer without copying it. Every cpu device's queues
// accept it; it is not counted in any device's Stats. As with any Go memory, others
// must not use it while a call works on it. It may start at any address; starting
// on a multiple of 16 lets copies use wide elements. Free drops the reference to
// the memory.
//
// Buffers that adopt the same memory count as different buffers: the caller must
// ensure that their elements do not overlap.
func Wrap(b []byte) device.Buffer { return WrapFor(b, nil) }

// WrapFor is Wrap for memory whose owner must know when its use ends: done is called once,
// either by Free, or in its own goroutine after the last call that was using the memory at that
// time.
func WrapFor(b []byte, done func()) device.Buffer {
	w := &byteBuffer{}
	w.done = done
	w.size = int64(len(b))
	w.begin(unsafe.Pointer(unsafe.SliceData(b)))
	return w
}

// Bytes returns a buffer's memory without copying, valid until the buffer is freed;
// false if the buffer is not a cpu buffer, holds strings, or was freed.
func Bytes(b device.Buffer) ([]byte, bool) {
	bb, ok := b.(*byteBuffer)
	if !ok || bb == nil {
		return nil, false
	}
	at := bb.at.Load()
	if at == nil {
		return nil, false
	}
	return unsafe.Slice(at, bb.size), true
}

// HostBytes is Bytes (device.HostMemory).
func (d *processor) HostBytes(b device.Buffer) ([]byte, bool) { return Bytes(b) }

// WrapHost is Wrap (device.HostMemory).
func (d *processor) WrapHost(b []byte) device.Buffer { return Wrap(b) }

// AdoptHost is WrapFor (device.HostAdopter).
func (d *processor) AdoptHost(b []byte, done func()) (device.Buffer, error) {
	return WrapFor(b, done), nil
}

// Strings returns a string buffer's memory without copying, valid until the buffer is
// freed; false if the buffer is not a cpu buffer, holds bytes, or was freed.
func Strings(b device.Buffer) ([]string, bool) {
	sb, ok := b.(*stringBuffer)
	if !ok || sb == nil || !sb.acquire() {
		return nil, false
	}
	defer sb.release()
	return sb.strs, true
}

// A block is the pool's unit of memory. It starts on a cache line.
type block struct {
	mem    []byte
	mapped hugemem.Block // of mem, unless that is on Go's heap
}

const cacheLine = 64

// newBlock allocates a large block from the system, on huge pages, which save TLB entries. Small
// blocks are from Go's heap, and so are all blocks on systems without huge pages.
func newBlock(size int64) (block, error) {
	if size < hugemem.Page {
		return makeBlock(size), nil
	}
	m, err := hugemem.Map(size)
	if errors.Is(err, errors.ErrUnsupported) {
		return makeBlock(size), nil
	}
	return block{mem: m.Bytes, mapped: m}, err
}

// makeBlock allocates a block from Go's heap.
func makeBlock(size int64) block {
	b := make([]byte, size+cacheLine-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % cacheLine
	return block{mem: b[skip : int64(skip)+size : int64(skip)+size]}
}
