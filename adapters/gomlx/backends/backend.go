// Package backends is a backend for GoMLX (github.com/gomlx/gomlx, whose package of that name
// has the interface) on a Restride device: layout operations run there, transpositions, slices
// and reshapes as views that move nothing, and all others on GoMLX's own Go backend: over the
// same memory where the device's is the host's, otherwise by transfers, which Stats counts.
//
// Importing the package registers the backend under the name "restride"; its configuration is
// the name of a device, such as GOMLX_BACKEND=restride:opencl:0.
package backends

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/adapters/gomlx/internal/core"
)

// Capabilities are the Go backend's, for the types that Restride has too, plus the layout
// operations that it lacks.
func (b *Backend) Capabilities() backends.Capabilities {
	c := b.world.Capabilities().Clone()
	for _, op := range []backends.OpType{backends.OpTypeBitcast, backends.OpTypeDynamicSlice, backends.OpTypeDynamicUpdateSlice, backends.OpTypePad, backends.OpTypeReverse} {
		c.Operations[op] = true
	}
	return known(c)
}

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
