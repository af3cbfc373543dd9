package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func TestConcatAndSplit(t *testing.T) {
	for name, open := range streams {
		for _, of := range []layout.DType{layout.Int2, layout.Uint4, layout.Bool, layout.Float32, layout.Complex128, layout.String} {
			if name == "fake" && of == layout.String {
				continue
			}
			t.Run(name+"/"+of.String(), func(t *testing.T) {
				s := open(t)
				x, a := fill(t, s, of, 1, 3, 2, 5)
				y, b := fill(t, s, of, 2, 3, 4, 5)
				none, _ := fill(t, s, of, 3, 3, 0, 5)
				got := keep(t)(tensor.Concat(-2, x, none, y, x))
				want := a.Joined(1, b).Joined(1, a)
				requireIs(t, want, got)
				require.Equal(t, tensor.Copy, got.Verdict().Kind)
				parts, err := got.Split(1, 2, 0, 4, 2)
				require.NoError(t, err)
				for i, is := range []array{a, want.Window(1, 2, 2), b, a} {
					requireIs(t, is, keep(t)(parts[i], nil))
					require.Equal(t, tensor.View, parts[i].Verdict().Kind)
				}
				require.Equal(t, tensor.View, keep(t)(tensor.Concat(1, x)).Verdict().Kind)
			})
		}
	}
}

func TestStack(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		x, a := fill(t, s, layout.Uint4, 1, 3, 5)
		y, b := fill(t, s, layout.Uint4, 2, 5, 3)
		turned := keep(t)(y.Transpose())
		for axis := -3; axis < 3; axis++ {
			at := (axis + 3) % 3
			dims := []int64{3, 5}
			one := append(append(append([]int64{}, dims[:at]...), 1), dims[at:]...)
			want := a.Reshape(one...).Joined(at, transposed(b, []int{1, 0}).Reshape(one...))
			requireIs(t, want, keep(t)(tensor.Stack(axis, x, turned)), axis)
		}
		require.Equal(t, tensor.View, keep(t)(tensor.Stack(0, x)).Verdict().Kind)
	}
}

func TestJoinErrors(t *testing.T) {
	s, other := openCPU(t), openFake(t)
	x := keep(t)(tensor.New(s, layout.Int32, 2, 2))
	tall := keep(t)(tensor.New(s, layout.Int32, 3, 2))
	flat := keep(t)(tensor.New(s, layout.Int32, 4))
	long := keep(t)(tensor.New(s, layout.Int64, 2, 2))
	far := keep(t)(tensor.New(other, layout.Int32, 2, 2))
	huge := keep(t)(keep(t)(tensor.New(s, layout.Int32, 1, 0)).Expand(1<<62, 0))
	gone, err := x.Alias()
	require.NoError(t, err)
	require.NoError(t, gone.Release())
	before := s.Device().Stats()
	for _, c := range []struct {
		axis int
		in   []*tensor.Tensor
		says string
	}{
		{1, []*tensor.Tensor{x, tall}, "of int32[2,2]: input 1 has shape [3,2] and input 0 [2,2]: they "},
		{0, []*tensor.Tensor{x, flat}, "input 1 has shape [4] and input 0 [2,2]: they must"},
		{0, []*tensor.Tensor{x, long}, "input 1 is int64[2,2]; input 0 is int32: they must be of one type"},
		{0, []*tensor.Tensor{x, far}, "input 1 is on device fake:3, input 0 on cpu: To brings it there"},
		{0, []*tensor.Tensor{x, gone}, "the tensor has been released"},
		{0, []*tensor.Tensor{x, nil}, "input 1 is nil"},
		{9, []*tensor.Tensor{x, x}, "axis 9 is outside"},
		{0, nil, "no tensors are given"},
	} {
		_, err := tensor.Concat(c.axis, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
		_, err = tensor.Stack(c.axis, c.in...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err = tensor.Concat(0, huge, huge)
	require.ErrorContains(t, err, "add up to more than 64 bits hold")
	require.Equal(t, before, s.Device().Stats())

	for _, c := range []struct {
		axis  int
		sizes []int64
		says  string
	}{
		{0, []int64{1}, "Split of int32[2,2]: split [1] adds up to 1; axis 0 has extent 2"},
		{0, []int64{1, 2}, "adds up to more than extent 2 of axis 0"},
		{-1, []int64{3, -1}, "adds up to more than extent 2 of axis 1"},
		{0, []int64{1, -1, 2}, "size 1 is negative"},
		{0, []int64{math.MaxInt64, math.MaxInt64, 4}, "adds up to more"},
		{2, []int64{2}, "axis 2 is outside [-2,1]"},
	} {
		_, err := x.Split(c.axis, c.sizes...)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, c.says)
	}
	_, err = gone.Split(0, 2)
	require.ErrorIs(t, err, tensor.ErrReleased)
}

// Parts of a tensor, and the whole again.
func ExampleConcat() {
	x, _ := tensor.FromSlice(tensor.Host(), []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	defer x.Release()
	parts, _ := x.Split(1, 1, 2)
	defer parts[0].Release()
	defer parts[1].Release()
	y, _ := tensor.Concat(1, parts[1], parts[0])
	defer y.Release()
	fmt.Println(parts[0].Verdict(), y)
	// Output:
	// view int32[2,3] on cpu:
	// [[2 3 1]
	//  [5 6 4]]
}
