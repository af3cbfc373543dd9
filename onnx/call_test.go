package onnx_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

// Once errors gave ranges that the version does not have, left the input out, or
// gave its shape twice.
func TestOperatorErrors(t *testing.T) {
	s := open(t)
	of := func(typ layout.DType, dims ...int64) *tensor.Tensor { return held(t)(tensor.New(s, typ, dims...)) }
	x, scalar := of(layout.Float32, 2, 3), held(t)(tensor.FromSlice(s, []float32{1}, []int64{}...))
	for _, c := range []struct {
		op   string
		v    onnx.Opset
		attr onnx.Attrs
		in   []onnx.Value
		says string
	}{
		{"Flatten", 9, onnx.Attrs{onnx.Int("axis", 3)}, []onnx.Value{x}, "Flatten-9 of float[2,3]: axis 3 is outside [0,2]"},
		{"Flatten", 9, onnx.Attrs{onnx.Int("axis", -1)}, []onnx.Value{x}, "Flatten-9 of float[2,3]: axis -1 is negative; Flatten allows that from opset 11"},
		{"Flatten", 11, onnx.Attrs{onnx.Int("axis", 3)}, []onnx.Value{x}, "Flatten-11 of float[2,3]: axis 3 is outside [-2,2]"},
		{"Squeeze", 1, onnx.Attrs{onnx.Ints("axes", 2)}, []onnx.Value{x}, "Squeeze-1 of float[2,3]: axis 2 is outside [-2,1]"},
		{"Unsqueeze", 1, onnx.Attrs{onnx.Ints("axes", 3)}, []onnx.Value{x}, "Unsqueeze-1 of float[2,3]: axis 3 is outside [-3,2]"},
		{"Slice", 1, onnx.Attrs{onnx.Ints("starts", 0), onnx.Ints("ends", 1), onnx.Ints("axes", 2)}, []onnx.Value{x}, "Slice-1 of float[2,3]: axis 2 is outside [-2,1]"},
		{"Slice", 10, nil, []onnx.Value{x, ints(t, s, 0), ints(t, s, 1), ints(t, s, 2)}, "Slice-10 of float[2,3]: axis 2 is outside [-2,1]"},
		{"Slice", 13, nil, []onnx.Value{scalar, ints(t, s, 0), ints(t, s, 1), ints(t, s, 0)}, "Slice-13 of float[]: axis 0: the tensor has no axes"},
		{"Transpose", 21, onnx.Attrs{onnx.Ints("perm", 0)}, []onnx.Value{scalar}, "Transpose-21 of float[]: perm [0]: the tensor has no axes"},
		{"Squeeze", 21, nil, []onnx.Value{x, ints(t, s, 0)}, "Squeeze-21 of float[2,3]: axis 0 has extent 2, not 1"},
		{"Squeeze", 21, nil, []onnx.Value{x, ints(t, s, 0, 0)}, "Squeeze-21 of float[2,3]: axis 0 "},
		{"Reshape", 21, nil, []onnx.Value{x, of(layout.Int32, 1)}, "Reshape-21 of float[2,3]: shape is int32; it must be int64"},
		{"Reshape", 13, nil, []onnx.Value{of(layout.Int4, 2, 3), ints(t, s, 6)}, "Reshape-13 of int4[2,3]: type int4 is not allowed; Reshape allows it from opset 21"},
		{"Reshape", 1, onnx.Attrs{onnx.Ints("shape", 6)}, []onnx.Value{x, x}, "Reshape-1: 2 inputs are given; it takes 1"},
		{"Squeeze", 13, nil, []onnx.Value{x, x, x}, "Squeeze-13: 3 inputs are given; it takes 1 or 2"},
		{"Slice", 13, nil, []onnx.Value{x}, "Slice-13: 1 inputs are given; it takes 3 to 5"},
	} {
		_, err := onnx.Run(c.op, c.v, c.attr, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		if strings.HasSuffix(c.says, " ") {
			require.ErrorContains(t, err, c.says)
			require.Equal(t, 1, strings.Count(err.Error(), "[2,3]"), err.Error())
		} else {
			require.EqualError(t, err, c.says)
		}
	}
	_, err := runIdentity(of(layout.Int4, 3), 13)
	require.EqualError(t, err, "Identity-13 of int4[3]: type int4 is not allowed; Identity allows it from opset 21")
	gone, err := tensor.New(s, layout.Int8, 2)
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	_, err = runTranspose(gone, 21, nil)
	require.ErrorIs(t, err, tensor.ErrReleased)
	require.Equal(t, 1, strings.Count(err.Error(), "Transpose-21"), err.Error())
}
