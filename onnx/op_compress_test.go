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
	operatorTests = append(operatorTests, operatorTest{op: "Compress", versions: []onnx.Opset{9, 11}, note: "the conditions are read on the host"})
}

// compressTypes are by version, copied from ONNX's text.
var compressTypes = typesSince{9, 9, 9}

func TestCompress(t *testing.T) {
	s := open(t)
	x := filled(t, s, 2, 3)
	axis := func(i int64) *int64 { return &i }
	for _, c := range []struct {
		conditions []bool
		axis       *int64
		dims       []int64
		want       []int32
		kind       tensor.Kind
	}{
		{[]bool{false, true, true}, axis(1), []int64{2, 2}, []int32{2, 3, 5, 6}, tensor.View},
		{[]bool{true, true, false}, axis(-1), []int64{2, 2}, []int32{1, 2, 4, 5}, tensor.View},
		{[]bool{false, true}, axis(0), []int64{1, 3}, []int32{4, 5, 6}, tensor.View},
		{[]bool{true}, axis(0), []int64{1, 3}, []int32{1, 2, 3}, tensor.View}, // fewer conditions
		{nil, axis(1), []int64{2, 0}, nil, tensor.View},
		{[]bool{true, true, false, true}, nil, []int64{3}, []int32{1, 2, 4}, tensor.Copy},
		{[]bool{false, false, false, false, false, false}, nil, []int64{0}, nil, tensor.View},
	} {
		y := held(t)(runCompress(x, 11, c.conditions, c.axis))
		hasValues(t, y, c.dims, c.want...)
		require.Equal(t, c.kind, y.Verdict().Kind, "%v", c)

		attrs := onnx.Attrs{}
		if c.axis != nil {
			attrs = onnx.Attrs{{Name: "axis", Value: *c.axis}}
		}
		cond := held(t)(tensor.FromSlice(s, c.conditions, int64(len(c.conditions))))
		out, err := onnx.Run("Compress", 11, attrs, x, cond)
		require.NoError(t, err)
		hasValues(t, held(t)(out[0].(*tensor.Tensor), nil), c.dims, c.want...)
	}
}

func TestCompressOfEachType(t *testing.T) {
	s := open(t)
	for _, of := range layout.DTypes() {
		if of == layout.String && !s.Device().Info().Strings {
			continue
		}
		x := held(t)(tensor.New(s, of, 3))
		for _, v := range []onnx.Opset{9, 11, 24} {
			y, err := runCompress(x, v, []bool{true, true, false}, nil)
			if since := compressTypes.of(of); since > 0 && v >= since {
				require.Equal(t, "[2]", held(t)(y, err).Shape().String())
			} else {
				require.ErrorIs(t, err, device.ErrInvalid, "%v at %d", of, v)
			}
		}
	}
}

func TestCompressErrors(t *testing.T) {
	s := open(t)
	x := filled(t, s, 2, 3)
	axis := func(i int64) *int64 { return &i }
	for _, c := range []struct {
		v    onnx.Opset
		n    int
		axis *int64
		says string
	}{
		{11, 4, axis(1), "4 conditions for 3 elements"},
		{11, 7, nil, "7 conditions for 6 elements"},
		{11, 2, axis(2), "axis 2 is outside [-2,1]"},
		{9, 2, axis(-3), "axis -3 is outside [-2,1]"},
	} {
		_, err := runCompress(x, c.v, make([]bool, c.n), c.axis)
		require.ErrorIs(t, err, device.ErrInvalid, c.says)
		require.ErrorContains(t, err, c.says)
	}
	for _, cond := range []*tensor.Tensor{x, filled(t, s, 2), held(t)(tensor.FromSlice(s, []bool{true, true}, 2, 1))} {
		_, err := onnx.Run("Compress", 11, nil, x, cond)
		require.ErrorContains(t, err, "it must be bool, of one axis")
	}
}
