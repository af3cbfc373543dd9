package gomlx

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// The other operations that the Go backend runs.

// several records a node of any number of results.
func (f *function) several(op string, build buildFunc, in ...compute.Value) ([]compute.Value, error) {
	n := &node{op: op, build: build}
	if err := f.record(n, in...); err != nil {
		return nil, err
	}
	values := make([]compute.Value, len(n.out))
	for i, x := range n.out {
		values[i] = x
	}
	return values, nil
}

// oneResult records a node of one result.
func (f *function) oneResult(op string, do func(g compute.Function, in []compute.Value) (compute.Value, error), in ...compute.Value) (compute.Value, error) {
	return f.single(&node{op: op, build: func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		v, err := do(g, in)
		return []compute.Value{v}, err
	}}, in...)
}

// threeResults records a node of three results.
func (f *function) threeResults(op string, do func(g compute.Function, in []compute.Value) (a, b, c compute.Value, err error), in ...compute.Value) (a, b, c compute.Value, err error) {
	v, err := f.several(op, func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		a, b, c, err := do(g, in)
		return []compute.Value{a, b, c}, err
	}, in...)
	if err != nil {
		return nil, nil, nil, err
	}
	return v[0], v[1], v[2], nil
}

func (f *function) ArgMinMax(x compute.Value, axis int, dtype dtypes.DType, isMin bool) (compute.Value, error) {
	return f.unary("ArgMinMax", func(g compute.Function, x compute.Value) (compute.Value, error) {
		return g.ArgMinMax(x, axis, dtype, isMin)
	}, x)
}

func (f *function) BatchNormForInference(x, scale, offset, mean, variance compute.Value, epsilon float32, axis int) (compute.Value, error) {
	return f.oneResult("BatchNormForInference", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.BatchNormForInference(in[0], in[1], in[2], in[3], in[4], epsilon, axis)
	}, x, scale, offset, mean, variance)
}

func (f *function) BatchNormForTraining(x, scale, offset compute.Value, epsilon float32, axis int) (a, b, c compute.Value, err error) {
	return f.threeResults("BatchNormForTraining", func(g compute.Function, in []compute.Value) (a, b, c compute.Value, err error) {
		return g.BatchNormForTraining(in[0], in[1], in[2], epsilon, axis)
	}, x, scale, offset)
}

func (f *function) BatchNormGradient(x, scale, mean, variance, gradient compute.Value, epsilon float32, axis int) (a, b, c compute.Value, err error) {
	return f.threeResults("BatchNormGradient", func(g compute.Function, in []compute.Value) (a, b, c compute.Value, err error) {
		return g.BatchNormGradient(in[0], in[1], in[2], in[3], in[4], epsilon, axis)
	}, x, scale, mean, variance, gradient)
}

func (f *function) Clamp(lo, x, hi compute.Value) (compute.Value, error) {
	return f.oneResult("Clamp", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.Clamp(in[0], in[1], in[2])
	}, lo, x, hi)
}

func (f *function) ConvGeneral(x, kernel compute.Value, axes compute.ConvolveAxesConfig, strides []int, paddings [][2]int, dilations, kernelDilations []int, groups, batchGroups int) (compute.Value, error) {
	axes, paddings = axes.Clone(), slices.Clone(paddings)
	keep(&strides, &dilations, &kernelDilations)
	return f.binary("ConvGeneral", func(g compute.Function, x, kernel compute.Value) (compute.Value, error) {
		return g.ConvGeneral(x, kernel, axes, strides, paddings, dilations, kernelDilations, groups, batchGroups)
	}, x, kernel)
}

func (f *function) CumSum(x compute.Value, axis int, options compute.CumSumOptions) (compute.Value, error) {
	return f.unary("CumSum", func(g compute.Function, x compute.Value) (compute.Value, error) { return g.CumSum(x, axis, options) }, x)
}

func (f *function) DotGeneral(lhs compute.Value, lhsContracting, lhsBatch []int, rhs compute.Value, rhsContracting, rhsBatch []int, config compute.DotGeneralConfig) (compute.Value, error) {
	keep(&lhsContracting, &lhsBatch, &rhsContracting, &rhsBatch)
	return f.binary("DotGeneral", func(g compute.Function, lhs, rhs compute.Value) (compute.Value, error) {
		return g.DotGeneral(lhs, lhsContracting, lhsBatch, rhs, rhsContracting, rhsBatch, config)
	}, lhs, rhs)
}

func (f *function) FFT(x compute.Value, kind compute.FFTType, length []int) (compute.Value, error) {
	keep(&length)
	return f.unary("FFT", func(g compute.Function, x compute.Value) (compute.Value, error) { return g.FFT(x, kind, length) }, x)
}

func (f *function) ReduceWindow(x compute.Value, by compute.ReduceOpType, window, strides, dilations, windowDilations []int, paddings [][2]int) (compute.Value, error) {
	paddings = slices.Clone(paddings)
	keep(&window, &strides, &dilations, &windowDilations)
	return f.unary("ReduceWindow", func(g compute.Function, x compute.Value) (compute.Value, error) {
		return g.ReduceWindow(x, by, window, strides, dilations, windowDilations, paddings)
	}, x)
}

func (f *function) RNGBitGenerator(state compute.Value, shape shapes.Shape) (next, values compute.Value, err error) {
	shape = shape.Clone()
	v, err := f.several("RNGBitGenerator", func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		next, values, err := g.RNGBitGenerator(in[0], shape)
		return []compute.Value{next, values}, err
	}, state)
	if err != nil {
		return nil, nil, err
	}
	return v[0], v[1], nil
}

// scatter is one of the operations of that name.
type scatter = func(g compute.Function, x, indices, updates compute.Value, vectorAxis int, windowAxes, inserted, axes []int, sorted, unique bool) (compute.Value, error)

func (f *function) scatter(op string, do scatter, x, indices, updates compute.Value, vectorAxis int, windowAxes, inserted, axes []int, sorted, unique bool) (compute.Value, error) {
	keep(&windowAxes, &inserted, &axes)
	return f.oneResult(op, func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return do(g, in[0], in[1], in[2], vectorAxis, windowAxes, inserted, axes, sorted, unique)
	}, x, indices, updates)
}

func (f *function) ScatterMax(x, indices, updates compute.Value, vectorAxis int, windowAxes, inserted, axes []int, sorted, unique bool) (compute.Value, error) {
	return f.scatter("ScatterMax", compute.Function.ScatterMax, x, indices, updates, vectorAxis, windowAxes, inserted, axes, sorted, unique)
}

func (f *function) ScatterMin(x, indices, updates compute.Value, vectorAxis int, windowAxes, inserted, axes []int, sorted, unique bool) (compute.Value, error) {
	return f.scatter("ScatterMin", compute.Function.ScatterMin, x, indices, updates, vectorAxis, windowAxes, inserted, axes, sorted, unique)
}

func (f *function) ScatterSum(x, indices, updates compute.Value, vectorAxis int, windowAxes, inserted, axes []int, sorted, unique bool) (compute.Value, error) {
	return f.scatter("ScatterSum", compute.Function.ScatterSum, x, indices, updates, vectorAxis, windowAxes, inserted, axes, sorted, unique)
}

func (f *function) SelectAndScatterMax(x, source compute.Value, window, strides []int, paddings [][2]int) (compute.Value, error) {
	paddings = slices.Clone(paddings)
	keep(&window, &strides)
	return f.binary("SelectAndScatterMax", func(g compute.Function, x, source compute.Value) (compute.Value, error) {
		return g.SelectAndScatterMax(x, source, window, strides, paddings)
	}, x, source)
}

func (f *function) SelectAndScatterMin(x, source compute.Value, window, strides []int, paddings [][2]int) (compute.Value, error) {
	paddings = slices.Clone(paddings)
	keep(&window, &strides)
	return f.binary("SelectAndScatterMin", func(g compute.Function, x, source compute.Value) (compute.Value, error) {
		return g.SelectAndScatterMin(x, source, window, strides, paddings)
	}, x, source)
}

func (f *function) OptimizationBarrier(xs ...compute.Value) ([]compute.Value, error) {
	return f.several("OptimizationBarrier", func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		return g.OptimizationBarrier(in...)
	}, xs...)
}

func (f *function) SchedulingBarrier(x compute.Value, after ...compute.Value) (compute.Value, error) {
	return f.oneResult("SchedulingBarrier", func(g compute.Function, in []compute.Value) (compute.Value, error) {
		return g.SchedulingBarrier(in[0], in[1:]...)
	}, append([]compute.Value{x}, after...)...)
}

func (f *function) AllReduce(xs []compute.Value, by compute.ReduceOpType, groups [][]int) ([]compute.Value, error) {
	groups = slices.Clone(groups)
	return f.several("AllReduce", func(g compute.Function, in []compute.Value) ([]compute.Value, error) {
		return g.AllReduce(in, by, groups)
	}, xs...)
}
