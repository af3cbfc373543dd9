package gomlx

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/adapters/gomlx/internal/core"
)

// builder is a compute.Builder: all that it lacks is the shadow's.
type builder struct {
	compute.Builder // the shadow
	b               *Backend
	main            *function
}

func newBuilder(b *Backend, name string) *builder {
	bu := &builder{Builder: b.world.Backend.Builder(name), b: b}
	c := newComputation(bu.Builder)
	bu.main = &function{scope{Function: c.Function, bu: bu}, core.NewGraph(b.core, name, c)}
	bu.main.self = bu.main
	return bu
}

func (bu *builder) Main() compute.Function { return bu.main }

func (bu *builder) NewFunction(name string) (compute.Function, error) {
	return bu.scope(nil)(bu.Builder.NewFunction(name))
}

func (bu *builder) OpShape(v compute.Value) (shapes.Shape, error) { return bu.main.Shape(v) }

func (bu *builder) DeviceAssignment(devices ...compute.DeviceNum) error {
	if len(devices) != 1 {
		return errors.Errorf("restride: an assignment to %d devices; a backend has one", len(devices))
	}
	return bu.b.core.Check(int(devices[0]))
}

func (bu *builder) Compile() (compute.Executable, error) {
	e, err := bu.main.graph.Compile()
	if err != nil {
		return nil, err
	}
	return &executable{e, bu.b}, nil
}

// function is the main function of a computation, which is recorded. The shadow has the methods
// that it lacks: operations with open dimensions, and operations of other versions of GoMLX.
// Their results are not recorded; nor are the results of calls of other functions.
type function struct {
	scope
	graph *core.Graph
}

func (f *function) Shape(v compute.Value) (shapes.Shape, error) { return shapeOf(f.graph.Describe(v)) }

func (f *function) Return(outputs []compute.Value, shardings []*compute.ShardingSpec) error {
	if len(shardings) > 0 {
		return errors.Wrap(notImplemented, "restride: Return with shardings")
	}
	return f.graph.Return(core.Values(outputs))
}

// DynamicBroadcastInDim is the shadow's, which does not check the axes.
func (f *function) DynamicBroadcastInDim(x compute.Value, axes []int, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	if _, err := core.Broadcast("", axes, nil); err != nil {
		return nil, f.refused("DynamicBroadcastInDim", x, err)
	}
	return f.Function.DynamicBroadcastInDim(x, axes, dims...)
}
