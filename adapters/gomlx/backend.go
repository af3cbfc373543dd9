// Package gomlx is a backend for GoMLX (github.com/gomlx/compute) on a Restride device:
// layout operations run there, transpositions, slices and reshapes as views that move
// nothing, and all others on GoMLX's own Go backend: over the same memory where the device's is
// the host's, otherwise by transfers, which Stats counts.
//
// Importing the package registers the backend under the name "restride"; its configuration is
// the name of a device, such as GOMLX_BACKEND=restride:opencl:0.
package gomlx

import (
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/pkg/errors"
	_ "github.com/restride/restride" // every device
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Name is the backend's name, for GOMLX_BACKEND and compute.NewWithConfig.
const Name = "restride"

func init() {
	compute.Register(Name, func(config string) (compute.Backend, error) {
		if config == "" {
			config = "auto"
		}
		return New(config)
	})
}

// Backend is a compute.Backend. All methods may be called from any goroutine; the methods of
// one builder and its functions, from one at a time.
type Backend struct {
	stream    *tensor.Stream
	host      device.HostMemory // the device, if its memory is the host's
	inner     compute.Backend   // runs all but layout operations
	few       int64             // arrays below this number of bytes need no layout operation on the device
	close     func() error
	finalized atomic.Bool

	layoutSteps, goSteps, toHost, toDevice atomic.Int64
}

var _ compute.Backend = (*Backend)(nil)

// New opens a device by name, like device.Open ("auto", "cpu", "opencl:0", "cuda:1"). Finalize
// closes it.
func New(name string) (*Backend, error) {
	s, err := tensor.Open(name)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	b, err := NewOn(s)
	if err != nil {
		s.Close()
		return nil, err
	}
	b.close = s.Close
	return b, nil
}

// NewOn returns a backend on a stream that the caller owns: it must outlive the backend and its
// buffers.
func NewOn(s *tensor.Stream) (*Backend, error) {
	if s == nil {
		return nil, errors.New("restride: the stream is nil")
	}
	inner, err := gobackend.New("")
	if err != nil {
		return nil, err
	}
	b := &Backend{stream: s, inner: inner, close: s.Wait}
	if b.host, _ = device.As[device.HostMemory](s.Device()); b.host != nil {
		b.few = 4096
	}
	return b, nil
}

// Name returns "restride".
func (b *Backend) Name() string { return Name }

// String returns "restride".
func (b *Backend) String() string { return Name }

// Description describes the device.
func (b *Backend) Description() string {
	info := b.stream.Device().Info()
	return "Restride on " + info.ID() + " (" + info.Name + "), with " + b.inner.Description()
}

// NumDevices returns 1: a backend is on one device.
func (b *Backend) NumDevices() int { return 1 }

// DeviceDescription returns the device's name.
func (b *Backend) DeviceDescription(compute.DeviceNum) string { return b.stream.Device().Info().Name }

// Builder returns a builder of a computation.
func (b *Backend) Builder(name string) compute.Builder { return newBuilder(b, name) }

// Finalize waits for the device's work and closes the device, if New opened it.
func (b *Backend) Finalize() {
	if !b.finalized.Swap(true) {
		_ = b.close() // the interface cannot return it
		b.inner.Finalize()
	}
}

// IsFinalized reports whether Finalize was called.
func (b *Backend) IsFinalized() bool { return b.finalized.Load() }

// check is the error of a finalized backend, or of a device other than 0.
func (b *Backend) check(num compute.DeviceNum) error {
	if b.IsFinalized() {
		return errors.New("restride: the backend is finalized")
	}
	if num != 0 {
		return errors.Errorf("restride: device number %d; a backend has one device, 0", num)
	}
	return nil
}

// Capabilities are the Go backend's, for the types that Restride has too, plus DynamicSlice and
// DynamicUpdateSlice.
func (b *Backend) Capabilities() compute.Capabilities {
	c := b.inner.Capabilities()
	c = c.Clone()
	c.Operations[compute.OpTypeDynamicSlice] = true
	c.Operations[compute.OpTypeDynamicUpdateSlice] = true
	for t := range c.DTypes {
		if _, ok := types[t]; !ok {
			delete(c.DTypes, t)
		}
	}
	return c
}

// types are the types of both.
var types = map[dtypes.DType]layout.DType{
	dtypes.Bool: layout.Bool,
	dtypes.Int2: layout.Int2, dtypes.Uint2: layout.Uint2,
	dtypes.Int4: layout.Int4, dtypes.Uint4: layout.Uint4,
	dtypes.Int8: layout.Int8, dtypes.Uint8: layout.Uint8,
	dtypes.Int16: layout.Int16, dtypes.Uint16: layout.Uint16,
	dtypes.Int32: layout.Int32, dtypes.Uint32: layout.Uint32,
	dtypes.Int64: layout.Int64, dtypes.Uint64: layout.Uint64,
	dtypes.Float16: layout.Float16, dtypes.BFloat16: layout.BFloat16,
	dtypes.Float32: layout.Float32, dtypes.Float64: layout.Float64,
}

// Stats are a backend's counts.
type Stats struct {
	Layout   int64 // layout operations, on the device
	Fallback int64 // executions of the Go backend, of one operation or more
	ToHost   int64 // bytes from the device, for the Go backend
	ToDevice int64 // bytes from the Go backend, for the device
}

// Stats returns the counts so far. Between a device whose memory is the host's and the Go
// backend there are no transfers.
func (b *Backend) Stats() Stats {
	return Stats{Layout: b.layoutSteps.Load(), Fallback: b.goSteps.Load(), ToHost: b.toHost.Load(), ToDevice: b.toDevice.Load()}
}
