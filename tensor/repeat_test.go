package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func TestFlip(t *testing.T) {
	for _, open := range streams {
		s := open(t)
		x, a := fill(t, s, layout.Uint4, 1, 3, 4, 5)
		for _, axes := range [][]int{{0}, {-1}, {0, 2}, {}, {1, -3, 2}} {
			want := a
			for _, axis := range axes {
				want = sliced(want, (axis+3)%3, -1, -1<<40, -1)
			}
			if len(axes) == 0 {
				want = sliced(sliced(sliced(a, 0, -1, -1<<40, -1), 1, -1, -1<<40, -1), 2, -1, -1<<40, -1)
			}
			y := keep(t)(x.Flip(axes...))
			require.Equal(t, tensor.View, y.Verdict().Kind)
			requireIs(t, want, y, axes)
		}
	}
}

func TestTileAndRepeat(t *testing.T) {
	for name, open := range streams {
		for _, of := range []layout.DType{layout.Int4, layout.Bool, layout.Float32, layout.String} {
			if name == "fake" && of == layout.String {
				continue
			}
			s := open(t)
			x, a := fill(t, s, of, 1, 3, 1, 4)
			requireIs(t, a.Tile(2, 1, 3), keep(t)(x.Tile(2, 1, 3)))
			requireIs(t, a.Tile(2, 0, 3), keep(t)(x.Tile(2, 0, 3)))
			require.Equal(t, tensor.Copy, keep(t)(x.Tile(2, 1, 1)).Verdict().Kind)
			require.Equal(t, tensor.View, keep(t)(x.Tile(1, 7, 1)).Verdict().Kind)
			require.Equal(t, tensor.View, keep(t)(x.Tile(1, 1, 1)).Verdict().Kind)
			for axis := range 3 {
				dims := append([]int64{}, a.Dims...)
				dims[axis] *= 3
				want := a.From(dims, func(i, of []int64) { copy(of, i); of[axis] /= 3 })
				requireIs(t, want, keep(t)(x.Repeat(axis-3, 3)), axis)
			}
			require.Equal(t, tensor.View, keep(t)(x.Repeat(1, 7)).Verdict().Kind)
			require.Zero(t, keep(t)(x.Repeat(0, 0)).Count())
			s.ForbidCopies(true)
			_, err := x.Tile(2, 1, 1)
			require.ErrorIs(t, err, tensor.ErrCopy)
		}
	}
}

func TestRepeatErrors(t *testing.T) {
	x := keep(t)(tensor.New(openCPU(t), layout.Float32, 2, 3))
	only := func(_ *tensor.Tensor, err error) error { return err }
	for says, err := range map[string]error{
		"Tile of float[2,3]: repeats [2]: 1 numbers for 2 axes":    only(x.Tile(2)),
		"repeats [2,-1]: that of axis 1 is negative":               only(x.Tile(2, -1)),
		"extent 3 of axis 1, 4611686018427387904 times, overflows": only(x.Tile(1, 1<<62)),
		"Repeat of float[2,3]: axis 2 is outside [-2,1] of rank 2": only(x.Repeat(2, 1)),
		"extent 2 of axis 0, -1 times":                             only(x.Repeat(0, -1)),
		"extent 2 of axis 0, 9223372036854775807 times":            only(x.Repeat(0, math.MaxInt64)),
		"Flip of float[2,3]: axis 1 is listed twice":               only(x.Flip(1, 0, 1)),
		"axis -3 is outside [-2,1]":                                only(x.Flip(-3)),
	} {
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, says)
	}
	_, err := x.Tile(1<<20, 1<<30)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	require.NoError(t, x.Release())
	for _, err := range []error{only(x.Tile(2, 2)), only(x.Repeat(0, 2)), only(x.Flip())} {
		require.ErrorIs(t, err, tensor.ErrReleased)
	}
}
