package backends

import (
	"slices"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/adapters/gomlx/internal/core"
)

// function is a backends.Builder. The shadow has the methods that it lacks: operations of other
// versions of GoMLX. Their results are not recorded.
type function struct {
	backends.Builder // the shadow
	b                *Backend
	graph            *core.Graph
}

func newBuilder(b *Backend, name string) *function {
	c := &computation{b.world.Backend.Builder(name)}
	return &function{c.Builder, b, core.NewGraph(b.core, name, c)}
}

func (f *function) OpShape(v backends.Op) (shapes.Shape, error) {
	return shapeOf(f.graph.Describe(v))
}

func (f *function) DeviceAssignment(devices ...backends.DeviceNum) error {
	if len(devices) != 1 {
		return errors.Errorf("restride: an assignment to %d devices; a backend has one", len(devices))
	}
	return f.b.core.Check(int(devices[0]))
}

func (f *function) Compile(outputs []backends.Op, shardings []*backends.ShardingSpec) (backends.Executable, error) {
	if len(shardings) > 0 {
		return nil, errors.Wrap(notImplemented, "restride: Compile with shardings")
	}
	if err := f.graph.Return(core.Values(outputs)); err != nil {
		return nil, err
	}
	e, err := f.graph.Compile()
	if err != nil {
		return nil, err
	}
	return executable{e}, nil
}

// ConvGeneral may have nil for strides and dilations of 1 and for no padding, with which the Go
// backend fails.
func (f *function) ConvGeneral(x, kernel backends.Op, axes backends.ConvolveAxesConfig, strides []int, paddings [][2]int,
	dilations, kernelDilations []int, groups, batchGroups int) (backends.Op, error) {
	axes = axes.Clone()
	ones := func(of []int) []int {
		if of == nil {
			return slices.Repeat([]int{1}, len(axes.InputSpatial))
		}
		return slices.Clone(of)
	}
	strides, dilations, kernelDilations = ones(strides), ones(dilations), ones(kernelDilations)
	if paddings = slices.Clone(paddings); paddings == nil {
		paddings = make([][2]int, len(axes.InputSpatial))
	}
	return f.one("ConvGeneral", func(to *computation, in []core.Value) (backends.Op, error) {
		return to.ConvGeneral(in[0], in[1], axes, strides, paddings, dilations, kernelDilations, groups, batchGroups)
	}, x, kernel)
}
