package opencl_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/opencl"
)

func open(t *testing.T) *opencl.Device {
	t.Helper()
	dev, err := opencl.OpenWith(0, opencl.Options{})
	devicetest.Require(t, "opencl", err)
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

// An engine's context, queue and buffer, and a device that shares them: here
// the engine is another device of ours.
func TestAdopt(t *testing.T) {
	engine := open(t)
	engineQueue, err := engine.NewQueue()
	require.NoError(t, err)
	h := engine.Handles()
	require.NotZero(t, h.Platform)
	require.NotZero(t, h.Context)
	require.NotZero(t, h.Device)

	dev, err := opencl.Adopt(h, opencl.Options{})
	require.NoError(t, err)
	assert.Equal(t, engine.Info(), dev.Info())
	assert.Equal(t, h, dev.Handles())

	queue := opencl.CommandQueueOf(engineQueue)
	require.NotZero(t, queue)
	q, err := dev.AdoptQueue(queue)
	require.NoError(t, err)
	assert.Equal(t, queue, opencl.CommandQueueOf(q))

	theirs, err := engine.Alloc(64)
	require.NoError(t, err)
	mem := opencl.MemoryOf(theirs)
	require.NotZero(t, mem)
	b, err := dev.AdoptBuffer(mem, 60)
	require.NoError(t, err)
	assert.EqualValues(t, 60, b.Size())
	assert.Equal(t, mem, opencl.MemoryOf(b))
	assert.Equal(t, device.Stats{}, dev.Stats(), "what is adopted counts nowhere")

	// One queue, two owners: in order.
	require.NoError(t, engineQueue.Write(theirs, 0, []byte{1, 2, 3, 4}))
	operand := func(at int64) device.Operand {
		l, err := layout.Strided([]int64{4}, []int64{1}, at)
		require.NoError(t, err)
		return device.Operand{Buffer: b, Layout: l, Type: layout.Uint8}
	}
	require.NoError(t, q.Copy(operand(8), operand(0)))
	got := make([]byte, 4)
	require.NoError(t, engineQueue.Read(got, theirs, 8))
	assert.Equal(t, []byte{1, 2, 3, 4}, got)

	// Our buffers, their work.
	own, err := dev.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, q.(device.Sharer).Used(own, b))
	require.ErrorIs(t, q.(device.Sharer).Used(theirs), device.ErrInvalid)
	require.NoError(t, own.Free())
	require.ErrorIs(t, q.(device.Sharer).Used(own), device.ErrClosed)

	require.NoError(t, b.Free())
	require.ErrorIs(t, b.Free(), device.ErrClosed)
	b, err = dev.AdoptBuffer(mem, 64) // and not freed
	require.NoError(t, err)
	require.NoError(t, q.Close())
	require.NoError(t, dev.Close())
	require.ErrorIs(t, b.Free(), device.ErrClosed)
	_, err = dev.AdoptBuffer(mem, 64)
	require.ErrorIs(t, err, device.ErrClosed)
	_, err = dev.AdoptQueue(queue)
	require.ErrorIs(t, err, device.ErrClosed)

	// All is still the engine's.
	require.NoError(t, engineQueue.Read(got, theirs, 0))
	assert.Equal(t, []byte{1, 2, 3, 4}, got)
	require.NoError(t, theirs.Free())
	none, err := engine.Alloc(0)
	require.NoError(t, err)
	assert.Zero(t, opencl.MemoryOf(none))
}

func TestAdoptRefuses(t *testing.T) {
	engine, stranger := open(t), open(t)
	h := engine.Handles()
	_, err := opencl.Adopt(opencl.Handles{}, opencl.Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = opencl.Adopt(opencl.Handles{Platform: h.Platform + 8, Context: h.Context, Device: h.Device}, opencl.Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = opencl.Adopt(h, opencl.Options{Planner: "none"})
	require.ErrorIs(t, err, device.ErrInvalid)

	theirs, err := engine.Alloc(64)
	require.NoError(t, err)
	mem := opencl.MemoryOf(theirs)
	for _, c := range []struct {
		mem   uintptr
		bytes int64
		kind  error
		word  string
	}{
		{0, 4, device.ErrInvalid, "0x0"},
		{mem, -4, device.ErrInvalid, "-4"},
		{mem, 6, device.ErrUnsupported, "multiple"},
		{mem, 1 << 20, device.ErrInvalid, "64"},
	} {
		_, err := engine.AdoptBuffer(c.mem, c.bytes)
		require.ErrorIs(t, err, c.kind)
		assert.ErrorContains(t, err, c.word)
	}
	_, err = stranger.AdoptBuffer(mem, 64)
	require.ErrorIs(t, err, device.ErrInvalid)

	q, err := engine.NewQueue()
	require.NoError(t, err)
	_, err = stranger.AdoptQueue(opencl.CommandQueueOf(q))
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = engine.AdoptQueue(0)
	require.ErrorIs(t, err, device.ErrInvalid)
	none, err := engine.AdoptBuffer(mem, 0)
	require.NoError(t, err)
	require.NoError(t, none.Free())
}

// Other backends have no handles of OpenCL's.
func TestHandlesOfOthers(t *testing.T) {
	host, err := device.Open("cpu")
	require.NoError(t, err)
	defer host.Close()
	b, err := host.Alloc(64)
	require.NoError(t, err)
	q, err := host.NewQueue()
	require.NoError(t, err)
	assert.Zero(t, opencl.MemoryOf(b))
	assert.Zero(t, opencl.MemoryOf(nil))
	assert.Zero(t, opencl.CommandQueueOf(q))
	assert.Zero(t, opencl.CommandQueueOf(nil))
}
