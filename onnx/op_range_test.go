package onnx_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{op: "Range", versions: []onnx.Opset{11, 27}, note: "the result is on the host; halves from 27"})
}

func TestRange(t *testing.T) {
	i64 := func(v int64) onnx.Value { return hosted(t, []int64{}, v) }
	i16 := func(v int16) onnx.Value { return hosted(t, []int64{}, v) }
	f32 := func(v float32) onnx.Value { return hosted(t, []int64{}, v) }
	half := func(v float32) onnx.Value {
		x := held(t)(tensor.FromSlice(tensor.Host(), []float32{v}, []int64{}...))
		return held(t)(x.Cast(layout.Float16, device.Rounding{}))
	}
	for _, c := range []struct {
		v    onnx.Opset
		in   []onnx.Value
		want string
		says string
	}{
		{11, []onnx.Value{i64(3), i64(9), i64(3)}, "int64[2]{3 6}", ""},
		{11, []onnx.Value{i64(10), i64(4), i64(-2)}, "int64[3]{10 8 6}", ""},
		{11, []onnx.Value{i64(1), i64(9), i64(-1)}, "int64[0]{}", ""},
		{11, []onnx.Value{i64(0), i64(4), hosted(t, nil, int64(1))}, "int64[4]{0 1 2 3}", ""},
		{11, []onnx.Value{i64(math.MinInt64), i64(math.MaxInt64), i64(math.MaxInt64)}, "int64[3]{-9223372036854775808 -1 9223372036854775806}", ""},
		{11, []onnx.Value{i16(-3), i16(2), i16(2)}, "int16[3]{-3 -1 1}", ""},
		{11, []onnx.Value{f32(0), f32(1), f32(0.3)}, "float[4]{0 0.3 0.6 0.90000004}", ""},
		{11, []onnx.Value{f32(0), f32(float32(math.Inf(-1))), f32(1)}, "float[0]{}", ""},
		{27, []onnx.Value{half(2047), half(2050), half(1)}, "float16[3]{2047 2048 2048}", ""},
		{11, []onnx.Value{i64(0), i64(4), i64(0)}, "", "delta is 0"},
		{11, []onnx.Value{f32(0), f32(float32(math.Inf(1))), f32(1)}, "", "there are +Inf numbers"},
		{11, []onnx.Value{f32(0), f32(1), f32(float32(math.NaN()))}, "", "delta is NaN"},
		{11, []onnx.Value{i64(math.MinInt64), i64(math.MaxInt64), i64(1)}, "", "there are 18446744073709551615 numbers"},
		{11, []onnx.Value{hosted(t, nil, int64(0), 1), i64(4), i64(1)}, "", "it must be one number"},
		{11, []onnx.Value{i64(0), f32(4), i64(1)}, "", "they must be of one type"},
		{11, []onnx.Value{half(0), half(1), half(1)}, "", "Range allows it from opset 27"},
	} {
		got, err := calculated(t, "Range", c.v, nil, c.in...)
		if c.says != "" {
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, c.says)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	_, err := calculated(t, "Range", 27, onnx.Attrs{onnx.Int("stash_type", 10)}, i64(0), i64(4), i64(1))
	require.ErrorIs(t, err, device.ErrUnsupported)
	limitMemory(t, 1<<30)
	_, err = calculated(t, "Range", 11, nil, i64(0), i64(1<<50), i64(1))
	require.ErrorIs(t, err, device.ErrOutOfMemory)
}
