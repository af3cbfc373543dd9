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
		op: "Flatten", versions: []onnx.Opset{1, 9, 11, 13, 21, 23, 24, 25},
		note:  "negative axis from 11",
		types: typesSince{1, 9, 9, 13, 21, 21, 23, 24, 25},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Int("axis", 2)}, nil },
		want:  func(a array) array { return a.Reshape(2, 12) },
	})
}

func TestFlattenRules(t *testing.T) {
	const huge = 1 << 32
	for _, c := range []struct {
		v    onnx.Opset
		in   []int64
		axis int64
		want []int64
		says string
	}{
		{1, []int64{2, 3, 4}, 0, []int64{1, 24}, ""},
		{1, []int64{2, 3, 4}, 1, []int64{2, 12}, ""},
		{9, []int64{2, 3, 4}, 2, []int64{6, 4}, ""},
		{9, []int64{2, 3, 4}, 3, []int64{24, 1}, ""},
		{9, []int64{}, 0, []int64{1, 1}, ""},
		{25, []int64{}, 0, []int64{1, 1}, ""},
		{25, []int64{5}, 1, []int64{5, 1}, ""},
		{11, []int64{2, 3, 4}, -1, []int64{6, 4}, ""},
		{11, []int64{2, 3, 4}, -3, []int64{1, 24}, ""},
		{25, []int64{2, 0, 4}, -1, []int64{0, 4}, ""},
		{25, []int64{2, 0, 4}, 0, []int64{1, 0}, ""},
		{25, []int64{2, 0, 4}, 1, []int64{2, 0}, ""},
		{25, []int64{2, 0, 4}, 3, []int64{0, 1}, ""},
		{25, []int64{huge, huge, 0}, 0, []int64{1, 0}, ""},
		{25, []int64{huge, huge, 0}, 3, []int64{0, 1}, ""},

		{25, []int64{huge, huge, 0}, 2, nil, "overflow"},
		{1, []int64{2, 3}, -1, nil, "axis -1 is negative; Flatten allows that from opset 11"},
		{9, []int64{2, 3}, -1, nil, "axis -1 is negative; Flatten allows that from opset 11"},
		{9, []int64{2, 3}, 3, nil, "axis 3 is outside"},
		{11, []int64{2, 3}, -3, nil, "axis -3 is outside [-2,2]"},
		{11, []int64{}, 1, nil, "axis 1 is outside [0,0]"},
		{25, []int64{2, 3}, math.MaxInt64, nil, "is outside [-2,2]"},
		{25, []int64{2, 3}, math.MinInt64, nil, "is outside [-2,2]"},
	} {
		t.Run(fmt.Sprintf("%d of %v at %d", c.v, c.in, c.axis), func(t *testing.T) {
			a := numbered(layout.Float32, c.in...)
			x := upload(t, a, open(t), layout.Float32)
			for _, call := range []func() (*tensor.Tensor, error){
				func() (*tensor.Tensor, error) { return onnx.Flatten(x, c.v, c.axis) },
				func() (*tensor.Tensor, error) {
					return byRun(t, "Flatten", c.v, onnx.Attrs{onnx.Int("axis", c.axis)}, x, nil)
				},
			} {
				y, err := call()
				if c.says != "" {
					require.ErrorIs(t, err, device.ErrInvalid)
					require.ErrorContains(t, err, c.says)
					continue
				}
				require.NoError(t, err)
				same(t, layout.Float32, a.Reshape(c.want...), y)
				require.NoError(t, y.Release())
			}
		})
	}
}

func TestFlattenDefaultAxisIsOne(t *testing.T) {
	x := held(t)(tensor.New(open(t), layout.Float32, 2, 3, 4))
	y, err := byRun(t, "Flatten", 25, nil, x, nil)
	require.NoError(t, err)
	require.Equal(t, "[2,12]", y.Shape().String())
	require.NoError(t, y.Release())
	_, err = byRun(t, "Flatten", 25, onnx.Attrs{onnx.Ints("axis", 1)}, x, nil)
	require.ErrorContains(t, err, "is of kind ints, want int")
}
