package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// A capture keeps indices on the host, which a cpu device reads in place, after their release.
func TestCaptureKeepsHostIndices(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	x, err := tensor.FromSlice(s, []int32{10, 20, 30, 40})
	require.NoError(t, err)
	before := tensor.Host().Device().Stats().Live
	at, err := tensor.Empty(tensor.Host(), layout.Int64, 3)
	require.NoError(t, err)
	require.NoError(t, tensor.Host().Queue().Write(at.Buffer(), 0, []byte{3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}))
	var y *tensor.Tensor
	r, err := s.Queue().(device.Recorder).Capture(func() (err error) {
		y, err = x.Gather(0, at, layout.OutOfRangeError)
		return err
	})
	require.NoError(t, err)
	require.NoError(t, at.Release())
	other, err := tensor.Empty(tensor.Host(), layout.Int64, 3)
	require.NoError(t, err)
	require.NoError(t, tensor.Host().Queue().Write(other.Buffer(), 0, make([]byte, 24)))
	require.NoError(t, r.Run())
	got, err := tensor.Values[int32](y)
	require.NoError(t, err)
	require.Equal(t, []int32{40, 10, 20}, got)
	require.NoError(t, other.Release())
	require.NoError(t, r.Close())
	require.Equal(t, before, tensor.Host().Device().Stats().Live)
	require.NoError(t, s.Close())
	require.NoError(t, dev.Close())
}
