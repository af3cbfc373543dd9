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
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/adapters/gomlx/internal/core"
)

// Capabilities are the Go backend's, for the types that Restride has too, plus DynamicSlice and
// DynamicUpdateSlice.
func (b *Backend) Capabilities() compute.Capabilities {
	c := b.world.Capabilities()
	c = c.Clone()
	c.Operations[compute.OpTypeDynamicSlice] = true
	c.Operations[compute.OpTypeDynamicUpdateSlice] = true
	return known(c)
}

// BufferFromFlatData copies the elements of a slice to the device.
func (b *Backend) BufferFromFlatData(num compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	x, err := b.core.FromFlat(int(num), flat, arrayOf(shape.Clone()))
	if err != nil {
		return nil, err
	}
	return &buffer{x, b}, nil
}

// NewSharedBuffer returns a buffer and its memory, on a device whose memory is the host's;
// elsewhere it is compute.ErrNotImplemented.
func (b *Backend) NewSharedBuffer(num compute.DeviceNum, shape shapes.Shape) (compute.Buffer, any, error) {
	x, flat, err := b.core.NewShared(int(num), arrayOf(shape.Clone()))
	if err != nil {
		return nil, nil, err
	}
	return &buffer{x, b}, flat, nil
}

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
