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

// stringSize is the bytes of a string in device.Stats: its header.
const stringSize = 16

// memory is what buffers of bytes and of strings share.
type memory struct {
	dev  *processor // nil: adopted by Wrap
	size int64      // in bytes or in strings

	// at is the address of the bytes or strings (any, if there are none); nil once Free
	// was called.
	at    atomic.Pointer[byte]
	block block    // of a device's buffer of bytes
	strs  []string // of a buffer of strings
	done  func()   // of adopted memory: tells its owner; nil: nobody asks

	// uses counts the long calls on the memory. Free lowers it by freed, and whoever
	// brings it to exactly freed gives the memory back, so Free does not wait for them.
	// Brief calls are not counted, which would take as long as the rest of them: Free
	// waits until no queue is in one (processor.fence).
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

// nowhere is the address of memory of no bytes.
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

// retire forbids further use. False: it was forbidden already.
func (m *memory) retire() bool {
	for {
		n := m.uses.Load()
		if n < 0 {
			return false
		}
		if m.uses.CompareAndSwap(n, n+freed+1) {
			break // until brief calls are done, freeing is a use, too
		}
	}
	m.at.Store(nil)
	if m.dev != nil {
		m.dev.fence()
	}
	m.leave()
	return true
}

// fence returns when all brief calls that began before are over.
func (d *processor) fence() {
	for _, q := range *d.queues.Load() {
		q.over()
	}
}

// Free gives the memory back when no call uses it any more.
func (m *memory) Free() error {
	if !m.retire() {
		if m.dev != nil && m.dev.closed.Load() {
			return layout.Errorf(device.ErrClosed, "Free", "the cpu device is closed, and the buffer of size %d was freed before or with it", m.size)
		}
		return layout.Errorf(device.ErrClosed, "Free", "the buffer of size %d was freed before", m.size)
	}
	return nil
}

// giveBack gives a device, or the owner of adopted memory, its memory.
func (m *memory) giveBack() {
	switch {
	case m.dev != nil:
		m.dev.giveBack(m)
	case m.done != nil:
		m.done()
	}
}

// statBytes is what the buffer counts in device.Stats.
func (m *memory) statBytes() int64 {
	if m.strs != nil {
		return m.size * stringSize
	}
	return m.size
}

// Wrap makes Go memory a buffer without copying it. Every cpu device's queues
// take it; it counts in no device's Stats. The memory must stay unused by
// others while a call works on it, as with any Go memory. It may start at any
// address; starting on a multiple of 16 lets copies use wide elements. Free
// forgets the memory.
//
// Buffers that adopt the same memory are taken for different ones: that their
// elements do not overlap is for the caller to see to.
func Wrap(b []byte) device.Buffer { return WrapFor(b, nil) }

// WrapFor is Wrap for memory whose owner is to be told when it is no longer used: done is
// called once, by Free, or in a goroutine of its own when the last call that works on the
// memory then is over.
func WrapFor(b []byte, done func()) device.Buffer {
	w := &byteBuffer{}
	w.done = done
	w.size = int64(len(b))
	w.begin(unsafe.Pointer(unsafe.SliceData(b)))
	return w
}

// Bytes returns a buffer's memory itself, valid until the buffer is freed;
// false if the buffer is not a cpu device's, holds strings, or was freed.
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

// Strings returns a string buffer's memory itself, valid until the buffer is
// freed; false if the buffer is not a cpu device's, holds bytes, or was freed.
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
	mapped hugemem.Block // of mem, unless that is of Go's heap
}

const cacheLine = 64

// newBlock takes a large block from the system, on huge pages, which spare the TLB; a
// small one, and all where there are no huge pages, from Go's heap.
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

// makeBlock takes a block from Go's heap.
func makeBlock(size int64) block {
	b := make([]byte, size+cacheLine-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % cacheLine
	return block{mem: b[skip : int64(skip)+size : int64(skip)+size]}
}
