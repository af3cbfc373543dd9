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
	operatorTests = append(operatorTests, operatorTest{
		op: "Tile", versions: []onnx.Opset{1, 6, 13},
		note:  "along one axis in 1",
		types: typesSince{1, 6, 6, 13},
		form: func(v onnx.Opset) (onnx.Attrs, [][]int64) {
			if v < 6 {
				return nil, [][]int64{{3}, {2}}
			}
			return nil, [][]int64{{1, 1, 3, 1}}
		},
		want: func(a array) array { return a.Tile(1, 1, 3, 1) },
	})
}

func TestTile(t *testing.T) {
	s := open(t)
	for _, c := range []struct {
		in, repeats, dims []int64
		want              []int32
		kind              tensor.Kind
	}{
		{[]int64{2, 2}, []int64{1, 2}, []int64{2, 4}, []int32{1, 2, 1, 2, 3, 4, 3, 4}, tensor.Copy},
		{[]int64{2, 2}, []int64{2, 1}, []int64{4, 2}, []int32{1, 2, 3, 4, 1, 2, 3, 4}, tensor.Copy},
		{[]int64{2, 2}, []int64{2, 2}, []int64{4, 4}, []int32{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}, tensor.Copy},
		{[]int64{2, 2}, []int64{1, 1}, []int64{2, 2}, []int32{1, 2, 3, 4}, tensor.View},
		{[]int64{2, 1}, []int64{1, 3}, []int64{2, 3}, []int32{1, 1, 1, 2, 2, 2}, tensor.View},
		{[]int64{2, 1}, []int64{2, 1}, []int64{4, 1}, []int32{1, 2, 1, 2}, tensor.Copy},
		{[]int64{}, []int64{}, []int64{}, []int32{1}, tensor.View},
		{[]int64{3}, []int64{0}, []int64{0}, nil, tensor.View},
		{[]int64{0, 2}, []int64{3, 2}, []int64{0, 4}, nil, tensor.View},
		{[]int64{1, 0}, []int64{4, math.MaxInt64}, []int64{4, 0}, nil, tensor.View},
	} {
		x := filled(t, s, c.in...)
		for _, v := range []onnx.Opset{6, 13} {
			y := held(t)(runTile(x, v, c.repeats))
			hasValues(t, y, c.dims, c.want...)
			require.Equal(t, c.kind, y.Verdict().Kind, "%v %v", c.in, c.repeats)
			y = held(t)(byRun(t, "Tile", v, nil, x, [][]int64{c.repeats}))
			hasValues(t, y, c.dims, c.want...)
		}
	}
}

func TestTileErrors(t *testing.T) {
	s := open(t)
	x := filled(t, s, 2, 3)
	none := filled(t, s, 0, 4)
	before := s.Device().Stats().Peak
	for _, c := range []struct {
		v       onnx.Opset
		x       *tensor.Tensor
		repeats []int64
		says    string
	}{
		{13, x, []int64{2}, "Tile-13 of int32[2,3]: repeats [2]: 1 numbers for 2 axes"},
		{13, x, []int64{1, 1, 1}, "3 numbers for 2 axes"},
		{13, x, []int64{1, -2}, "repeats [1,-2]: that of axis 1 is negative"},
		{13, x, []int64{1, math.MaxInt64}, "extent 3 of axis 1, 9223372036854775807 times, overflows int64"},
		{13, x, []int64{1 << 31, 1 << 31}, "[4294967296,6442450944]: the number of elements overflows int64"},
		{13, x, []int64{1 << 30, 1 << 29}, "the size in bytes overflows int64"},
		{13, none, []int64{1, math.MaxInt64}, "extent 4 of axis 1"},
	} {
		_, err := runTile(c.x, c.v, c.repeats)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	require.Equal(t, before, s.Device().Stats().Peak)
	_, err := runTile(nil, 13, nil)
	require.ErrorContains(t, err, "Tile-13: input 0 is missing")
	s.ForbidCopies(true)
	_, err = runTile(x, 13, []int64{2, 2})
	require.ErrorIs(t, err, tensor.ErrCopy)
	held(t)(runTile(x, 13, []int64{1, 1}))
	s.ForbidCopies(false)
}

// The first version repeats along one axis. Its number and axis may be of the
// type of the data or int64, scalars or lists of one.
func TestTile1(t *testing.T) {
	s := open(t)
	half := func(bits ...byte) *tensor.Tensor {
		return held(t)(tensor.FromBytes(s, layout.Float16, bits, int64(len(bits)/2)))
	}
	float := func(v ...float32) *tensor.Tensor { return held(t)(tensor.FromSlice(s, v)) }
	x := held(t)(tensor.FromSlice(s, []float32{1, 2, 3, 4}, 2, 2))
	h := held(t)(tensor.FromBytes(s, layout.Float16, []byte{1, 2, 3, 4}, 2, 1))
	d := held(t)(tensor.FromSlice(s, []float64{1, 2}))
	scalar := held(t)(tensor.FromSlice(s, []int64{1}, []int64{}...))
	for _, in := range [][]onnx.Value{{x, float(2), float(1)}, {x, ints(t, s, 2), scalar}, {x, float(2), ints(t, s, 1)}} {
		out, err := onnx.Run("Tile", 5, nil, in...)
		require.NoError(t, err)
		got, err := tensor.Values[float32](held(t)(out[0].(*tensor.Tensor), nil))
		require.NoError(t, err)
		require.Equal(t, []float32{1, 2, 1, 2, 3, 4, 3, 4}, got)
	}
	out, err := onnx.Run("Tile", 1, nil, h, half(0x00, 0x42), half(0, 0)) // 3, 0
	require.NoError(t, err)
	require.Equal(t, layout.Shape{6, 1}, held(t)(out[0].(*tensor.Tensor), nil).Shape())
	two, zero := held(t)(d.Slice(0, 1, 2, 1)), held(t)(tensor.FromSlice(s, []float64{0}))
	out, err = onnx.Run("Tile", 1, nil, d, two, zero)
	require.NoError(t, err)
	require.Equal(t, layout.Shape{4}, held(t)(out[0].(*tensor.Tensor), nil).Shape())

	for _, c := range []struct {
		in   []onnx.Value
		says string
	}{
		{[]onnx.Value{x, float(1.5), float(0)}, "tiles has the element 1.5, which is no whole number"},
		{[]onnx.Value{x, float(float32(math.NaN())), float(0)}, "element NaN"},
		{[]onnx.Value{x, float(float32(math.Inf(1))), float(0)}, "element +Inf"},
		{[]onnx.Value{x, float(1e30), float(0)}, "too large"},
		{[]onnx.Value{h, half(0x01, 0x80), half(0, 0)}, "element -5.960464477539063e-08"},
		{[]onnx.Value{h, half(0x00, 0x7c), half(0, 0)}, "element +Inf"},
		{[]onnx.Value{h, half(0x01, 0x7c), half(0, 0)}, "element NaN"},
		{[]onnx.Value{h, float(1), half(0, 0)}, "tiles is float; it must be int64 or, as the input is, float16"},
		{[]onnx.Value{x, float(-1), float(0)}, "repeats [-1,1]: that of axis 0 is negative"},
		{[]onnx.Value{x, float(1), float(2)}, "axis 2 is outside [-2,1]"},
		{[]onnx.Value{x, float(1), float(-3)}, "axis -3 is outside [-2,1]"},
		{[]onnx.Value{x, float(1, 2), float(0)}, "tiles has shape [2]; it must have 1 elements"},
		{[]onnx.Value{x, &onnx.Sequence{}, float(0)}, "tiles is a sequence"},
		{[]onnx.Value{x, float(1)}, "2 inputs are given; it takes 3"},
	} {
		_, err := onnx.Run("Tile", 1, nil, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
}
