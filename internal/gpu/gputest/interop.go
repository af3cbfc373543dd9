package gputest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
)

// Adopter adopts handles for a backend: handles of another device of the backend, which plays
// the role of an inference engine.
type Adopter struct {
	// Device shares the engine's context; Queue and Buffer, of that device, adopt a queue and
	// the first bytes of a buffer of the engine.
	Device func() (device.Device, error)
	Queue  func(dev device.Device, theirs device.Queue) (device.Queue, error)
	Buffer func(dev device.Device, theirs device.Buffer, bytes int64) (device.Buffer, error)
	// QueueHandle and BufferHandle are the driver's handles; 0: absent.
	QueueHandle  func(device.Queue) uintptr
	BufferHandle func(device.Buffer) uintptr
}

// Adopt tests that an engine's context, queue and buffer serve both the engine and a device
// that shares them, and still belong to the engine afterwards.
func Adopt(t *testing.T, engine device.Device, a Adopter) {
	engineQueue := Queue(t, engine)
	dev, err := a.Device()
	require.NoError(t, err)
	assert.Equal(t, engine.Info(), dev.Info())

	require.NotZero(t, a.QueueHandle(engineQueue))
	q, err := a.Queue(dev, engineQueue)
	require.NoError(t, err)
	assert.Equal(t, a.QueueHandle(engineQueue), a.QueueHandle(q))

	theirs := Alloc(t, engine, 64)
	require.NotZero(t, a.BufferHandle(theirs))
	b, err := a.Buffer(dev, theirs, 60)
	require.NoError(t, err)
	assert.EqualValues(t, 60, b.Size())
	assert.Equal(t, a.BufferHandle(theirs), a.BufferHandle(b))
	assert.Equal(t, device.Stats{}, dev.Stats(), "what is adopted counts nowhere")

	// One queue with two owners keeps its order.
	require.NoError(t, engineQueue.Write(theirs, 0, []byte{1, 2, 3, 4}))
	require.NoError(t, q.Copy(Words(b, 2, 1), Words(b, 0, 1)))
	assert.Equal(t, []byte{1, 2, 3, 4}, Read(t, engineQueue, theirs)[8:12])

	// This device's buffers, used by the engine's work.
	own := Alloc(t, dev, 64)
	used := q.(device.Sharer).MarkUsed
	require.NoError(t, used(own, b))
	require.ErrorIs(t, used(theirs), device.ErrInvalid)
	require.NoError(t, own.Free())
	require.ErrorIs(t, used(own), device.ErrClosed)

	require.NoError(t, b.Free())
	require.ErrorIs(t, b.Free(), device.ErrClosed)
	b, err = a.Buffer(dev, theirs, 64) // and not freed
	require.NoError(t, err)
	require.NoError(t, q.Close())
	require.NoError(t, dev.Close())
	require.ErrorIs(t, b.Free(), device.ErrClosed)
	_, err = a.Buffer(dev, theirs, 64)
	require.ErrorIs(t, err, device.ErrClosed)
	_, err = a.Queue(dev, engineQueue)
	require.ErrorIs(t, err, device.ErrClosed)

	// Everything still belongs to the engine.
	assert.Equal(t, []byte{1, 2, 3, 4}, Read(t, engineQueue, theirs)[8:12])
	require.NoError(t, theirs.Free())
	assert.Zero(t, a.BufferHandle(Alloc(t, engine, 0)))
	assert.Zero(t, a.BufferHandle(nil))
	assert.Zero(t, a.QueueHandle(nil))

	// Other backends do not have this driver's handles.
	host, err := cpu.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, host.Close()) }()
	hostBuffer, err := host.Alloc(64)
	require.NoError(t, err)
	hostQueue, err := host.NewQueue()
	require.NoError(t, err)
	assert.Zero(t, a.BufferHandle(hostBuffer))
	assert.Zero(t, a.QueueHandle(hostQueue))
}
