package backends

import (
	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/notimplemented"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/restride/restride/adapters/gomlx/internal/core"
	"github.com/restride/restride/layout"
)

// types are the types of both.
var types = map[dtypes.DType]layout.DType{
	dtypes.Bool: layout.Bool,
	dtypes.Int8: layout.Int8, dtypes.Uint8: layout.Uint8,
	dtypes.Int16: layout.Int16, dtypes.Uint16: layout.Uint16,
	dtypes.Int32: layout.Int32, dtypes.Uint32: layout.Uint32,
	dtypes.Int64: layout.Int64, dtypes.Uint64: layout.Uint64,
	dtypes.Float16: layout.Float16, dtypes.BFloat16: layout.BFloat16,
	dtypes.Float32: layout.Float32, dtypes.Float64: layout.Float64,
}

var notImplemented = notimplemented.NotImplementedError

func (w world) Memory(of core.Array) (core.Buffer, error) {
	x, _, err := w.NewSharedBuffer(0, of.Shape.(shapes.Shape))
	return x, err
}

func (w world) Flat(x core.Buffer) (any, error) { return w.BufferData(x) }
func (w world) Recycle(x core.Buffer)           { _ = w.BufferFinalize(x) }

func (w world) Describe(x core.Buffer) (core.Array, error) {
	s, err := w.BufferShape(x)
	return arrayOf(s), err
}

func (w world) Builder(name string, sequential bool) core.Computation {
	if sequential {
		return &computation{w.sequential.Builder(name)}
	}
	return &computation{w.Backend.Builder(name)}
}

// computation is a computation of the Go backend.
type computation struct{ backends.Builder }

func (c *computation) Parameter(name string, of core.Array) (core.Value, error) {
	return c.Builder.Parameter(name, of.Shape.(shapes.Shape), nil)
}

func (c *computation) Describe(v core.Value) (core.Array, error) {
	s, err := c.OpShape(v)
	return arrayOf(s), err
}

func (c *computation) Compile(results []core.Value) (core.Program, error) {
	exec, err := c.Builder.Compile(core.Cast[backends.Op](results), nil)
	return program{exec}, err
}

type program struct{ backends.Executable }

func (p program) Execute(in []core.Buffer, donate []bool) ([]core.Buffer, error) {
	out, err := p.Executable.Execute(core.Cast[backends.Buffer](in), donate, 0)
	return core.Values(out), err
}
