package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Releasing a tensor when its device is closed says so, and not that it was freed before.
func TestBugReleaseAfterClose(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	x, err := tensor.New(s, layout.Float32, 2, 3)
	require.NoError(t, err)
	view, err := x.Transpose()
	require.NoError(t, err)
	scope := tensor.NewScope(s)
	_, err = tensor.New(s, layout.Int8, 5)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, x.Release(), "view has the memory")
	for says, err := range map[string]error{"Release of float[3,2]": view.Release(), "Release of int8[5]": scope.Close()} {
		require.ErrorIs(t, err, device.ErrClosed)
		require.ErrorContains(t, err, says+": its stream was closed, and the device cpu with it, which freed the memory")
	}
	require.NoError(t, view.Release(), "a second Release does nothing")

	dev, err := cpu.Open()
	require.NoError(t, err)
	on, err := tensor.NewStream(dev)
	require.NoError(t, err)
	y, err := tensor.New(on, layout.Int8, 5)
	require.NoError(t, err)
	require.NoError(t, on.Close())
	require.NoError(t, y.Release(), "the device is open")
	on, err = tensor.NewStream(dev)
	require.NoError(t, err)
	y, err = tensor.New(on, layout.Int8, 5)
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	require.ErrorContains(t, y.Release(), "Release of int8[5]: the cpu device is closed")
}
