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
		op: "OneHot", versions: []onnx.Opset{9, 11},
		note: "types are those of the indices; the values may be of any of opset 5",
	})
}

func TestOneHot(t *testing.T) {
	s := open(t)
	at := held(t)(tensor.FromSlice(s, []int32{1, -1, 7}))
	values := held(t)(tensor.FromSlice(s, []float32{2, 5}))
	y := held(t)(runOneHot(at, 11, 3, values, -1))
	got, err := tensor.Values[float32](y)
	require.NoError(t, err)
	require.Equal(t, []float32{2, 5, 2, 2, 2, 5, 2, 2, 2}, got)
	y = held(t)(runOneHot(at, 9, 3, values, 0))
	got, err = tensor.Values[float32](y)
	require.NoError(t, err)
	require.Equal(t, []float32{2, 2, 2, 5, 2, 2, 2, 5, 2}, got)

	// Indices and depth of other types, values of strings.
	half := held(t)(tensor.FromSlice(s, []float64{0, 1.5}, 2, 1))
	words := held(t)(tensor.FromHost([]string{"no", "yes"}))
	depth := held(t)(tensor.FromSlice(s, []uint8{2}))
	out, err := onnx.Run("OneHot", 11, onnx.Attrs{onnx.Int("axis", 1)}, half, depth, words)
	require.NoError(t, err)
	require.Equal(t, layout.Shape{2, 2, 1}, out[0].(*tensor.Tensor).Shape())
	text, err := tensor.Values[string](out[0].(*tensor.Tensor))
	require.NoError(t, err)
	require.Equal(t, []string{"yes", "no", "no", "yes"}, text)
	require.NoError(t, out[0].Release())

	for says, call := range map[string]func() (*tensor.Tensor, error){
		"the depth is 0; it must be positive":       func() (*tensor.Tensor, error) { return runOneHot(at, 11, 0, values, 0) },
		"axis 2 is outside [-2,1]":                  func() (*tensor.Tensor, error) { return runOneHot(at, 11, 3, values, 2) },
		"the values are int32[3]; they must be two": func() (*tensor.Tensor, error) { return runOneHot(at, 11, 3, at, 0) },
		"2 inputs are given; it takes 3":            func() (*tensor.Tensor, error) { return runOneHot(at, 11, 3, nil, 0) },
		"type bool is not allowed": func() (*tensor.Tensor, error) {
			return runOneHot(held(t)(tensor.New(s, layout.Bool, 1)), 11, 3, values, 0)
		},
	} {
		_, err := call()
		require.ErrorIs(t, err, device.ErrInvalid, says)
		require.ErrorContains(t, err, says)
	}
}
