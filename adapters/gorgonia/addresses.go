package gorgonia

import (
	"math/bits"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Gorgonia keeps memory as the address of its first byte, and calculates with it: a slice
// of a tensor is an address in the midst. OpenCL's memory has no address, so that a
// device's gets one of these, from 2^55 on, where no process has memory: neither the
// collector nor a driver takes it for its own, and whoever follows it is stopped by the
// processor. All engines share them, so that none finds its memory at another's address.
//
// Memory of up to 2^k bytes begins on a multiple of that, from firstAddress + k<<regionBits
// on: k, and so the first byte, follow from any address in it. Addresses have 64 bits.
const (
	firstAddress = 1 << 55
	regionBits   = 49
	smallest     = 8 // less memory has the addresses of 2^8 bytes
	largest      = 48
)

// addressSpace hands out addresses. One that is given back rests until many more have
// been, so that memory used after it was freed is found.
type addressSpace struct {
	mu    sync.Mutex
	next  [largest + 1]uintptr // how many of a region have been handed out
	freed [largest + 1][]uintptr
}

// resting is how many addresses of a region rest.
const resting = 1024

var addresses addressSpace

// take returns the address of n bytes.
func (a *addressSpace) take(op string, n int64) (uintptr, error) {
	k := max(bits.Len64(uint64(n-1)), smallest)
	if n < 1 || k > largest {
		return 0, layout.Errorf(device.ErrInvalid, op, "%d bytes of memory", n)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fresh, freed := a.next[k], a.freed[k]
	switch {
	case fresh < 1<<(regionBits-k) && len(freed) <= resting:
		a.next[k]++
		return firstAddress + uintptr(k)<<regionBits + fresh<<k, nil
	case len(freed) == 0:
		return 0, layout.Errorf(device.ErrOutOfMemory, op, "%d bytes: %d pieces of memory of this size are in use", n, fresh)
	}
	a.freed[k] = freed[1:]
	return freed[0], nil
}

// give takes an address back.
func (a *addressSpace) give(address uintptr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := regionOf(address)
	a.freed[k] = append(a.freed[k], address)
}

// startOf returns where memory begins that an address is in; false: none of ours.
func startOf(address uintptr) (uintptr, bool) {
	if address < firstAddress {
		return 0, false
	}
	k := regionOf(address)
	if k < smallest || k > largest {
		return 0, false
	}
	return address &^ (1<<k - 1), true
}

func regionOf(address uintptr) int { return int((address - firstAddress) >> regionBits) }
