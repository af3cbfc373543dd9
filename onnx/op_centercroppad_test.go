package onnx_test

import (
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
		op: "CenterCropPad", versions: []onnx.Opset{18},
		types: typesSince{18, 18, 18, 18},
		form: func(onnx.Opset) (onnx.Attrs, [][]int64) {
			return onnx.Attrs{onnx.Ints("axes", -1, 2)}, [][]int64{{2, 5}}
		},
		want: func(a array) array {
			return a.Padded("constant", []int64{0, 0, 1, -1, 0, 0, 1, -1}, zeroLike(a))
		},
	})
}

func TestCenterCropPad(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.FromSlice(s, []int64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4))
	for _, c := range []struct {
		shape, axes []int64
		want        []int64
		kind        tensor.Kind
	}{
		{[]int64{2, 4}, nil, []int64{1, 2, 3, 4, 5, 6, 7, 8}, tensor.View},
		{[]int64{1, 3}, nil, []int64{1, 2, 3}, tensor.View},
		{[]int64{2, 1}, []int64{}, []int64{2, 6}, tensor.View},
		{[]int64{3, 2}, nil, []int64{2, 3, 6, 7, 0, 0}, tensor.Copy},
		{[]int64{5}, []int64{-2}, []int64{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0}, tensor.Copy},
		{[]int64{7, 1}, []int64{1, 0}, []int64{0, 1, 2, 3, 4, 0, 0}, tensor.Copy},
		{[]int64{0}, []int64{1}, []int64{}, tensor.View},
	} {
		y := held(t)(runCenterCropPad(x, 18, c.shape, c.axes))
		got, err := tensor.Values[int64](y)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		require.Equal(t, c.kind, y.Verdict().Kind)
	}
	none := held(t)(tensor.New(s, layout.String, 0, 2))
	y := held(t)(runCenterCropPad(none, 18, []int64{1, 1}, nil))
	require.Equal(t, "[1,1]", y.Shape().String())
	same(t, layout.String, array{Dims: []int64{1, 1}, Elems: []string{""}}, y)
	scalar := held(t)(tensor.FromSlice(s, []float32{1}, []int64{}...))
	require.Zero(t, held(t)(runCenterCropPad(scalar, 18, nil, nil)).Rank())
}

// TestCenterCropPadRandom holds random extents against the text: how much goes
// or comes at the front is half of the difference, rounded down.
func TestCenterCropPadRandom(t *testing.T) {
	onFake, _ := openFake(t)
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, seed))
	types := []layout.DType{layout.Bool, layout.Float16, layout.Float32, layout.Int64, layout.Complex128}
	for range 500 {
		typ := types[rng.IntN(len(types))]
		dims := make([]int64, rng.IntN(4))
		want := make([]int64, len(dims))
		var shape, axes []int64
		for i := range dims {
			dims[i] = rng.Int64N(5)
			want[i] = dims[i]
		}
		for _, axis := range rng.Perm(len(dims))[:rng.IntN(len(dims)+1)] {
			want[axis] = rng.Int64N(9)
			shape, axes = append(shape, want[axis]), append(axes, int64(axis))
		}
		if len(axes) == 0 {
			shape = want
		}
		a := numbered(typ, dims...)
		from := make([]int64, len(dims))
		expect := each(want, func(index []int64) string {
			for i, d := range dims {
				if from[i] = index[i] + (d-want[i])/2; d < want[i] {
					from[i] = index[i] - (want[i]-d)/2
				}
				if from[i] < 0 || from[i] >= d {
					return zeroOf(typ)
				}
			}
			return a.Elem(from)
		})
		x := uploadAs(t, a, onFake, typ, views[rng.IntN(len(views))])
		lists := ints(t, tensor.Host(), shape...)
		out, err := onnx.Run("CenterCropPad", 18, onnx.Attrs{onnx.Ints("axes", axes...)}, x, lists)
		require.NoError(t, err, "seed %d: %v to %v on %v", seed, dims, shape, axes)
		same(t, typ, expect, out[0].(*tensor.Tensor))
		require.NoError(t, out[0].Release())
	}
}

func TestCenterCropPadErrors(t *testing.T) {
	s := open(t)
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	for _, c := range []struct {
		shape, axes []int64
		says        string
	}{
		{[]int64{1}, nil, "CenterCropPad-18 of float[2,3]: shape [1] has 1 extents for 2 axes"},
		{[]int64{1, 2}, []int64{0}, "shape [1,2] has 2 extents for 1 axes"},
		{[]int64{1, -2}, nil, "extent -2 of axis 1; it must not be negative"},
		{[]int64{1, 2}, []int64{1, -1}, "axis 1 is listed twice"},
		{[]int64{1}, []int64{2}, "axis 2 is outside [-2,1]"},
		{[]int64{math.MaxInt64, 3}, nil, "CenterCropPad-18 of float[2,3]"},
	} {
		_, err := runCenterCropPad(x, 18, c.shape, c.axes)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err := runCenterCropPad(x, 17, []int64{1, 1}, nil)
	require.ErrorContains(t, err, "the operator exists from opset 18")
	_, err = onnx.Run("CenterCropPad", 18, nil, x, x)
	require.ErrorContains(t, err, "shape is float; it must be int64 or int32")
}
