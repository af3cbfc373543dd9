package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// Foreign memory does not go to the pool: it returns to its owner, once.
func TestAdopt(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	released := 0
	theirs := &mem{bytes: make([]byte, 64)}
	adopt := func() (b *gpu.Buffer) {
		require.NoError(t, gpu.While(dev, "Adopt", func() error {
			b = gpu.Adopt(dev, theirs, 64, func() error { released++; return nil }, nil)
			return nil
		}))
		return b
	}
	a, b := adopt(), adopt()
	assert.Same(t, theirs, a.Mem())
	assert.Equal(t, device.Stats{}, dev.Stats())
	require.NoError(t, q.Write(a, 0, []byte{1}))
	got := make([]byte, 1)
	require.NoError(t, q.Read(got, b, 0))
	assert.EqualValues(t, 1, got[0])
	require.NoError(t, a.Free())
	assert.Equal(t, 1, released)
	require.ErrorIs(t, a.Free(), device.ErrClosed)
	require.NoError(t, dev.Close())
	assert.Equal(t, 2, released)
	require.ErrorIs(t, b.Free(), device.ErrClosed)
	require.ErrorIs(t, gpu.While(dev, "Adopt", func() error { t.Error("called"); return nil }), device.ErrClosed)
	assert.Zero(t, dev.Stats().Live)
	require.NoError(t, gpu.CheckWords("Adopt", 8))
	require.ErrorIs(t, gpu.CheckWords("Adopt", 7), device.ErrUnsupported)
}

// Work that others queued counts as work of the queue.
func TestBlocksWaitForOthersWork(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 64)
	require.NoError(t, q.MarkUsed(a))
	require.NoError(t, a.Free())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	require.ErrorIs(t, q.MarkUsed(a), device.ErrClosed)
	require.ErrorIs(t, q.MarkUsed(nil), device.ErrInvalid)
	require.NoError(t, q.Close())
	dev.Sweep()
	assert.Zero(t, dev.DeferredFrees())
}
