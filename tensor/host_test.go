package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func TestExtents(t *testing.T) {
	x := keep(t)(tensor.FromSlice(openCPU(t), make([]float32, 24), 2, 3, 4))
	turned := keep(t)(x.Transpose())
	got, err := tensor.Values[int64](keep(t)(turned.Extents(1, 3)))
	require.NoError(t, err)
	require.Equal(t, []int64{3, 2}, got)
	require.Equal(t, layout.Shape{0}, keep(t)(x.Extents(2, 2)).Shape())
	for _, axes := range [][2]int{{-1, 2}, {0, 4}, {2, 1}} {
		_, err := x.Extents(axes[0], axes[1])
		require.ErrorIs(t, err, device.ErrInvalid)
	}
	y, err := x.Alias()
	require.NoError(t, err)
	require.NoError(t, y.Release())
	_, err = y.Extents(0, 1)
	require.ErrorIs(t, err, tensor.ErrReleased)
}
