package onednn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/tensor"
)

// fakeDevice is a cpu device whose memory the host does not see, like a GPU's.
type fakeDevice struct{ device.Device }

type fakeQueue struct{ device.Queue }

func (d fakeDevice) Info() device.Info {
	return device.Info{Backend: "fake", Kind: device.GPU}
}

func (d fakeDevice) NewQueue() (device.Queue, error) {
	q, err := d.Device.NewQueue()
	return fakeQueue{q}, err
}

func openFake(t *testing.T) *tensor.Stream {
	dev, err := cpu.Open()
	require.NoError(t, err)
	s, err := tensor.NewStream(fakeDevice{dev})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Zero(t, dev.Stats().Live)
		require.NoError(t, s.Close())
		require.NoError(t, dev.Close())
	})
	return s
}
