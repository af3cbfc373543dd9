package gomlx

import (
	"cmp"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	_ "github.com/restride/restride" // every device
	"github.com/restride/restride/adapters/gomlx/internal/core"
	"github.com/restride/restride/tensor"
)

// Name is the backend's name, for GOMLX_BACKEND and compute.NewWithConfig.
const Name = "restride"

func init() {
	compute.Register(Name, func(config string) (compute.Backend, error) {
		return New(cmp.Or(config, "auto"))
	})
}

// Backend is a compute.Backend. All methods may be called from any goroutine; the methods of
// one builder and its functions, from one at a time.
type Backend struct {
	core  *core.Backend
	world world
}

var _ compute.Backend = (*Backend)(nil)

// New opens a device by name, like device.Open ("auto", "cpu", "opencl:0", "cuda:1"). Finalize
// closes it.
func New(name string) (*Backend, error) {
	return newBackend(func(w core.World) (*core.Backend, error) { return core.Open(name, w) })
}

// NewOn returns a backend on a stream that the caller owns: it must outlive the backend and its
// buffers.
func NewOn(s *tensor.Stream) (*Backend, error) {
	return newBackend(func(w core.World) (*core.Backend, error) { return core.New(s, w) })
}

func newBackend(open func(core.World) (*core.Backend, error)) (*Backend, error) {
	inner, err := gobackend.New("")
	if err != nil {
		return nil, err
	}
	sequential, err := gobackend.New("ops_sequential")
	if err != nil {
		return nil, err
	}
	w := world{inner, sequential}
	b, err := open(w)
	if err != nil {
		return nil, err
	}
	return &Backend{b, w}, nil
}

// Name returns "restride".
func (b *Backend) Name() string { return Name }

// String returns "restride".
func (b *Backend) String() string { return Name }

// Description describes the device.
func (b *Backend) Description() string { return b.core.Description(b.world.Description()) }

// NumDevices returns 1: a backend is on one device.
func (b *Backend) NumDevices() int { return 1 }

// DeviceDescription returns the device's name.
func (b *Backend) DeviceDescription(compute.DeviceNum) string {
	return b.core.Stream.Device().Info().Name
}

// Builder returns a builder of a computation.
func (b *Backend) Builder(name string) compute.Builder { return newBuilder(b, name) }

// Finalize waits for the device's work and closes the device, if New opened it.
func (b *Backend) Finalize() {
	if b.core.Finalize() {
		b.world.Backend.Finalize()
		b.world.sequential.Finalize()
	}
}

// IsFinalized reports whether Finalize was called.
func (b *Backend) IsFinalized() bool { return b.core.Finalized() }

// HasSharedBuffers reports whether the device's memory is the host's.
func (b *Backend) HasSharedBuffers() bool { return b.core.Shared() }

// known removes the types that Restride lacks.
func known(c compute.Capabilities) compute.Capabilities {
	for t := range c.DTypes {
		if _, ok := types[t]; !ok {
			delete(c.DTypes, t)
		}
	}
	return c
}

// Stats are a backend's counts.
type Stats = core.Stats

// Stats returns the counts so far. A device whose memory is the host's transfers nothing to or
// from the Go backend.
func (b *Backend) Stats() Stats { return b.core.Stats() }

// world is this version of GoMLX, with its Go backend, which has a second instance for
// sequential computations.
type world struct {
	compute.Backend
	sequential compute.Backend
}
