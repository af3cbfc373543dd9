package onnx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Expand", versions: []onnx.Opset{8, 13},
		types: typesSince{8, 8, 8, 13},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return nil, [][]int64{{2, 1, 4}} },
		want:  func(a array) array { return a.Expand(2, 2, 3, 4) },
	})
}

// filled returns an int32 tensor of the numbers 1, 2, 3, ...
func filled(tb testing.TB, s *tensor.Stream, dims ...int64) *tensor.Tensor {
	tb.Helper()
	values := make([]int32, count(dims))
	for i := range values {
		values[i] = int32(i + 1)
	}
	return held(tb)(tensor.FromSlice(s, values, append([]int64{}, dims...)...))
}

// hasValues checks the shape and the elements of an int32 tensor.
func hasValues(tb testing.TB, y *tensor.Tensor, dims []int64, want ...int32) {
	tb.Helper()
	require.Equal(tb, layout.Shape(dims).String(), y.Shape().String())
	got, err := tensor.Values[int32](y)
	require.NoError(tb, err)
	require.Equal(tb, append([]int32{}, want...), got)
}

func TestExpand(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		in, shape, dims []int64
		want            []int32
	}{
		{[]int64{3, 1}, []int64{2, 1, 2}, []int64{2, 3, 2}, []int32{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}},
		{[]int64{3, 1}, []int64{3, 2}, []int64{3, 2}, []int32{1, 1, 2, 2, 3, 3}},
		{[]int64{2, 2}, []int64{1}, []int64{2, 2}, []int32{1, 2, 3, 4}}, // both ways
		{[]int64{2, 1}, []int64{3}, []int64{2, 3}, []int32{1, 1, 1, 2, 2, 2}},
		{[]int64{1, 2}, []int64{2, 1}, []int64{2, 2}, []int32{1, 2, 1, 2}},
		{[]int64{2}, []int64{}, []int64{2}, []int32{1, 2}},
		{[]int64{}, []int64{}, []int64{}, []int32{1}},
		{[]int64{}, []int64{2}, []int64{2}, []int32{1, 1}},
		{[]int64{1}, []int64{0}, []int64{0}, nil},
		{[]int64{0, 1}, []int64{1, 3}, []int64{0, 3}, nil},
		{[]int64{2}, []int64{0, 1}, []int64{0, 2}, nil},
	} {
		x := filled(t, s, c.in...)
		for _, v := range []onnx.Opset{8, 13} {
			y := held(t)(runExpand(x, v, c.shape))
			hasValues(t, y, c.dims, c.want...)
			require.Equal(t, tensor.View, y.Verdict().Kind)
			y = held(t)(byRun(t, "Expand", v, nil, x, [][]int64{c.shape}))
			hasValues(t, y, c.dims, c.want...)
		}
	}
}

func TestExpandErrors(t *testing.T) {
	s := open(t)
	x := filled(t, s, 3, 4)
	for _, c := range []struct {
		shape []int64
		says  string
	}{
		{[]int64{2, 4}, "Expand-13 of int32[3,4]: [3,4] to [2,4]: axis 0 has extent 3, which is neither 2 nor 1"},
		{[]int64{2}, "to [3,2]: axis 1 has extent 4"},
		{[]int64{0}, "axis 1 has extent 4, which is neither 0 nor 1"},
		{[]int64{3, -1}, "to [3,-1]: extent -1 of axis 1 is negative"},
		{[]int64{1 << 40, 1 << 40, 1, 1}, "overflows int64"},
	} {
		_, err := runExpand(x, 13, c.shape)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	shape := held(t)(tensor.FromSlice(s, []int32{3, 4}))
	_, err := onnx.Run("Expand", 13, nil, x, shape)
	require.ErrorContains(t, err, "shape is int32; it must be int64")
	matrix := held(t)(tensor.FromSlice(s, []int64{3, 4}, 1, 2))
	_, err = onnx.Run("Expand", 13, nil, x, matrix)
	require.ErrorContains(t, err, "shape has shape [1,2]; it must have one axis")
	_, err = runExpand(x, 7, []int64{3, 4})
	require.ErrorContains(t, err, "the operator exists from opset 8")
}

// As many elements as memory has not are no matter to a view.
func TestExpandTakesNoMemory(t *testing.T) {
	s := open(t)
	x := filled(t, s, 1)
	before := s.Device().Stats().Peak
	y := held(t)(runExpand(x, 13, []int64{1 << 30, 1 << 30}))
	require.EqualValues(t, 1<<60, y.Count())
	require.Equal(t, before, s.Device().Stats().Peak)
}
