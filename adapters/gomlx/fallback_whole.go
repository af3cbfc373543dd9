package gomlx

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/pkg/errors"
)

// Operations that call functions or have open dimensions: a computation with one of them
// runs on the Go backend as a whole.

// entirely records a node of such an operation.
func (f *function) entirely(op string, build buildFunc, in ...compute.Value) ([]compute.Value, error) {
	f.bu.whole = op
	return f.several(op, build, in...)
}

// callee returns the shadow of a function that an operation calls.
func (f *function) callee(op string, called compute.Function) (compute.Function, error) {
	c, ok := called.(*function)
	switch {
	case !ok || c == nil:
		return nil, errors.Errorf("restride: %s of a function of another backend: %T", op, called)
	case c.bu != f.bu:
		return nil, errors.Errorf("restride: %s of a function of another builder, %q", op, c.bu.name)
	case !c.done:
		return nil, errors.Errorf("restride: %s of function %q, which has not returned", op, c.Name())
	}
	return c.shadow, nil
}

func (f *function) Call(called compute.Function, in ...compute.Value) ([]compute.Value, error) {
	c, err := f.callee("Call", called)
	if err != nil {
		return nil, err
	}
	return f.entirely("Call", func(g compute.Function, in []compute.Value) ([]compute.Value, error) { return g.Call(c, in...) }, in...)
}

func (f *function) Sort(comparator compute.Function, axis int, stable bool, in ...compute.Value) ([]compute.Value, error) {
	c, err := f.callee("Sort", comparator)
	if err != nil {
		return nil, err
	}
	return f.entirely("Sort", func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		return g.Sort(c, axis, stable, in...)
	}, in...)
}

func (f *function) While(cond, body compute.Function, state ...compute.Value) ([]compute.Value, error) {
	c, err := f.callee("While", cond)
	if err != nil {
		return nil, err
	}
	b, err := f.callee("While", body)
	if err != nil {
		return nil, err
	}
	return f.entirely("While", func(g compute.Function, in []compute.Value) ([]compute.Value, error) { return g.While(c, b, in...) }, state...)
}

func (f *function) If(pred compute.Value, onTrue, onFalse compute.Function) ([]compute.Value, error) {
	t, err := f.callee("If", onTrue)
	if err != nil {
		return nil, err
	}
	e, err := f.callee("If", onFalse)
	if err != nil {
		return nil, err
	}
	return f.entirely("If", func(g compute.Function, in []compute.Value) ([]compute.Value, error) { return g.If(in[0], t, e) }, pred)
}

// open records a node of an operation with open dimensions and one result.
func (f *function) open(op string, do func(g compute.Function, in []compute.Value) (compute.Value, error), in ...compute.Value) (compute.Value, error) {
	v, err := f.entirely(op, func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		v, err := do(g, in)
		return []compute.Value{v}, err
	}, in...)
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

func (f *function) DynamicShape(x compute.Value) (compute.Value, error) {
	return f.open("DynamicShape", func(g compute.Function, in []compute.Value) (compute.Value, error) { return g.DynamicShape(in[0]) }, x)
}

func (f *function) DynamicDimensionSize(x compute.Value, axis int) (compute.Value, error) {
	return f.open("DynamicDimensionSize", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.DynamicDimensionSize(in[0], axis)
	}, x)
}

// sizes returns the operands in dimensions.
func sizes(dims []compute.DynamicDimensionSpec) []compute.Value {
	in := make([]compute.Value, len(dims))
	for i, d := range dims {
		in[i] = d.Value
	}
	return in
}

// resized returns the dimensions with another function's operands.
func resized(dims []compute.DynamicDimensionSpec, in []compute.Value) []compute.DynamicDimensionSpec {
	out := slices.Clone(dims)
	for i := range out {
		out[i].Value = in[i]
	}
	return out
}

func (f *function) DynamicReshape(x compute.Value, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	return f.open("DynamicReshape", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.DynamicReshape(in[0], resized(dims, in[1:])...)
	}, append([]compute.Value{x}, sizes(dims)...)...)
}

func (f *function) DynamicBroadcastInDim(x compute.Value, axes []int, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	const op = "DynamicBroadcastInDim"
	if err := f.increasing(op, x, axes); err != nil {
		return nil, err
	}
	return f.open(op, func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.DynamicBroadcastInDim(in[0], axes, resized(dims, in[1:])...)
	}, append([]compute.Value{x}, sizes(dims)...)...)
}

func (f *function) DynamicIota(dtype dtypes.DType, axis int, dims ...compute.DynamicDimensionSpec) (compute.Value, error) {
	return f.open("DynamicIota", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.DynamicIota(dtype, axis, resized(dims, in)...)
	}, sizes(dims)...)
}

func (f *function) DynamicPad(x, value compute.Value, axes ...compute.DynamicPadAxis) (compute.Value, error) {
	in := []compute.Value{x, value}
	for _, a := range axes {
		in = append(in, a.StartValue, a.EndValue, a.InteriorValue)
	}
	return f.open("DynamicPad", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		own := slices.Clone(axes)
		for i := range own {
			own[i].StartValue, own[i].EndValue, own[i].InteriorValue = in[2+3*i], in[3+3*i], in[4+3*i]
		}
		return g.DynamicPad(in[0], in[1], own...)
	}, in...)
}
