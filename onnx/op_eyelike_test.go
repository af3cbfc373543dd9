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
	operatorTests = append(operatorTests, operatorTest{op: "EyeLike", versions: []onnx.Opset{9, 22}, note: "new elements, of the input's shape"})
}

// TestEyeLike checks every diagonal of small matrices of each type against the rule.
func TestEyeLike(t *testing.T) {
	s := open(t)
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, seed))
	for _, to := range layout.DTypes() {
		allowed := to != layout.String && to != layout.Complex64 && to != layout.Complex128 && onnx.Allows("Cast", 13, to)
		require.Equal(t, allowed, onnx.Allows("EyeLike", 22, to), to)
		require.Equal(t, allowed && to != layout.BFloat16, onnx.Allows("EyeLike", 9, to), to)
		if !allowed {
			continue
		}
		for range 30 {
			rows, columns, k := rng.Int64N(6), rng.Int64N(6), rng.Int64N(15)-7
			x := held(t)(tensor.New(s, layout.Int8, rows, columns))
			y := held(t)(runEyeLike(x, 22, onnx.Int("dtype", int64(to)), onnx.Int("k", k)))
			require.Equal(t, to, y.DType())
			values := held(t)(y.Cast(layout.Float64, device.Rounding{}))
			got, err := tensor.Values[float64](values)
			require.NoError(t, err)
			want := make([]float64, rows*columns)
			for i := range want {
				if int64(i)%columns == int64(i)/columns+k {
					want[i] = 1
				}
			}
			require.Equal(t, want, got, "%v, %dx%d, k %d", to, rows, columns, k)
		}
	}
	x := held(t)(tensor.New(s, layout.Float32, 2, 3))
	y := held(t)(runEyeLike(x, 9))
	require.Equal(t, layout.Float32, y.DType())
	for _, k := range []int64{math.MinInt64, math.MaxInt64} {
		y := held(t)(runEyeLike(x, 9, onnx.Int("k", k)))
		got, err := tensor.Values[float32](y)
		require.NoError(t, err)
		require.Equal(t, make([]float32, 6), got)
	}
	_, err := runEyeLike(held(t)(tensor.New(s, layout.Float32, 2)), 9)
	require.ErrorContains(t, err, "two axes")
	for _, dtype := range []int64{0, 8, 300} {
		_, err = runEyeLike(x, 9, onnx.Int("dtype", dtype))
		require.ErrorIs(t, err, device.ErrInvalid)
	}
}
