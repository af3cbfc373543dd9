package gomlx

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/restride/restride/adapters/gomlx/internal/core"
	"github.com/restride/restride/layout"
)

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

var notImplemented = compute.ErrNotImplemented

func (w world) Memory(of core.Array) (core.Buffer, error) {
	x, _, err := w.NewSharedBuffer(0, of.Shape.(shapes.Shape))
	return x, err
}

func (w world) Flat(x core.Buffer) (any, error) { return x.(compute.Buffer).Data() }
func (w world) Recycle(x core.Buffer)           { _ = x.(compute.Buffer).Finalize() }

func (w world) Describe(x core.Buffer) (core.Array, error) {
	s, err := x.(compute.Buffer).Shape()
	return arrayOf(s), err
}

func (w world) Builder(name string, sequential bool) core.Computation {
	if sequential {
		return newComputation(w.sequential.Builder(name))
	}
	return newComputation(w.Backend.Builder(name))
}

// computation is a computation of the Go backend: its main function.
type computation struct {
	compute.Function
	builder compute.Builder
}

func newComputation(b compute.Builder) *computation { return &computation{b.Main(), b} }

func (c *computation) Parameter(name string, of core.Array) (core.Value, error) {
	return c.Function.Parameter(name, of.Shape.(shapes.Shape), nil)
}

func (c *computation) Describe(v core.Value) (core.Array, error) {
	s, err := c.Shape(v)
	return arrayOf(s), err
}

func (c *computation) Compile(results []core.Value) (core.Program, error) {
	if err := c.Return(core.Cast[compute.Value](results), nil); err != nil {
		return nil, err
	}
	exec, err := c.builder.Compile()
	return program{exec}, err
}

type program struct{ compute.Executable }

func (p program) Execute(in []core.Buffer, donate []bool) ([]core.Buffer, error) {
	out, err := p.Executable.Execute(core.Cast[compute.Buffer](in), donate, 0)
	return core.Values(out), err
}
