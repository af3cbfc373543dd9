package onnx_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Slice", versions: []onnx.Opset{1, 10, 11, 13},
		note:  "attributes in 1, then inputs; steps from 10",
		types: typesSince{1, 1, 1, 13},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			if v < 10 {
				return onnx.Attrs{onnx.Ints("starts", 1, 0), onnx.Ints("ends", -1, 99), onnx.Ints("axes", 3, 2)}, nil
			}
			return nil, [][]int64{{1, 0}, {-1, 99}, {3, 2}}
		},
		want: func(a array) array { return a.Take(3, []int64{1, 2}) },
	}, operatorTest{
		op: "DynamicSlice", versions: []onnx.Opset{1},
		note:  "ONNX's experiment before Slice-10: at every opset",
		types: typesSince{1, 1, 1},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, [][]int64{{1}, {2}, {3}} },
		want:  func(a array) array { return a.Take(3, []int64{1}) },
	})
}

var sliceNumbers = []int64{
	math.MinInt64, math.MinInt32, -6, -5, -2, -1, 0, 1, 2, 5, 6, math.MaxInt64 - 1, math.MaxInt64,
}

// TestSliceOneAxis checks all combinations of telling starts, ends and steps.
func TestSliceOneAxis(t *testing.T) {
	s := open(t)
	for _, n := range []int64{0, 1, 5} {
		a := numbered(layout.Int16, n)
		for _, view := range views {
			x := uploadAs(t, a, s, layout.Int16, view)
			for _, start := range sliceNumbers {
				for _, end := range sliceNumbers {
					for _, step := range sliceNumbers {
						y, err := runSlice(x, 13, []int64{start}, []int64{end}, nil, []int64{step})
						if step == 0 {
							require.ErrorIs(t, err, device.ErrInvalid)
							require.ErrorContains(t, err, "is 0")
							continue
						}
						require.NoError(t, err)
						require.Equal(t, tensor.View, y.Verdict().Kind)
						want := a.Take(0, sliced(n, start, end, step))
						have := download(t, y)
						if fmt.Sprint(want) != fmt.Sprint(have) {
							t.Fatalf("%d of %s [%d:%d:%d]: %v, want %v", n, view, start, end, step, have, want)
						}
						require.NoError(t, y.Release())
					}
				}
			}
		}
	}
}

// TestSliceManyAxes checks random slices of random tensors, with axes in any
// order and of either index type.
func TestSliceManyAxes(t *testing.T) {
	s := open(t)
	rng := rand.New(rand.NewPCG(3, 4))
	types := []layout.DType{layout.Float32, layout.String, layout.Bool, layout.Complex128, layout.Uint8}
	pick := func() int64 { return sliceNumbers[rng.IntN(len(sliceNumbers))] }
	for range 2000 {
		dims := make([]int64, rng.IntN(5))
		for i := range dims {
			dims[i] = rng.Int64N(5)
		}
		typ := types[rng.IntN(len(types))]
		a := numbered(typ, dims...)
		x := uploadAs(t, a, s, typ, views[rng.IntN(len(views))])
		v := []onnx.Opset{1, 10, 11, 13, 25}[rng.IntN(5)]
		rank := int64(len(dims))
		starts, ends, axes, steps := []int64{}, []int64{}, []int64{}, []int64{}
		want := a
		for _, axis := range rng.Perm(len(dims))[:rng.IntN(len(dims)+1)] {
			start, end, step := pick(), pick(), int64(1)
			for v >= 10 && rng.IntN(3) > 0 {
				if step = pick(); step != 0 {
					break
				}
			}
			if step == 0 {
				step = -1
			}
			want = want.Take(axis, sliced(dims[axis], start, end, step))
			starts, ends, steps = append(starts, start), append(ends, end), append(steps, step)
			axes = append(axes, int64(axis))
			if v >= 11 && rng.IntN(2) == 0 {
				axes[len(axes)-1] -= rank
			}
		}
		var y *tensor.Tensor
		var err error
		if v < 10 {
			y, err = byRun(t, "Slice", v, onnx.Attrs{onnx.Ints("axes", axes...), onnx.Ints("starts", starts...), onnx.Ints("ends", ends...)}, x, nil)
		} else {
			y, err = byRun(t, "Slice", v, nil, x, [][]int64{starts, ends, axes, steps})
		}
		require.NoError(t, err, "%d %v %v %v %v %v", v, dims, starts, ends, axes, steps)
		same(t, typ, want, y)
		require.NoError(t, y.Release())
	}
}

func TestSliceDefaults(t *testing.T) {
	s := open(t)
	a := numbered(layout.Float32, 4, 5)
	x := upload(t, a, s, layout.Float32)
	one, three := ints(t, s, 1), ints(t, s, 3)
	want := a.Take(0, []int64{1, 2})
	for _, c := range []struct {
		v     onnx.Opset
		attrs onnx.Attrs
		in    []onnx.Value
		want  array
	}{
		{10, nil, []onnx.Value{x, one, three}, want},
		{13, nil, []onnx.Value{x, one, three, nil}, want},
		{13, nil, []onnx.Value{x, one, three, nil, one}, want},
		{13, nil, []onnx.Value{x, one, three, one, nil}, a.Take(1, []int64{1, 2})},
		{13, nil, []onnx.Value{x, three, one, one, ints(t, s, -1)}, a.Take(1, []int64{3, 2})},
		{9, onnx.Attrs{onnx.Ints("starts", 1), onnx.Ints("ends", 3)}, []onnx.Value{x}, want},
		{9, onnx.Attrs{onnx.Ints("starts", 1), onnx.Ints("ends", 3), onnx.Ints("axes")}, []onnx.Value{x}, want},
		{9, onnx.Attrs{onnx.Ints("starts"), onnx.Ints("ends")}, []onnx.Value{x}, a},
		{13, nil, []onnx.Value{x, ints(t, s), ints(t, s), ints(t, s), ints(t, s)}, a},
	} {
		out, err := onnx.Run("Slice", c.v, c.attrs, c.in...)
		require.NoError(t, err)
		same(t, layout.Float32, c.want, out[0].(*tensor.Tensor))
		require.NoError(t, out[0].Release())
	}
	// A scalar has no axis to slice, and that is fine.
	scalar := held(t)(tensor.New(s, layout.Float32, []int64{}...))
	y := held(t)(runSlice(scalar, 13, []int64{}, []int64{}, nil, nil))
	require.Zero(t, y.Rank())
}

func TestSliceIndexTypes(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 4, 5))
	long, short := ints(t, s, 1), held(t)(tensor.FromSlice(s, []int32{-1}))
	scalar := held(t)(tensor.FromSlice(s, []int64{1}, []int64{}...))
	two := ints(t, s, 1, 1)
	zero := ints(t, s, 0)
	bytes := held(t)(tensor.FromSlice(s, []uint8{1}))
	for _, c := range []struct {
		in   []onnx.Value
		says string
	}{
		{[]onnx.Value{x, short, short, short, short}, ""},
		{[]onnx.Value{x, long, long, long, long}, ""},
		{[]onnx.Value{x, long, short}, "ends is int32 and the inputs before it int64"},
		{[]onnx.Value{x, short, short, nil, long}, "steps is int64 and the inputs before it int32"},
		{[]onnx.Value{x, bytes, bytes}, "starts is uint8; it must be int64 or int32"},
		{[]onnx.Value{x, scalar, long}, "starts has shape []; it must have one axis"},
		{[]onnx.Value{x, long, two}, "1 starts but 2 ends"},
		{[]onnx.Value{x, long, long, two}, "1 starts but 2 axes"},
		{[]onnx.Value{x, long, long, long, two}, "1 starts but 2 steps"},
		{[]onnx.Value{x, two, two, two}, "axis 1 is listed twice"},
		{[]onnx.Value{x, two, two, held(t)(tensor.FromSlice(s, []int64{1, -1}))}, "axis 1 is listed twice"},
		{[]onnx.Value{x, long, long, ints(t, s, 2)}, "axis 2 is outside [-2,1]"},
		{[]onnx.Value{x, long, long, ints(t, s, -3)}, "axis -3 is outside [-2,1]"},
		{[]onnx.Value{x, long, long, ints(t, s, math.MinInt64)}, "is outside [-2,1]"},
		{[]onnx.Value{x, long, long, long, zero}, "is 0"},
		{[]onnx.Value{x, ints(t, s, 0, 0, 0), ints(t, s, 1, 1, 1)}, "3 starts for 2 axes"},
		{[]onnx.Value{x, long}, "2 inputs are given; it takes 3 to 5"},
		{[]onnx.Value{x, long, nil}, "input 2 is missing"},
		{[]onnx.Value{x, long, long, long, long, long}, "6 inputs are given"},
	} {
		out, err := onnx.Run("Slice", 13, nil, c.in...)
		if c.says == "" {
			require.NoError(t, err)
			require.NoError(t, out[0].Release())
			continue
		}
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
		require.ErrorContains(t, err, "Slice-13")
	}
	for _, c := range []struct {
		v     onnx.Opset
		attrs onnx.Attrs
		says  string
	}{
		{9, onnx.Attrs{onnx.Ints("starts", 1)}, "attribute ends is missing"},
		{9, onnx.Attrs{onnx.Ints("ends", 1)}, "attribute starts is missing"},
		{9, onnx.Attrs{onnx.Ints("starts", 1), onnx.Int("ends", 1)}, "is of kind int, want ints"},
		{9, onnx.Attrs{onnx.Ints("starts", 1), onnx.Ints("ends", 1), onnx.Ints("steps", 1)}, `no attribute "steps"`},
		{10, onnx.Attrs{onnx.Ints("starts", 1)}, "Slice-1 has it"},
	} {
		_, err := onnx.Run("Slice", c.v, c.attrs, x)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
}

// Axes count from the end at all versions: the text of Slice-1 and Slice-10 is silent, and
// exporters write them.
func TestBugNegativeAxesBeforeOpset11(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 4, 5))
	for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
		y, err := runSlice(x, v, []int64{0}, []int64{2}, []int64{-1}, nil)
		require.NoError(t, err)
		require.Equal(t, "[4,2]", y.Shape().String())
		require.NoError(t, y.Release())
	}
}

// DynamicSlice was Slice with its lists as inputs, before Slice-10 was. It has no
// steps, and axes do not count from the end.
func TestDynamicSlice(t *testing.T) {
	s := open(t)
	x := filled(t, s, 2, 4)
	of := func(values ...int32) onnx.Value { return held(t)(tensor.FromSlice(s, values)) }
	for _, c := range []struct {
		in   []onnx.Value
		dims []int64
		want []int32
	}{
		{[]onnx.Value{x, of(1, 0), of(2, 3), of(0, 1)}, []int64{1, 3}, []int32{5, 6, 7}},
		{[]onnx.Value{x, of(0, 1), of(-1, 1000)}, []int64{1, 3}, []int32{2, 3, 4}},
		{[]onnx.Value{x, ints(t, s, -2), ints(t, s, 9), ints(t, s, 1)}, []int64{2, 2}, []int32{3, 4, 7, 8}},
		{[]onnx.Value{x, of(9), of(10), nil}, []int64{0, 4}, nil},
	} {
		for _, v := range []onnx.Opset{1, 9, 13} {
			out, err := onnx.Run("DynamicSlice", v, nil, c.in...)
			require.NoError(t, err)
			hasValues(t, held(t)(out[0].(*tensor.Tensor), nil), c.dims, c.want...)
		}
	}
	for _, c := range []struct {
		in   []onnx.Value
		says string
	}{
		{[]onnx.Value{x, of(0), of(1), of(-3)}, "DynamicSlice-1 of int32[2,4]: axis -3 is outside [-2,1]"},
		{[]onnx.Value{x, of(0), of(1, 2)}, "1 starts but 2 ends"},
		{[]onnx.Value{x, of(0), of(1), of(0), of(1)}, "5 inputs are given; it takes 3 or 4"},
		{[]onnx.Value{x, of(0), ints(t, s, 1)}, "they must be of one type"},
	} {
		_, err := onnx.Run("DynamicSlice", 9, nil, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
}
