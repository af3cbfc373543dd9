package onnx_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/onnx"
	"github.com/restride/restride/tensor"
)

func init() {
	operatorTests = append(operatorTests, operatorTest{
		op: "Transpose", versions: []onnx.Opset{1, 13, 21, 23, 24, 25},
		types: typesSince{1, 1, 1, 13, 21, 21, 23, 24, 25},
		form:  func(onnx.Opset) (onnx.Attrs, [][]int64) { return onnx.Attrs{onnx.Ints("perm", 3, 0, 2, 1)}, nil },
		want:  func(a array) array { return a.Transpose(3, 0, 2, 1) },
	})
}

// TestTranspose checks every permutation of small tensors against the oracle.
func TestTranspose(t *testing.T) {
	s := open(t)
	for _, dims := range [][]int64{{}, {3}, {2, 3}, {2, 3, 4}, {2, 1, 3, 2}, {2, 0, 3}} {
		a := numbered(layout.Uint16, dims...)
		reverse := make([]int64, len(dims))
		for i := range reverse {
			reverse[i] = int64(len(dims) - 1 - i)
		}
		for _, view := range views {
			x := uploadAs(t, a, s, layout.Uint16, view)
			y, err := runTranspose(x, 25, nil)
			require.NoError(t, err)
			same(t, layout.Uint16, a.Transpose(reverse...), y)
			require.NoError(t, y.Release())
			y, err = byRun(t, "Transpose", 13, nil, x, nil)
			require.NoError(t, err)
			same(t, layout.Uint16, a.Transpose(reverse...), y)
			require.NoError(t, y.Release())
			for _, perm := range permutations(len(dims)) {
				y, err := byRun(t, "Transpose", 13, onnx.Attrs{onnx.Ints("perm", perm...)}, x, nil)
				require.NoError(t, err)
				require.Equal(t, tensor.View, y.Verdict().Kind)
				same(t, layout.Uint16, a.Transpose(perm...), y)
				require.NoError(t, y.Release())
			}
		}
	}
}

func permutations(n int) [][]int64 {
	if n == 0 {
		return [][]int64{{}}
	}
	var all [][]int64
	for _, p := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(p), i, int64(n-1)))
		}
	}
	return all
}

func TestTransposeRules(t *testing.T) {
	x := held(t)(tensor.New(open(t), layout.Float32, 2, 3, 4))
	for _, c := range []struct {
		perm []int64
		says string
	}{
		{[]int64{0, 1}, "must list each of the 3 axes once"},
		{[]int64{0, 1, 2, 3}, "perm [0,1,2,3]: 3 is outside [0,2]"},
		{[]int64{0, 1, 1}, "axis 1 is listed twice"},
		{[]int64{0, 1, 3}, "3 is outside [0,2]"},
		{[]int64{0, 1, -1}, "perm [0,1,-1]: -1 is outside [0,2]"},
		{[]int64{0, 1, math.MinInt64}, "is outside [0,2]"},
		{[]int64{0, 1, math.MaxInt64}, "is outside [0,2]"},
	} {
		for _, v := range []onnx.Opset{1, 13, 25} {
			_, err := runTranspose(x, v, c.perm)
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, c.says)
			_, err = onnx.Run("Transpose", v, onnx.Attrs{onnx.Ints("perm", c.perm...)}, x)
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, c.says)
		}
	}
	y := held(t)(byRun(t, "Transpose", 25, onnx.Attrs{onnx.Ints("perm")}, x, nil))
	require.Equal(t, layout.Shape{4, 3, 2}, y.Shape(), "an empty perm is one left out")
	_, err := onnx.Run("Transpose", 25, onnx.Attrs{onnx.Int("perm", 1)}, x)
	require.ErrorContains(t, err, "is of kind int, want ints")
}

// TestRankAboveInline: more axes than fit the inline arrays.
func TestRankAboveInline(t *testing.T) {
	s := open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	dims := []int64{2, 1, 2, 1, 3, 1, 2, 1, 2, 1, 2}
	a := numbered(layout.Int32, dims...)
	x := upload(t, a, s, layout.Int32)
	for range 20 {
		perm := make([]int64, len(dims))
		for i, p := range rng.Perm(len(dims)) {
			perm[i] = int64(p)
		}
		y := held(t)(runTranspose(x, 25, perm))
		want := a.Transpose(perm...)
		same(t, layout.Int32, want, y)
		same(t, layout.Int32, want.Reshape(96), held(t)(onnx.Reshape(y, 25, []int64{-1})))
		var kept []int64
		for _, d := range want.Dims {
			if d != 1 {
				kept = append(kept, d)
			}
		}
		same(t, layout.Int32, want.Reshape(kept...), held(t)(call("Squeeze", 25, nil, y)))
		same(t, layout.Int64, numbers(want.Dims...), held(t)(onnx.Shape(y, 25)))
	}
}
