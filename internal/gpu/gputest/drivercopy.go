package gputest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
)

// Copier is a device whose driver copies.
type Copier interface {
	device.Device
	device.DriverCopier
}

// CopyByDriver tests that the driver's copy copies the first bytes, and accepts only live
// buffers and queues of the device. Both devices are closed by the end of the test.
func CopyByDriver(t *testing.T, dev, other Copier) {
	q := Queue(t, dev)
	x, y, z := Alloc(t, dev, 4096), Alloc(t, dev, 4096), Alloc(t, dev, 4096)
	ours, theirs := bytes.Repeat([]byte{1, 2, 3, 4}, 1024), bytes.Repeat([]byte{9}, 4096)
	require.NoError(t, q.Write(x, 0, ours))
	require.NoError(t, q.Write(y, 0, theirs))
	before := dev.Stats().DeviceToDevice
	require.NoError(t, dev.CopyByDriver(q, y, x, 2048))
	require.NoError(t, x.Free(), "with the copy under way")
	assert.Equal(t, append(bytes.Clone(ours[:2048]), theirs[2048:]...), Read(t, q, y))
	assert.Equal(t, before, dev.Stats().DeviceToDevice)

	host, err := cpu.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, host.Close()) }()
	hostQueue, err := host.NewQueue()
	require.NoError(t, err)
	hostBuffer, err := host.Alloc(64)
	require.NoError(t, err)
	foreign := Alloc(t, other, 4096)
	require.ErrorIs(t, dev.CopyByDriver(q, y, x, 64), device.ErrClosed)
	for name, err := range map[string]error{
		"beyond":        dev.CopyByDriver(q, y, z, 4097),
		"negative":      dev.CopyByDriver(q, y, z, -1),
		"one buffer":    dev.CopyByDriver(q, y, y, 64),
		"nil":           dev.CopyByDriver(q, nil, z, 64),
		"nil queue":     dev.CopyByDriver(nil, y, z, 64),
		"foreign":       dev.CopyByDriver(q, y, foreign, 64),
		"foreign dst":   dev.CopyByDriver(q, foreign, y, 64),
		"all foreign":   dev.CopyByDriver(Queue(t, other), foreign, Alloc(t, other, 64), 64),
		"their queue":   dev.CopyByDriver(Queue(t, other), y, z, 64),
		"foreign queue": dev.CopyByDriver(hostQueue, y, z, 64),
		"host's memory": dev.CopyByDriver(q, hostBuffer, z, 64),
	} {
		assert.ErrorIs(t, err, device.ErrInvalid, name)
	}
	require.NoError(t, dev.CopyByDriver(q, y, z, 0))
	spoil(t, q, z)
	require.NoError(t, dev.CopyByDriver(q, y, z, 64))
	require.ErrorContains(t, q.Read(make([]byte, 8), y, 0), "index 100 is outside")
	require.NoError(t, q.Read(make([]byte, 8), y, 64))
}
