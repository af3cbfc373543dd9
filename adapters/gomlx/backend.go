// Package gomlx is a backend for GoMLX (github.com/gomlx/compute) on a Restride device:
// layout operations run there, transpositions, slices and reshapes as views that move
// nothing, and all others on GoMLX's own Go backend: over the same memory where the device's is
// the host's, otherwise by transfers, which Stats counts. Package backends beside it is the same
// for the released framework, github.com/gomlx/gomlx.
//
// Importing the package registers the backend under the name "restride"; its configuration is
// the name of a device, such as GOMLX_BACKEND=restride:opencl:0.
package gomlx

import (
	"cmp"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
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
	inner compute.Backend // runs all but layout operations
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
	b, err := open(world{inner, sequential})
	if err != nil {
		return nil, err
	}
	return &Backend{core: b, inner: inner}, nil
}

// Name returns "restride".
func (b *Backend) Name() string { return Name }

// String returns "restride".
func (b *Backend) String() string { return Name }

// Description describes the device.
func (b *Backend) Description() string { return b.core.Description(b.inner.Description()) }

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
		b.inner.Finalize()
	}
}

// IsFinalized reports whether Finalize was called.
func (b *Backend) IsFinalized() bool { return b.core.Finalized() }

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

// BufferFromFlatData copies the elements of a slice to the device.
func (b *Backend) BufferFromFlatData(num compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	x, err := b.core.FromFlat(int(num), flat, arrayOf(shape.Clone()))
	if err != nil {
		return nil, err
	}
	return &buffer{x, b}, nil
}

// HasSharedBuffers reports whether the device's memory is the host's.
func (b *Backend) HasSharedBuffers() bool { return b.core.Shared() }

// NewSharedBuffer returns a buffer and its memory, on a device whose memory is the host's;
// elsewhere it is compute.ErrNotImplemented.
func (b *Backend) NewSharedBuffer(num compute.DeviceNum, shape shapes.Shape) (compute.Buffer, any, error) {
	x, flat, err := b.core.NewShared(int(num), arrayOf(shape.Clone()))
	if err != nil {
		return nil, nil, err
	}
	return &buffer{x, b}, flat, nil
}

// Stats are a backend's counts.
type Stats = core.Stats

// Stats returns the counts so far. Between a device whose memory is the host's and the Go
// backend there are no transfers.
func (b *Backend) Stats() Stats { return b.core.Stats() }

// buffer is a compute.Buffer.
type buffer struct {
	held *core.Held
	b    *Backend
}

func (x *buffer) Backend() compute.Backend { return x.b }

func (x *buffer) Finalize() error {
	x.held.Finalize()
	return nil
}

func (x *buffer) Shape() (shapes.Shape, error) {
	return shapeOf(x.held.Describe())
}

func (x *buffer) DeviceNum() (compute.DeviceNum, error) { return 0, nil }
func (x *buffer) ToFlatData(flat any) error             { return x.held.Read(flat) }
func (x *buffer) Data() (any, error)                    { return x.held.Data() }

func (x *buffer) CopyToDevice(num compute.DeviceNum) (compute.Buffer, error) {
	y, err := x.held.Copy(int(num))
	if err != nil {
		return nil, err
	}
	return &buffer{y, x.b}, nil
}

// executable is a compute.Executable.
type executable struct {
	*core.Executable
	b *Backend
}

func (e *executable) Inputs() ([]string, []shapes.Shape) {
	names, in := e.Executable.Inputs()
	return names, shapesOf(in)
}

func (e *executable) Outputs() []shapes.Shape { return shapesOf(e.Executable.Outputs()) }

func (e *executable) Execute(inputs []compute.Buffer, donate []bool, num compute.DeviceNum) ([]compute.Buffer, error) {
	in := make([]*core.Held, len(inputs))
	for i, x := range inputs {
		own, ok := x.(*buffer)
		if !ok || own == nil {
			return nil, errors.Errorf("restride: input %d is a buffer of another kind: %T", i, x)
		}
		in[i] = own.held
	}
	held, err := e.Executable.Execute(in, donate, int(num))
	if err != nil {
		return nil, err
	}
	out := make([]compute.Buffer, len(held))
	for i, x := range held {
		out[i] = &buffer{x, e.b}
	}
	return out, nil
}
