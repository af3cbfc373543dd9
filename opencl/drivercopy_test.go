package opencl

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
)

// The driver's copy copies the first bytes, and no buffers but the device's own
// that are alive.
func TestCopyByDriver(t *testing.T) {
	dev := openTest(t, Options{})
	q := queueOf(t, dev)
	alloc := func(dev device.Device, n int64) device.Buffer {
		b, err := dev.Alloc(n)
		require.NoError(t, err)
		return b
	}
	x, y := alloc(dev, 4096), alloc(dev, 4096)
	ours, theirs := bytes.Repeat([]byte{1, 2, 3, 4}, 1024), bytes.Repeat([]byte{9}, 4096)
	require.NoError(t, q.Write(x, 0, ours))
	require.NoError(t, q.Write(y, 0, theirs))
	before := dev.Stats().DeviceToDevice
	require.NoError(t, dev.CopyByDriver(q, y, x, 2048))
	require.NoError(t, x.Free(), "with the copy under way")
	got := make([]byte, 4096)
	require.NoError(t, q.Read(got, y, 0))
	assert.Equal(t, append(bytes.Clone(ours[:2048]), theirs[2048:]...), got)
	assert.Equal(t, before, dev.Stats().DeviceToDevice)

	other, err := OpenWith(dev.Info().Index, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	host, err := cpu.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, host.Close()) }()
	hostQueue, err := host.NewQueue()
	require.NoError(t, err)
	z := alloc(dev, 4096)
	require.ErrorIs(t, dev.CopyByDriver(q, y, x, 64), device.ErrClosed)
	for name, err := range map[string]error{
		"beyond":        dev.CopyByDriver(q, y, z, 4097),
		"negative":      dev.CopyByDriver(q, y, z, -1),
		"one buffer":    dev.CopyByDriver(q, y, y, 64),
		"nil":           dev.CopyByDriver(nil, y, z, 64),
		"foreign":       dev.CopyByDriver(q, y, alloc(other, 64), 64),
		"their queue":   dev.CopyByDriver(queueOf(t, other), y, z, 64),
		"foreign queue": dev.CopyByDriver(hostQueue, y, z, 64),
		"host's memory": dev.CopyByDriver(q, alloc(host, 64), z, 64),
	} {
		assert.ErrorIs(t, err, device.ErrInvalid, name)
	}
	require.NoError(t, dev.CopyByDriver(q, y, z, 0))
}
