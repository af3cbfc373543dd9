// Package dry is a device without memory: it checks every call like a device and counts its
// effects. A run on it tells how much memory another device will need for the same, and what it
// will copy.
package dry

import (
	"math"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
)

// Device stands in for another.
type Device struct {
	of       device.Device
	names    device.KernelNamer // the other device's; may be nil
	counters backend.Counters
}

// Open returns a device that stands in for the device of queue q.
func Open(of device.Device, q device.Queue) device.Device {
	d := &Device{of: of}
	d.names, _ = device.As[device.KernelNamer](q)
	_, holdsStrings := device.As[device.StringAllocator](of)
	host, inHost := device.As[device.HostMemory](of)
	switch {
	case holdsStrings && inHost:
		return struct {
			*Device
			strings
			hostMemory
		}{d, strings{d}, hostMemory{host}}
	case holdsStrings:
		return struct {
			*Device
			strings
		}{d, strings{d}}
	case inHost:
		return struct {
			*Device
			hostMemory
		}{d, hostMemory{host}}
	}
	return d
}

// strings is device.StringAllocator.
type strings struct{ dev *Device }

// hostMemory is device.HostMemory.
type hostMemory struct{ of device.HostMemory }

// HostBytes has no bytes.
func (hostMemory) HostBytes(device.Buffer) ([]byte, bool) { return nil, false }

// WrapHost is the other's.
func (m hostMemory) WrapHost(b []byte) device.Buffer { return m.of.WrapHost(b) }

type buffer struct {
	dev   *Device
	size  int64
	bytes int64 // that a pool allocates for it
	freed bool
}

type stringBuffer struct{ *buffer }

func (stringBuffer) HoldsStrings() {}

// Info is the other's.
func (d *Device) Info() device.Info { return d.of.Info() }

// Stats counts the blocks that a pool would allocate, not the requested bytes.
func (d *Device) Stats() device.Stats { return d.counters.Stats(0) }

// Close does nothing.
func (d *Device) Close() error { return nil }

// Alloc counts a buffer.
func (d *Device) Alloc(bytes int64) (device.Buffer, error) {
	most := d.of.Info().MaxAlloc
	switch {
	case bytes < 0:
		return nil, layout.Errorf(device.ErrInvalid, "Alloc", "%d bytes: the size is negative", bytes)
	case most > 0 && bytes > most:
		return nil, layout.Errorf(device.ErrOutOfMemory, "Alloc", "%d bytes; the largest buffer of %s has %d", bytes, d.Info().ID(), most)
	}
	return d.buffer("Alloc", bytes, bytes)
}

// AllocStrings counts a buffer of strings, at 16 bytes each.
func (s strings) AllocStrings(n int64) (device.Buffer, error) {
	if n < 0 || n > 1<<58 {
		return nil, layout.Errorf(device.ErrInvalid, "AllocStrings", "%d strings", n)
	}
	b, err := s.dev.buffer("AllocStrings", n, 16*n)
	if err != nil {
		return nil, err
	}
	return stringBuffer{b}, nil
}

func (d *Device) buffer(op string, size, bytes int64) (*buffer, error) {
	if bytes > 0 {
		bytes = backend.SizeClass(bytes)
	}
	if live := d.Stats().Live; live > math.MaxInt64-bytes {
		return nil, layout.Errorf(device.ErrOutOfMemory, op, "%d bytes beside %d are more than 64 bits count", bytes, live)
	}
	d.counters.Allocated(bytes)
	return &buffer{dev: d, size: size, bytes: bytes}, nil
}

func (b *buffer) Size() int64 { return b.size }

func (b *buffer) Free() error {
	if b.freed {
		return layout.Errorf(device.ErrClosed, "Free", "the buffer of size %d was freed before", b.size)
	}
	b.freed = true
	b.dev.counters.Freed(b.bytes)
	return nil
}

// NewQueue returns a queue.
func (d *Device) NewQueue() (device.Queue, error) { return &queue{d}, nil }
