package gomlx

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/adapters/gomlx/internal/core"
)

// The operations that run on the device.

func (f *function) Identity(x compute.Value) (compute.Value, error) {
	return f.record(core.Identity(), func(to *computation, in []core.Value) (compute.Value, error) { return to.Identity(in[0]) }, x)
}

func (f *function) Reshape(x compute.Value, dims ...int) (compute.Value, error) {
	dims = slices.Clone(dims)
	return f.record(core.Reshape(), func(to *computation, in []core.Value) (compute.Value, error) { return to.Reshape(in[0], dims...) }, x)
}

func (f *function) Transpose(x compute.Value, perm ...int) (compute.Value, error) {
	perm = slices.Clone(perm)
	return f.record(core.Transpose(perm), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.Transpose(in[0], perm...)
	}, x)
}

func (f *function) Slice(x compute.Value, starts, limits, strides []int) (compute.Value, error) {
	starts, limits, strides = slices.Clone(starts), slices.Clone(limits), slices.Clone(strides)
	return f.record(core.Slice(starts, limits, strides), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.Slice(in[0], starts, limits, strides)
	}, x)
}

func (f *function) Reverse(x compute.Value, axes ...int) (compute.Value, error) {
	axes = slices.Clone(axes)
	return f.record(core.Reverse(axes), func(to *computation, in []core.Value) (compute.Value, error) { return to.Reverse(in[0], axes...) }, x)
}

func (f *function) BroadcastInDim(x compute.Value, shape shapes.Shape, axes []int) (compute.Value, error) {
	axes, shape = slices.Clone(axes), shape.Clone()
	n, err := core.Broadcast("BroadcastInDim", axes, core.Dims(shape.Dimensions))
	if err != nil {
		return nil, f.refused("BroadcastInDim", x, err)
	}
	return f.record(n, func(to *computation, in []core.Value) (compute.Value, error) {
		return to.BroadcastInDim(in[0], shape, axes)
	}, x)
}

// refused names an operation and the shape of its operand in an error.
func (f *function) refused(op string, x compute.Value, err error) error {
	of, unknown := f.graph.Describe(x)
	if unknown != nil {
		return unknown
	}
	return errors.WithMessagef(err, "restride: %s of %s", op, of.Shape)
}

func (f *function) Bitcast(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	return f.record(core.Bitcast(types[dtype]), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.Bitcast(in[0], dtype)
	}, x)
}

func (f *function) Iota(shape shapes.Shape, axis int) (compute.Value, error) {
	shape = shape.Clone()
	return f.record(core.Iota(types[shape.DType], axis, core.Dims(shape.Dimensions)), func(to *computation, _ []core.Value) (compute.Value, error) {
		return to.Iota(shape, axis)
	})
}

func (f *function) ConvertDType(x compute.Value, dtype dtypes.DType) (compute.Value, error) {
	of, err := f.graph.Describe(x)
	if err != nil {
		return nil, err
	}
	return f.record(core.Convert(of.DType, types[dtype]), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.ConvertDType(in[0], dtype)
	}, x)
}

func (f *function) Concatenate(axis int, xs ...compute.Value) (compute.Value, error) {
	return f.record(core.Concatenate(axis), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.Concatenate(axis, core.Cast[compute.Value](in)...)
	}, core.Values(xs)...)
}

func (f *function) Pad(x, value compute.Value, axes ...compute.PadAxis) (compute.Value, error) {
	axes = slices.Clone(axes)
	by := make([]core.PadAxis, len(axes))
	for i, a := range axes {
		by[i] = core.PadAxis{Start: a.Start, End: a.End, Interior: a.Interior}
	}
	return f.record(core.Pad(by), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.Pad(in[0], in[1], axes...)
	}, x, value)
}

func (f *function) Where(condition, onTrue, onFalse compute.Value) (compute.Value, error) {
	return f.record(core.Where(), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.Where(in[0], in[1], in[2])
	}, condition, onTrue, onFalse)
}

func (f *function) Gather(x, starts compute.Value, vectorAxis int, offsetAxes, collapsed, startMap, sizes []int, sorted bool) (compute.Value, error) {
	offsetAxes, collapsed, startMap, sizes = slices.Clone(offsetAxes), slices.Clone(collapsed), slices.Clone(startMap), slices.Clone(sizes)
	at, err := f.graph.Describe(starts)
	if err != nil {
		return nil, err
	}
	n, err := core.Gather(at, vectorAxis, offsetAxes, collapsed, startMap, sizes)
	if err != nil {
		return nil, err
	}
	return f.record(n, func(to *computation, in []core.Value) (compute.Value, error) {
		return to.Gather(in[0], in[1], vectorAxis, offsetAxes, collapsed, startMap, sizes, sorted)
	}, x, starts)
}

func (f *function) DynamicSlice(x compute.Value, starts []compute.Value, sizes []int) (compute.Value, error) {
	sizes = slices.Clone(sizes)
	return f.record(core.DynamicSlice(sizes), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.DynamicSlice(in[0], core.Cast[compute.Value](in[1:]), sizes)
	}, core.Values(starts, x)...)
}

func (f *function) DynamicUpdateSlice(x, update compute.Value, starts []compute.Value) (compute.Value, error) {
	return f.record(core.DynamicUpdateSlice(), func(to *computation, in []core.Value) (compute.Value, error) {
		return to.DynamicUpdateSlice(in[0], in[1], core.Cast[compute.Value](in[2:]))
	}, core.Values(starts, x, update)...)
}
