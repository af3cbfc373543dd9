package gpu_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// owned adopts memory, and counts the notifications of its owner.
func owned(t *testing.T, dev *gpu.Device) (b *gpu.Buffer, told *atomic.Int64) {
	told = new(atomic.Int64)
	require.NoError(t, gpu.While(dev, "Adopt", func() error {
		m := &mem{bytes: make([]byte, 64)}
		b = gpu.Adopt(dev, m, 64, func() error { return nil }, func() { told.Add(1) })
		return nil
	}))
	return b, told
}

// The owner of adopted memory is told once that it is no longer used: after the work of all
// queues on it.
func TestOwnerIsToldAfterTheWork(t *testing.T) {
	dev := open(t, newFake(t))
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)

	idle, told := owned(t, dev)
	gputest.Fill(t, q, idle, 1)
	require.NoError(t, q.Wait())
	require.NoError(t, idle.Free())
	assert.EqualValues(t, 1, told.Load(), "at once, without work")
	require.ErrorIs(t, idle.Free(), device.ErrClosed)
	assert.EqualValues(t, 1, told.Load())

	busy, told := owned(t, dev)
	letGo, letOther := hold(t, q), hold(t, other)
	gputest.Fill(t, q, busy, 1)
	gputest.Fill(t, other, busy, 1)
	require.NoError(t, busy.Free())
	letGo()
	require.NoError(t, q.Wait())
	assert.Never(t, func() bool { return told.Load() > 0 }, 20*time.Millisecond, time.Millisecond)
	letOther()
	assert.Eventually(t, func() bool { return told.Load() == 1 }, time.Minute, time.Millisecond)
	assert.Eventually(t, func() bool { return dev.DeferredFrees() == 0 }, time.Minute, time.Millisecond)
}

// TestBugOwnerToldBesideClose: memory is freed while the device's Close waits for the call; its
// owner must be told only after the work in progress.
func TestBugOwnerToldBesideClose(t *testing.T) {
	dev := gpu.New(newFake(t))
	q := gputest.Queue(t, dev)
	letGo := hold(t, q)
	var told atomic.Int64
	closed := make(chan error, 1)
	var b *gpu.Buffer
	require.NoError(t, gpu.While(dev, "Adopt", func() error {
		b = gpu.Adopt(dev, &mem{bytes: make([]byte, 64)}, 64, func() error {
			go func() { closed <- dev.Close() }()
			time.Sleep(20 * time.Millisecond) // Close waits for Free
			return nil
		}, func() { told.Add(1) })
		return nil
	}))
	gputest.Fill(t, q, b, 1)
	require.NoError(t, b.Free())
	assert.Never(t, func() bool { return told.Load() > 0 }, 20*time.Millisecond, time.Millisecond)
	letGo()
	require.NoError(t, <-closed)
	assert.Eventually(t, func() bool { return told.Load() == 1 }, time.Minute, time.Millisecond)
}

// Close of the device tells all owners that have not been told.
func TestOwnerIsToldByClose(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	live, told := owned(t, dev)
	freed, toldToo := owned(t, dev)
	letGo := hold(t, q)
	gputest.Fill(t, q, freed, 1)
	require.NoError(t, freed.Free())
	letGo()
	require.NoError(t, dev.Close())
	assert.EqualValues(t, 1, told.Load())
	assert.Eventually(t, func() bool { return toldToo.Load() == 1 }, time.Minute, time.Millisecond)
	require.ErrorIs(t, live.Free(), device.ErrClosed)
	assert.EqualValues(t, 1, told.Load())
}

// The buffers of a replay are in use until the replay is closed.
func TestOwnerWaitsForReplays(t *testing.T) {
	f := newFake(t)
	dev := gpu.New(&recorder{fake: f})
	defer f.empty()
	defer dev.Close()
	q := gputest.Queue(t, dev)
	b, told := owned(t, dev)
	r, err := q.Capture(func() error {
		gputest.Fill(t, q, b, 1)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, b.Free())
	require.NoError(t, r.Run())
	require.NoError(t, q.Wait())
	dev.Sweep()
	assert.Zero(t, told.Load())
	require.NoError(t, r.Close())
	dev.Sweep()
	assert.Eventually(t, func() bool { return told.Load() == 1 }, time.Minute, time.Millisecond)
}
