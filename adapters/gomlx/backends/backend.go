// Package backends is a backend for GoMLX (github.com/gomlx/gomlx, whose package backends has
// the interface) on a Restride device: layout operations run there, transpositions, slices and
// reshapes as views that move nothing, and all others on GoMLX's own Go backend: over the same
// memory where the device's is the host's, otherwise by transfers, which Stats counts.
//
// Importing the package registers the backend under the name "restride"; its configuration is
// the name of a device, such as GOMLX_BACKEND=restride:opencl:0.
package backends

import (
	"cmp"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
	_ "github.com/restride/restride" // every device
	"github.com/restride/restride/adapters/gomlx/internal/core"
	"github.com/restride/restride/tensor"
)

// Name is the backend's name, for GOMLX_BACKEND and backends.NewWithConfig.
const Name = "restride"

func init() {
	backends.Register(Name, func(config string) (backends.Backend, error) {
		return New(cmp.Or(config, "auto"))
	})
}

// Backend is a backends.Backend of GoMLX. All methods may be called from any goroutine; the
// methods of one builder, from one at a time.
type Backend struct {
	core  *core.Backend
	inner backends.Backend // runs all but layout operations
}

var _ backends.Backend = (*Backend)(nil)

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
	inner, err := simplego.New("")
	if err != nil {
		return nil, err
	}
	sequential, err := simplego.New("ops_sequential")
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
func (b *Backend) DeviceDescription(backends.DeviceNum) string {
	return b.core.Stream.Device().Info().Name
}

// Builder returns a builder of a computation.
func (b *Backend) Builder(name string) backends.Builder { return newBuilder(b, name) }

// Finalize waits for the device's work and closes the device, if New opened it.
func (b *Backend) Finalize() {
	if b.core.Finalize() {
		b.inner.Finalize()
	}
}

// IsFinalized reports whether Finalize was called.
func (b *Backend) IsFinalized() bool { return b.core.Finalized() }

// Capabilities are the Go backend's, for the types that Restride has too, plus the layout
// operations that it lacks.
func (b *Backend) Capabilities() backends.Capabilities {
	c := b.inner.Capabilities().Clone()
	for _, op := range []backends.OpType{backends.OpTypeBitcast, backends.OpTypeDynamicSlice, backends.OpTypeDynamicUpdateSlice, backends.OpTypePad, backends.OpTypeReverse} {
		c.Operations[op] = true
	}
	for t := range c.DTypes {
		if _, ok := types[t]; !ok {
			delete(c.DTypes, t)
		}
	}
	return c
}

// Stats are a backend's counts.
type Stats = core.Stats

// Stats returns the counts so far. Between a device whose memory is the host's and the Go
// backend there are no transfers.
func (b *Backend) Stats() Stats { return b.core.Stats() }

// held returns the array of a buffer.
func held(x backends.Buffer) (*core.Held, error) {
	own, ok := x.(*core.Held)
	if !ok || own == nil {
		return nil, errors.Errorf("restride: a buffer of another kind: %T", x)
	}
	return own, nil
}

// BufferFromFlatData copies the elements of a slice to the device.
func (b *Backend) BufferFromFlatData(num backends.DeviceNum, flat any, shape shapes.Shape) (backends.Buffer, error) {
	x, err := b.core.FromFlat(int(num), flat, arrayOf(shape.Clone()))
	if err != nil {
		return nil, err
	}
	return x, nil
}

// HasSharedBuffers reports whether the device's memory is the host's.
func (b *Backend) HasSharedBuffers() bool { return b.core.Shared() }

// NewSharedBuffer returns a buffer and its memory, on a device whose memory is the host's;
// elsewhere it is notimplemented.NotImplementedError.
func (b *Backend) NewSharedBuffer(num backends.DeviceNum, shape shapes.Shape) (backends.Buffer, any, error) {
	x, flat, err := b.core.NewShared(int(num), arrayOf(shape.Clone()))
	if err != nil {
		return nil, nil, err
	}
	return x, flat, nil
}

// BufferFinalize frees the memory; a second time it does nothing.
func (b *Backend) BufferFinalize(x backends.Buffer) error {
	own, err := held(x)
	if err == nil {
		own.Finalize()
	}
	return err
}

// BufferShape returns the shape.
func (b *Backend) BufferShape(x backends.Buffer) (shapes.Shape, error) {
	own, err := held(x)
	if err != nil {
		return shapes.Invalid(), err
	}
	return shapeOf(own.Describe())
}

// BufferDeviceNum returns 0.
func (b *Backend) BufferDeviceNum(x backends.Buffer) (backends.DeviceNum, error) {
	_, err := held(x)
	return 0, err
}

// BufferToFlatData copies the elements to a slice.
func (b *Backend) BufferToFlatData(x backends.Buffer, flat any) error {
	own, err := held(x)
	if err != nil {
		return err
	}
	return own.Read(flat)
}

// BufferData returns the memory itself, on a device whose memory is the host's. It is valid
// until the buffer is finalized, or collected.
func (b *Backend) BufferData(x backends.Buffer) (any, error) {
	own, err := held(x)
	if err != nil {
		return nil, err
	}
	return own.Data()
}

// BufferCopyToDevice returns a copy; a backend has one device, 0.
func (b *Backend) BufferCopyToDevice(x backends.Buffer, num backends.DeviceNum) (backends.Buffer, error) {
	own, err := held(x)
	if err != nil {
		return nil, err
	}
	y, err := own.Copy(int(num))
	if err != nil {
		return nil, err
	}
	return y, nil
}

// executable is a backends.Executable.
type executable struct{ *core.Executable }

func (e executable) Inputs() ([]string, []shapes.Shape) {
	names, in := e.Executable.Inputs()
	return names, shapesOf(in)
}

func (e executable) Outputs() []shapes.Shape { return shapesOf(e.Executable.Outputs()) }

func (e executable) Execute(inputs []backends.Buffer, donate []bool, num backends.DeviceNum) ([]backends.Buffer, error) {
	in := make([]*core.Held, len(inputs))
	for i, x := range inputs {
		var err error
		if in[i], err = held(x); err != nil {
			return nil, errors.WithMessagef(err, "restride: input %d", i)
		}
	}
	out, err := e.Executable.Execute(in, donate, int(num))
	if err != nil {
		return nil, err
	}
	results := make([]backends.Buffer, len(out))
	for i, x := range out {
		results[i] = x
	}
	return results, nil
}
