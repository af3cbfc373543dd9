package core

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/pkg/errors"
	"github.com/restride/restride/device"
	"github.com/restride/restride/tensor"
	"k8s.io/klog/v2"
)

// Backend is a backend on a device. All methods may be called from any goroutine.
type Backend struct {
	World
	Stream *tensor.Stream
	// Few is the number of bytes below which arrays need no layout operation on the device; 0:
	// all layout operations run there, whatever they gain.
	Few       int64
	host      device.HostMemory // the device, if its memory is the host's
	close     func() error
	finalized atomic.Bool

	layoutSteps, goSteps, toHost, toDevice atomic.Int64
	mu                                     sync.Mutex
	fallbacks                              map[string]*atomic.Int64
}

// Open opens a device by name, like device.Open. Finalize closes it.
func Open(name string, w World) (*Backend, error) {
	s, err := tensor.Open(name)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	b, err := New(s, w)
	if err != nil {
		s.Close()
		return nil, err
	}
	b.close = s.Close
	return b, nil
}

// New returns a backend on a stream that the caller owns.
func New(s *tensor.Stream, w World) (*Backend, error) {
	if s == nil {
		return nil, errors.New("restride: the stream is nil")
	}
	b := &Backend{World: w, Stream: s, close: s.Wait, fallbacks: map[string]*atomic.Int64{}}
	if b.host, _ = device.As[device.HostMemory](s.Device()); b.host != nil {
		b.Few = 4096
	} else {
		klog.Infof("restride: on %s only layout operations run on the device: arithmetic runs on the host, its operands and results are transferred, and Stats counts the bytes", s.Device().Info().ID())
	}
	return b, nil
}

// Shared reports whether the device's memory is the host's.
func (b *Backend) Shared() bool { return b.host != nil }

// Finalize waits for the device's work and closes the device, if Open opened it. The first call
// returns true.
func (b *Backend) Finalize() bool {
	if b.finalized.Swap(true) {
		return false
	}
	_ = b.close() // GoMLX's interface cannot return it
	return true
}

// Finalized reports whether Finalize was called.
func (b *Backend) Finalized() bool { return b.finalized.Load() }

// Check is the error of a finalized backend, or of a device other than 0.
func (b *Backend) Check(num int) error {
	if b.Finalized() {
		return errors.New("restride: the backend is finalized")
	}
	if num != 0 {
		return errors.Errorf("restride: device number %d; a backend has one device, 0", num)
	}
	return nil
}

// Description describes the device.
func (b *Backend) Description(inner string) string {
	info := b.Stream.Device().Info()
	return "Restride on " + info.ID() + " (" + info.Name + "), with " + inner
}

// lacks is the error for what the backend lacks.
func (b *Backend) lacks(format string, args ...any) error {
	return errors.Wrapf(b.NotImplemented(), "restride: "+format, args...)
}

// Stats are a backend's counts.
type Stats struct {
	Layout     int64            // layout operations, on the device
	Fallback   int64            // executions of the Go backend, of one operation or more
	ToHost     int64            // bytes from the device, for the Go backend
	ToDevice   int64            // bytes from the Go backend, for the device
	Operations map[string]int64 // the operations of those executions, by name
}

// Stats returns the counts so far. A device whose memory is the host's transfers nothing to or
// from the Go backend.
func (b *Backend) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := Stats{Layout: b.layoutSteps.Load(), Fallback: b.goSteps.Load(), ToHost: b.toHost.Load(), ToDevice: b.toDevice.Load(), Operations: map[string]int64{}}
	for op, n := range b.fallbacks {
		if n := n.Load(); n > 0 {
			s.Operations[op] = n
		}
	}
	return s
}

// counter counts an operation that falls back, some times in each execution.
type counter struct {
	total *atomic.Int64
	times int64
}

// counters returns the counters of operations.
func (b *Backend) counters(ops map[string]int64) (all []counter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for op, times := range maps.All(ops) {
		if b.fallbacks[op] == nil {
			b.fallbacks[op] = new(atomic.Int64)
		}
		all = append(all, counter{b.fallbacks[op], times})
	}
	return all
}
