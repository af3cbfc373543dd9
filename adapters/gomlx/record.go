package gomlx

import (
	"reflect"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/adapters/gomlx/internal/core"
	"github.com/restride/restride/layout"
)

func (f *function) Parameter(name string, shape shapes.Shape, sharding *compute.ShardingSpec) (compute.Value, error) {
	if sharding != nil {
		return nil, errors.Wrapf(notImplemented, "restride: parameter %q with a sharding", name)
	}
	return f.graph.Parameter(name, arrayOf(shape.Clone()))
}

func (f *function) Constant(flat any, dims ...int) (compute.Value, error) {
	dims = slices.Clone(dims)
	t := reflect.TypeOf(flat)
	if t == nil || t.Kind() != reflect.Slice {
		return nil, errors.Errorf("restride: Constant: a %T; a slice is wanted", flat)
	}
	if slices.ContainsFunc(dims, func(n int) bool { return n < 0 }) {
		return nil, errors.Errorf("restride: Constant: dimensions %v; none may be negative", dims)
	}
	return f.graph.Constant(flat, arrayOf(shapes.Make(dtypes.FromGoType(t.Elem()), dims...)), func(to core.Computation, flat any) (core.Value, error) {
		return to.(*computation).Constant(flat, dims...)
	})
}

// record records a node.
func (f *function) record(n *core.Node, do func(to *computation, in []core.Value) (compute.Value, error), in ...core.Value) (compute.Value, error) {
	return core.One(f.graph, n, func(to *computation, in []core.Value) (any, error) { return do(to, in) }, in...)
}

// one records an operation of the Go backend with one result.
func (f *function) one(op string, do func(to *computation, in []core.Value) (compute.Value, error), in ...core.Value) (compute.Value, error) {
	return f.record(core.Fallback(op), do, in...)
}

// many records an operation of the Go backend with any number of results.
func (f *function) many(op string, do func(to *computation, in []core.Value) ([]compute.Value, error), in ...core.Value) ([]compute.Value, error) {
	out, err := f.graph.Record(core.Fallback(op), func(to core.Computation, in []core.Value) ([]core.Value, error) {
		out, err := do(to.(*computation), in)
		return core.Values(out), err
	}, in...)
	if err != nil {
		return nil, err
	}
	return core.Cast[compute.Value](out), nil
}

func (f *function) two(op string, do func(to *computation, in []core.Value) (a, b compute.Value, err error), in ...core.Value) (a, b compute.Value, err error) {
	out, err := f.many(op, func(to *computation, in []core.Value) ([]compute.Value, error) {
		a, b, err := do(to, in)
		return []compute.Value{a, b}, err
	}, in...)
	if err != nil {
		return nil, nil, err
	}
	return out[0], out[1], nil
}

func (f *function) three(op string, do func(to *computation, in []core.Value) (a, b, c compute.Value, err error), in ...core.Value) (a, b, c compute.Value, err error) {
	out, err := f.many(op, func(to *computation, in []core.Value) ([]compute.Value, error) {
		a, b, c, err := do(to, in)
		return []compute.Value{a, b, c}, err
	}, in...)
	if err != nil {
		return nil, nil, nil, err
	}
	return out[0], out[1], out[2], nil
}

// arrayOf describes an array by GoMLX's shape.
func arrayOf(s shapes.Shape) core.Array {
	a := core.Array{Shape: s, DType: types[s.DType], Dims: core.Dims(s.Dimensions)}
	switch {
	case a.DType == 0:
	case a.DType.Bits() < 8:
		a.Elem = reflect.TypeFor[uint8]()
	default:
		a.Elem = s.DType.GoType()
	}
	return a
}

// shapeOf returns GoMLX's shape of an array.
func shapeOf(of core.Array, err error) (shapes.Shape, error) {
	if err != nil {
		return shapes.Invalid(), err
	}
	return of.Shape.(shapes.Shape), nil
}

func shapesOf(all []core.Array) []shapes.Shape {
	out := make([]shapes.Shape, len(all))
	for i, a := range all {
		out[i] = a.Shape.(shapes.Shape)
	}
	return out
}

func (w world) NotImplemented() error { return notImplemented }

func (w world) Array(t layout.DType, dims []int64) core.Array {
	s := shapes.Shape{Dimensions: make([]int, len(dims))}
	for i, n := range dims {
		s.Dimensions[i] = int(n)
	}
	for own, restride := range types {
		if restride == t {
			s.DType = own
		}
	}
	return arrayOf(s)
}
