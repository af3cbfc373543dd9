package ptx

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
)

// Memory is a GPU's global memory: allocations far from each other. Their pages are created on
// first access, so that large ones cost little. One run at a time uses a Memory.
type Memory struct {
	mu    sync.Mutex // of allocations
	all   []*Allocation
	epoch uint32 // owners below it are of earlier launches
	last  uint32 // the highest owner of the launch
}

// Allocation is a part of a Memory.
type Allocation struct {
	Base    uint64 // its address: a multiple of exactly 16
	size    int64
	pages   []*page         // by their numbers,
	sparse  map[int64]*page // or, of a large allocation
	touched []*page         // those in use
	// Noted: threads may write the same byte, for example to record an error.
	Noted bool
}

const (
	regionBits = 40 // an allocation's addresses begin at its number << regionBits
	baseOffset = 16 * 4097
	pageBits   = 12
	pageSize   = 1 << pageBits
)

type page struct {
	data   [pageSize]byte
	owners *[pageSize]uint32 // the writer of each byte; nil: none
}

// atomically marks an owner that wrote with an atomic operation.
const atomically = 1 << 31

// fresh is the content of memory that was never written.
const fresh = 0xb7

// NewMemory returns memory without allocations.
func NewMemory() *Memory { return &Memory{all: []*Allocation{nil}, epoch: 1} }

// Alloc returns memory of a size below 1<<39.
func (m *Memory) Alloc(size int64) *Allocation {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &Allocation{Base: uint64(len(m.all))<<regionBits + baseOffset, size: size}
	if size > 1<<30 {
		a.sparse = map[int64]*page{}
	} else {
		a.pages = make([]*page, (size+pageSize-1)>>pageBits)
	}
	m.all = append(m.all, a)
	return a
}

// Free frees memory: later accesses are faults.
func (m *Memory) Free(a *Allocation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[a.Base>>regionBits] = nil
	*a = Allocation{}
}

// Size is the number of bytes.
func (a *Allocation) Size() int64 { return a.size }

// page returns the page of a position, which is within the allocation.
func (a *Allocation) page(at int64) *page {
	number := at >> pageBits
	if a.sparse == nil {
		if p := a.pages[number]; p != nil {
			return p
		}
	} else if p := a.sparse[number]; p != nil {
		return p
	}
	p := &page{}
	for i := range p.data {
		p.data[i] = fresh
	}
	if a.touched = append(a.touched, p); a.sparse != nil {
		a.sparse[number] = p
	} else {
		a.pages[number] = p
	}
	return p
}

// Write copies bytes to the allocation.
func (a *Allocation) Write(at int64, from []byte) {
	for len(from) > 0 {
		n := copy(a.page(at).data[at&(pageSize-1):], from)
		at, from = at+int64(n), from[n:]
	}
}

// Read copies bytes from the allocation.
func (a *Allocation) Read(to []byte, at int64) {
	for len(to) > 0 {
		n := copy(to, a.page(at).data[at&(pageSize-1):])
		at, to = at+int64(n), to[n:]
	}
}

// Pages counts the pages that are in use.
func (m *Memory) Pages() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, a := range m.all {
		if a != nil {
			n += len(a.touched)
		}
	}
	return n
}

// at finds the allocation of n bytes at an address, and their position in it.
func (m *Memory) at(address uint64, n int64) (*Allocation, int64, error) {
	region := address >> regionBits
	if region >= uint64(len(m.all)) || m.all[region] == nil {
		return nil, 0, fmt.Errorf("no memory is at %#x", address)
	}
	a := m.all[region]
	at := int64(address - a.Base)
	if at < 0 || at+n > a.size {
		return nil, 0, fmt.Errorf("bytes %d to %d of an allocation of %d", at, at+n, a.size)
	}
	return a, at, nil
}

// begin starts a launch of the given number of threads.
func (m *Memory) begin(threads int64) error {
	if threads >= atomically/2 {
		return fmt.Errorf("%d threads in a launch", threads)
	}
	m.epoch += m.last
	m.last = uint32(threads)
	if m.epoch >= atomically/2 { // numbers run out: clear all owners
		for _, a := range m.all {
			if a == nil {
				continue
			}
			for _, p := range a.touched {
				p.owners = nil
			}
		}
		m.epoch = 1
	}
	return nil
}

// own records that a thread of the launch writes n bytes, and returns another thread that has
// written them before, or -1. mark is 0 or atomically.
func (m *Memory) own(a *Allocation, at, n int64, thread uint32, mark uint32) int64 {
	p := a.page(at)
	if p.owners == nil {
		p.owners = new([pageSize]uint32)
	}
	owners, me := p.owners[at&(pageSize-1):][:n], m.epoch+thread|mark
	other := int64(-1)
	for i, o := range owners {
		if o != me && o&^atomically >= m.epoch && o&mark == 0 && o&^atomically != me&^atomically && !a.Noted {
			other = int64(o&^atomically - m.epoch)
		}
		owners[i] = me
	}
	return other
}

// get reads n bytes as a number.
func get(from []byte, n uint8) uint64 {
	switch n {
	case 1:
		return uint64(from[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(from))
	case 4:
		return uint64(binary.LittleEndian.Uint32(from))
	}
	return binary.LittleEndian.Uint64(from)
}

// put writes n bytes of a number.
func put(to []byte, n uint8, v uint64) {
	switch n {
	case 1:
		to[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(to, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(to, uint32(v))
	default:
		binary.LittleEndian.PutUint64(to, v)
	}
}

// extend gives a loaded number the width of its register.
func (x *access) extend(v uint64, k int) uint64 {
	if x.signed {
		s := 64 - 8*uint(x.size)
		return uint64(int64(v<<(s&63))>>(s&63)) & x.narrow[k]
	}
	return v
}

// bytes is the size of the whole access.
func (x *access) bytes() int64 { return int64(x.size) * int64(x.count) }

// first returns the lowest lane of a mask.
func first(m uint32) int { return bits.TrailingZeros32(m) }
