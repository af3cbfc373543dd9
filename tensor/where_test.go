package tensor_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// broadcastAt returns the element that an index of a broadcast shape has in a tensor's.
func broadcastAt[T any](values []T, dims []int64, index []int64) T {
	at := int64(0)
	for i, n := range dims {
		at *= n
		if n > 1 {
			at += index[len(index)-len(dims)+i]
		}
	}
	return values[at]
}

func TestWhere(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			rng := rand.New(rand.NewPCG(1, 2))
			for _, c := range []struct{ cond, a, b, want []int64 }{
				{[]int64{3, 4}, []int64{3, 4}, []int64{3, 4}, []int64{3, 4}},
				{[]int64{3, 1}, []int64{3, 4}, []int64{4}, []int64{3, 4}},
				{[]int64{4}, []int64{}, []int64{2, 1, 1}, []int64{2, 1, 4}},
				{[]int64{2, 1, 5, 1}, []int64{3, 1, 6}, []int64{1}, []int64{2, 3, 5, 6}},
				{[]int64{}, []int64{}, []int64{}, []int64{}},
				{[]int64{0}, []int64{1}, []int64{}, []int64{0}},
			} {
				yes := make([]bool, count(c.cond))
				for i := range yes {
					yes[i] = rng.IntN(2) == 0
				}
				numbers := func(dims []int64) []int32 {
					all := make([]int32, count(dims))
					for i := range all {
						all[i] = rng.Int32()
					}
					return all
				}
				a, b := numbers(c.a), numbers(c.b)
				cond := keep(t)(tensor.FromSlice(s, yes, c.cond...))
				x, y := keep(t)(tensor.FromSlice(s, a, c.a...)), keep(t)(tensor.FromSlice(s, b, c.b...))
				z := keep(t)(tensor.Where(cond, x, y))
				require.Equal(t, layout.Shape(c.want).String(), z.Shape().String())
				require.Equal(t, tensor.Verdict{Kind: tensor.Copy, Bytes: 4 * count(c.want), Class: "where"}, z.Verdict())
				got, err := tensor.Values[int32](z)
				require.NoError(t, err)
				index := make([]int64, len(c.want))
				for i := range got {
					for axis, rest := len(index)-1, int64(i); axis >= 0; axis-- {
						index[axis] = rest % c.want[axis]
						rest /= c.want[axis]
					}
					want := broadcastAt(b, c.b, index)
					if broadcastAt(yes, c.cond, index) {
						want = broadcastAt(a, c.a, index)
					}
					require.Equal(t, want, got[i], "%v of %v", index, c)
				}
			}
		})
	}
}

// count is the number of elements of extents.
func count(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}

// TestWhereOfOtherTypes: strings, and elements below a byte in an order of their own.
func TestWhereOfOtherTypes(t *testing.T) {
	s := openCPU(t)
	cond := keep(t)(tensor.FromSlice(s, []bool{true, false, true}))
	words := keep(t)(tensor.FromSlice(s, []string{"a", "b", "c"}))
	other := keep(t)(tensor.FromSlice(s, []string{"-"}))
	got, err := tensor.Values[string](keep(t)(tensor.Where(cond, words, other)))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "-", "c"}, got)

	x := keep(t)(tensor.FromBytes(s, layout.Uint4, []byte{0x21, 0x43, 0x65}, 2, 3))
	turned := keep(t)(x.Transpose())
	zero := keep(t)(tensor.FromBytes(s, layout.Uint4, []byte{0xf}))
	by := keep(t)(cond.Unsqueeze(1))
	packed, err := keep(t)(tensor.Where(by, turned, zero)).Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{0x41, 0xff, 0x63}, packed)
}

func TestFillWhere(t *testing.T) {
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			x := keep(t)(tensor.FromSlice(s, []int32{1, 2, 3, 4, 5, 6}, 2, 3))
			column := keep(t)(x.Slice(1, 1, 3, 1))
			mask := keep(t)(tensor.FromSlice(s, []bool{false, true}, 2, 1))
			least := keep(t)(tensor.FromSlice(s, []int32{-9}))
			require.NoError(t, column.FillWhere(mask, least))
			got, err := tensor.Values[int32](x)
			require.NoError(t, err)
			require.Equal(t, []int32{1, 2, 3, 4, -9, -9}, got)
		})
	}
}

func TestWhereErrors(t *testing.T) {
	s, other := openCPU(t), openFake(t)
	cond := keep(t)(tensor.FromSlice(s, []bool{true, false}))
	x := keep(t)(tensor.FromSlice(s, []float32{1, 2}))
	far := keep(t)(tensor.FromSlice(other, []bool{true, false}))
	three := keep(t)(tensor.FromSlice(s, []float32{1, 2, 3}))
	ints := keep(t)(tensor.FromSlice(s, []int32{1, 2}))
	released, err := tensor.FromSlice(s, []float32{1, 2})
	require.NoError(t, err)
	require.NoError(t, released.Release())
	for _, c := range []struct {
		cond, a, b *tensor.Tensor
		says       string
	}{
		{cond, x, three, "float[2] and float[3] by bool[2]"},
		{ints, x, x, "a condition must be bool"},
		{cond, x, ints, "they must be of one type"},
		{far, x, x, "To brings it there"},
		{nil, x, x, "there is no condition"},
		{cond, nil, x, "input 0 is nil"},
		{cond, x, nil, "input 1 is nil"},
		{cond, x, released, "has been released"},
	} {
		_, err := tensor.Where(c.cond, c.a, c.b)
		require.ErrorIs(t, err, device.ErrInvalid, c.says)
		require.ErrorContains(t, err, c.says)
	}
	require.ErrorContains(t, x.FillWhere(cond, three), "FillWhere of float[2] and float[3] by bool[2]")
	require.ErrorIs(t, x.FillWhere(cond, nil), device.ErrInvalid)
	require.ErrorIs(t, x.FillWhere(nil, x), device.ErrInvalid)
	column := keep(t)(cond.Unsqueeze(1))
	require.ErrorIs(t, x.FillWhere(column, x), device.ErrInvalid, "t does not become larger")
	got, err := tensor.Values[float32](x)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2}, got)
}
