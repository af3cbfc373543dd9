package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
)

func TestCopyByDriver(t *testing.T) {
	dev := openTest(t)
	q := queueOf(t, dev)
	x, y := alloc(t, dev, 4096), alloc(t, dev, 4096)
	require.NoError(t, q.Fill(row(x, 0, 1024), []byte{1, 2, 3, 4}))
	require.NoError(t, q.Fill(row(y, 0, 1024), []byte{9, 9, 9, 9}))
	require.NoError(t, dev.CopyByDriver(q, y, x, 2048))
	require.NoError(t, x.Free(), "with the copy under way")
	w := words(t, q, y)
	assert.EqualValues(t, 0x04030201, w[0])
	assert.EqualValues(t, 0x04030201, w[511])
	assert.EqualValues(t, 0x09090909, w[512])
	assert.EqualValues(t, 0x09090909, w[1023])

	other, err := OpenWith(0, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	foreign := alloc(t, other, 4096)
	host, err := cpu.Open()
	require.NoError(t, err)
	hostQueue, err := host.NewQueue()
	require.NoError(t, err)
	z := alloc(t, dev, 4096)
	require.ErrorIs(t, dev.CopyByDriver(q, y, x, 64), device.ErrClosed)
	for name, err := range map[string]error{
		"beyond":        dev.CopyByDriver(q, y, z, 4097),
		"negative":      dev.CopyByDriver(q, y, z, -1),
		"one buffer":    dev.CopyByDriver(q, y, y, 64),
		"nil":           dev.CopyByDriver(q, nil, z, 64),
		"foreign":       dev.CopyByDriver(q, y, foreign, 64),
		"foreign dst":   dev.CopyByDriver(q, foreign, y, 64),
		"all foreign":   dev.CopyByDriver(queueOf(t, other), foreign, alloc(t, other, 64), 64),
		"their queue":   dev.CopyByDriver(queueOf(t, other), y, z, 64),
		"foreign queue": dev.CopyByDriver(hostQueue, y, z, 64),
	} {
		assert.ErrorIs(t, err, device.ErrInvalid, name)
	}
	require.NoError(t, dev.CopyByDriver(q, y, z, 0))
}
