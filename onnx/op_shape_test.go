package onnx_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Shape", versions: []onnx.Opset{1, 13, 15, 19, 21, 23, 24, 25},
		note:  "`start`, `end` from 15; the result is on the host",
		types: typesSince{1, 1, 1, 13, 19, 21, 23, 24, 25},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, nil },
		want:  func(a array) array { return numbers(a.Dims...) },
		shape: true,
	}, operatorTest{
		op: "Size", versions: []onnx.Opset{1, 13, 19, 21, 23, 24, 25},
		note:  "the result is on the host",
		types: typesSince{1, 1, 1, 13, 19, 21, 23, 24, 25},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, nil },
		want:  func(a array) array { return numbers(int64(len(a.Elems))).Reshape() },
		shape: true,
	})
}

// shapeSlice is what ONNX says of start and end, axis by axis: both count from
// the end where they are negative, and are clamped to [0, rank].
func shapeSlice(dims []int64, start, end int64) []int64 {
	rank := int64(len(dims))
	within := func(axis int64) int64 {
		if axis < 0 {
			axis += rank
		}
		if axis < 0 {
			return 0
		}
		if axis > rank {
			return rank
		}
		return axis
	}
	out := []int64{}
	for i := within(start); i < within(end); i++ {
		out = append(out, dims[i])
	}
	return out
}

func TestShapeStartAndEnd(t *testing.T) {
	s := open(t)
	axes := []int64{math.MinInt64, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, math.MaxInt64}
	for _, dims := range [][]int64{{}, {7}, {2, 0, 4}, {2, 3, 4, 5}} {
		x := held(t)(tensor.New(s, layout.Float16, dims...))
		for _, start := range axes {
			for _, end := range axes {
				y, err := onnx.Shape(x, 15, onnx.Int("start", start), onnx.Int("end", end))
				require.NoError(t, err)
				same(t, layout.Int64, numbers(shapeSlice(dims, start, end)...), y)
				require.NoError(t, y.Release())
			}
			for _, c := range []struct {
				attr onnx.Attr
				want []int64
			}{
				{onnx.Int("start", start), shapeSlice(dims, start, math.MaxInt64)},
				{onnx.Int("end", start), shapeSlice(dims, 0, start)},
			} {
				y, err := onnx.Shape(x, 25, c.attr)
				require.NoError(t, err)
				same(t, layout.Int64, numbers(c.want...), y)
				require.NoError(t, y.Release())
			}
		}
	}
}

func TestShapeAttributes(t *testing.T) {
	x := held(t)(tensor.New(open(t), layout.Float16, 2, 3))
	for _, c := range []struct {
		v    onnx.Opset
		attr onnx.Attr
		says string
	}{
		{14, onnx.Int("start", 0), `"start" does not belong to this version; Shape-15 has it`},
		{1, onnx.Int("end", 0), "Shape-15 has it"},
		{15, onnx.Ints("start", 0), "is of kind ints, want int"},
		{15, onnx.Ints("end", 0), "is of kind ints, want int"},
		{15, onnx.Int("step", 1), "no attribute"},
	} {
		_, err := onnx.Shape(x, c.v, c.attr)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := runSize(nil, 25)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = onnx.Run("Size", 25, onnx.Attrs{onnx.Int("start", 0)}, x)
	require.ErrorContains(t, err, "no attribute")
}

// Shape and Size live on the host and touch neither stream nor elements.
func TestShapeTouchesNoElement(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Int4, 3, 5))
	before := s.Device().Stats()
	for _, y := range []*tensor.Tensor{held(t)(onnx.Shape(x, 25)), held(t)(runSize(x, 25))} {
		require.Same(t, tensor.Host(), y.Stream())
		require.Equal(t, tensor.View, y.Verdict().Kind)
	}
	require.Equal(t, before, s.Device().Stats())
}

// Size of the largest shapes that have no elements, and of a broadcast one.
func TestSize(t *testing.T) {
	s := open(t)
	for _, c := range []struct{ dims, expand []int64 }{
		{[]int64{}, nil}, {[]int64{0}, nil}, {[]int64{1 << 40, 0, 1 << 40}, nil}, {[]int64{3, 1}, []int64{3, 1 << 50}},
	} {
		x := held(t)(tensor.New(s, layout.Uint8, c.dims...))
		if c.expand != nil {
			x = held(t)(x.Expand(c.expand...))
		}
		want := int64(1)
		for _, d := range x.Shape() {
			want *= d
		}
		y := held(t)(runSize(x, 25))
		same(t, layout.Int64, numbers(want).Reshape(), y)
	}
}

func TestUnaryArity(t *testing.T) {
	x := held(t)(tensor.New(open(t), layout.Float32, 2))
	for _, op := range []string{"Shape", "Size", "Identity", "Flatten", "Transpose"} {
		for v := onnx.Opset(1); v <= onnx.MaxOpset; v++ {
			_, err := onnx.Run(op, v, nil)
			require.ErrorContains(t, err, "0 inputs are given; it takes 1")
			_, err = onnx.Run(op, v, nil, x, x)
			require.ErrorContains(t, err, "2 inputs are given")
			_, err = onnx.Run(op, v, nil, nil)
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, "input 0 is missing")
			_, err = onnx.Run(op, v, onnx.Attrs{onnx.Int("nonsense", 1)}, x)
			require.ErrorContains(t, err, fmt.Sprintf("%s-", op))
			require.ErrorContains(t, err, `there is no attribute "nonsense"`)
		}
	}
}
