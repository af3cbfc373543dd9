package gorgonia

import (
	"math/bits"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// Gorgonia keeps memory as the address of its first byte, and calculates with it: a slice of a
// tensor is an address inside. OpenCL's memory has no address, so device memory gets one of
// these, from 2^55 on, where no process has memory: neither the garbage collector nor a driver
// mistakes it for its own, and the processor faults on an access. All engines share them, so
// that addresses are unique.
//
// Memory of up to 2^k bytes begins at a multiple of 2^k, from firstAddress + k<<regionBits on:
// k, and so the first byte, follow from any address in it. Addresses have 64 bits.
const (
	firstAddress = 1 << 55
	regionBits   = 49
	smallest     = 8 // less memory gets the addresses of 2^8 bytes
	largest      = 48
)

// addressSpace allocates addresses. A freed one rests until many more have been freed, so that
// uses after free are detected.
type addressSpace struct {
	mu    sync.Mutex
	next  [largest + 1]uintptr // the number of a region's addresses allocated so far
	freed [largest + 1][]uintptr
}

// resting is the number of a region's addresses that rest.
const resting = 1024

var addresses addressSpace

// take allocates the address of n bytes.
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

// give frees an address.
func (a *addressSpace) give(address uintptr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := regionOf(address)
	a.freed[k] = append(a.freed[k], address)
}

// startOf returns the begin of the memory that contains an address; false: none of these.
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
