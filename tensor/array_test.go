package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/ndarray"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// array is what a tensor must be.
type array = ndarray.Array

func transposed(a array, perm []int) array {
	axes := make([]int64, len(perm))
	for i, p := range perm {
		axes[i] = int64(p)
	}
	return a.Transpose(axes...)
}

// sliced takes the steps of Python's range over an axis.
func sliced(a array, axis int, start, end, step int64) array {
	dim := a.Dims[axis]
	if start < 0 {
		start += dim
	}
	if end < 0 {
		end += dim
	}
	var taken []int64
	if step > 0 {
		for i := max(start, 0); i < min(end, dim); i += step {
			taken = append(taken, i)
		}
	} else {
		for i := min(start, dim-1); i > max(end, -1); i += step {
			taken = append(taken, i)
		}
	}
	return a.Take(axis, taken)
}

// fill makes a tensor and the array that it must be.
func fill(t *testing.T, s *tensor.Stream, of layout.DType, seed uint64, dims ...int64) (*tensor.Tensor, array) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, uint64(of)))
	n, err := layout.Shape(dims).Count()
	require.NoError(t, err)
	a := array{Dims: append([]int64{}, dims...)}
	if of == layout.String {
		strs := make([]string, n)
		for i := range strs {
			strs[i] = fmt.Sprintf("%c%d", 'a'+rng.IntN(26), i)
		}
		a.Elems = strs
		if dims == nil {
			dims = []int64{}
		}
		return keep(t)(tensor.FromSlice(s, strs, dims...)), a
	}
	size, err := layout.Shape(dims).Bytes(of)
	require.NoError(t, err)
	packed := make([]byte, size)
	for i := range packed {
		packed[i] = byte(rng.Uint32())
		if of == layout.Bool {
			packed[i] &= 1
		}
	}
	a = ndarray.OfBytes(of, packed, a.Dims...)
	return keep(t)(tensor.FromBytes(s, of, packed, dims...)), a
}

// contents reads a tensor.
func contents(t *testing.T, x *tensor.Tensor) array {
	t.Helper()
	a, err := ndarray.Download(x)
	require.NoError(t, err)
	return a
}

func requireIs(t *testing.T, want array, x *tensor.Tensor, args ...any) {
	t.Helper()
	require.NoError(t, want.Compare(x.DType(), x), args...)
}

// keep passes on a tensor that a call must have made, and releases it when the
// test ends.
func keep(t *testing.T) func(*tensor.Tensor, error) *tensor.Tensor {
	t.Helper()
	return func(x *tensor.Tensor, err error) *tensor.Tensor {
		t.Helper()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Release()) })
		return x
	}
}
