package opencl_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestLongSums: llvmpipe silently ends loops after 65536 rounds. Sums of floats and of int64
// must not lose elements there: from a third of that number on with one index, from a quarter
// with two.
func TestLongSums(t *testing.T) {
	for _, info := range listed(t) {
		t.Run(info.ID(), func(t *testing.T) {
			s, err := tensor.Open(info.ID())
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			put := func(axis int) putTo {
				return func(x, at, src *tensor.Tensor) error {
					return x.Put(axis, at, src, device.ReduceAdd, layout.OutOfRangeError)
				}
			}
			for _, n := range []int64{21845, 21846, 70000} {
				for _, dtype := range []layout.DType{layout.Float32, layout.Int64} {
					sameSums(t, s, put(0), dtype, []int64{10}, []int64{n}, []int64{n})
				}
			}
			for _, n := range []int64{16383, 16384} {
				sameSums(t, s, func(x, at, src *tensor.Tensor) error {
					return x.PutND(at, src, device.ReduceAdd, layout.OutOfRangeError)
				}, layout.Float32, []int64{5, 2}, []int64{n}, []int64{n, 2})
			}
			sameSums(t, s, func(x, at, src *tensor.Tensor) error {
				turned, err := at.Transpose(1, 0)
				require.NoError(t, err)
				defer turned.Release()
				return x.Put(0, turned, src, device.ReduceAdd, layout.OutOfRangeError)
			}, layout.Float32, []int64{4}, []int64{200, 150}, []int64{150, 200})
			sameSums(t, s, put(0), layout.Float32, []int64{4, 3}, []int64{3, 30000, 3}, []int64{3, 30000})
			sameSums(t, s, put(1), layout.Float32, []int64{3, 4}, []int64{3, 30000}, []int64{30000})
		})
	}
}

type putTo func(x, at, src *tensor.Tensor) error

// sameSums puts elements on a device, and compares with the cpu device's result.
func sameSums(t *testing.T, s *tensor.Stream, put putTo, dtype layout.DType, places, elements, indices []int64) {
	t.Helper()
	sum := func(s *tensor.Stream) []byte {
		x, src := ramp(t, s, dtype, 1, places...), ramp(t, s, dtype, 1<<22, elements...)
		at := ramp(t, s, layout.Int64, slices.Min(places), indices...)
		require.NoError(t, put(x, at, src))
		got, err := x.Bytes()
		require.NoError(t, err)
		for _, held := range []*tensor.Tensor{x, src, at} {
			require.NoError(t, held.Release())
		}
		return got
	}
	require.Equal(t, sum(tensor.Host()), sum(s), "%v%v by %v", dtype, elements, indices)
}

// ramp returns a tensor of integers below a limit, without an order.
func ramp(t *testing.T, s *tensor.Stream, dtype layout.DType, limit int64, dims ...int64) *tensor.Tensor {
	t.Helper()
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	data := make([]int64, n)
	for i := range data {
		data[i] = int64(uint32(i)*2654435761>>8) % limit
	}
	x, err := tensor.FromSlice(s, data, dims...)
	require.NoError(t, err)
	y, err := x.Cast(dtype, device.Rounding{})
	require.NoError(t, err)
	require.NoError(t, x.Release())
	return y
}

// TestLongBlocks: a block whose scale llvmpipe would find in too many rounds is refused as a
// whole.
func TestLongBlocks(t *testing.T) {
	for _, info := range listed(t) {
		t.Run(info.ID(), func(t *testing.T) {
			s, err := tensor.Open(info.ID())
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			for _, n := range []int64{8192, 50000} {
				want, err := codes(t, tensor.Host(), n)
				require.NoError(t, err)
				got, err := codes(t, s, n)
				if n > 8192 && errors.Is(err, device.ErrUnsupported) {
					continue
				}
				require.NoError(t, err)
				require.Equal(t, want, got, "%d", n)
			}
		})
	}
}

// codes quantizes n numbers as one block.
func codes(t *testing.T, s *tensor.Stream, n int64) ([]byte, error) {
	t.Helper()
	x := ramp(t, s, layout.Float32, 1000, n)
	defer x.Release()
	y, scales, err := x.QuantizeBlocks(layout.Int8, layout.Float32, n)
	if err != nil {
		return nil, err
	}
	got, err := y.Bytes()
	return got, errors.Join(err, y.Release(), scales.Release())
}
