package opencl

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

func fill(t testing.TB, q *Queue, b device.Buffer, value byte) {
	t.Helper()
	require.NoError(t, q.Fill(device.Operand{Buffer: b, Layout: row(b.Size()), Type: layout.Uint8}, []byte{value}))
}

// A loop that never waits keeps within bounds: by bytes for large blocks, by
// number for small ones.
func TestEndlessLoopIsBounded(t *testing.T) {
	for _, size := range []int64{64, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			dev := openTest(t, Options{})
			dev.proc.info.Memory = 64 << 20 // limbo's bound is an eighth
			q, other := queueOf(t, dev), queueOf(t, dev)
			src, err := dev.Alloc(size)
			require.NoError(t, err)
			fill(t, q, src, 1)
			require.NoError(t, q.Wait())
			highest := int64(0)
			for i := range 5000 {
				x, err := dev.Alloc(size)
				require.NoError(t, err)
				queue := q
				if i%3 == 0 {
					queue = other
				}
				require.NoError(t, queue.Copy(
					device.Operand{Buffer: x, Layout: row(size), Type: layout.Uint8},
					device.Operand{Buffer: src, Layout: row(size), Type: layout.Uint8}))
				require.NoError(t, x.Free())
				highest = max(highest, dev.Stats().Reserved)
				if size > 1<<10 && i == 300 {
					break
				}
			}
			most := dev.idleCap() + 4*size
			if size < 1<<10 {
				most = (mostFreed + 4) * 64
			}
			t.Logf("held at most %d bytes; the bound is %d", highest, most)
			assert.LessOrEqual(t, highest, most)
			require.NoError(t, src.Free())
			require.NoError(t, q.Wait())
			require.NoError(t, other.Wait())
		})
	}
}

// A block that queued work reads is not handed out before that work is done,
// not even if the queue that takes it is another.
func TestBlocksWaitForTheirWork(t *testing.T) {
	dev := openTest(t, Options{})
	q, other := queueOf(t, dev), queueOf(t, dev)
	a, err := dev.Alloc(1 << 20)
	require.NoError(t, err)
	mem := a.(*Buffer).Handle()
	fill(t, q, a, 1)
	fill(t, other, a, 1)
	require.NoError(t, other.Wait())
	// q is not known to be done, whatever it is.
	require.NoError(t, a.Free())
	assert.EqualValues(t, 1, dev.limbo.number.Load())
	require.NoError(t, q.Wait())
	b, err := dev.Alloc(1 << 20)
	require.NoError(t, err)
	assert.Equal(t, mem, b.(*Buffer).Handle(), "it is used again as soon as it may be")
	assert.Zero(t, dev.limbo.number.Load())
	require.NoError(t, b.Free())
	assert.Zero(t, dev.limbo.number.Load(), "what is not in use does not wait")
}

// Without Wait, a probe tells.
func TestProbe(t *testing.T) {
	dev := openTest(t, Options{})
	q := queueOf(t, dev)
	a, err := dev.Alloc(1 << 20)
	require.NoError(t, err)
	fill(t, q, a, 1)
	require.NoError(t, a.Free())
	for range 1_000_000 {
		dev.limbo.sweep(dev)
		if dev.limbo.number.Load() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("nobody saw that the work was done")
}

// Memory is bounded by what the device says it has: drivers that take it from
// the host would rather have the process killed.
func TestOutOfMemory(t *testing.T) {
	dev := openTest(t, Options{})
	dev.proc.info.Memory = 8 << 20
	q := queueOf(t, dev)
	var all []device.Buffer
	for range 8 {
		b, err := dev.Alloc(1 << 20)
		require.NoError(t, err)
		fill(t, q, b, 1)
		all = append(all, b)
	}
	_, err := dev.Alloc(1 << 20)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	assert.ErrorContains(t, err, "1048576 bytes")
	assert.ErrorContains(t, err, "8388608")
	for _, b := range all {
		require.NoError(t, b.Free()) // their work may be going on
	}
	b, err := dev.Alloc(8 << 20) // waits, empties the pool, and asks again
	require.NoError(t, err)
	require.NoError(t, b.Free())

	_, err = dev.Alloc(dev.proc.info.MaxAlloc + 1)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	assert.ErrorContains(t, err, fmt.Sprint(dev.proc.info.MaxAlloc))
}

func TestBlocksAreWholeVectors(t *testing.T) {
	dev := openTest(t, Options{})
	dev.proc.info.MaxAlloc = 1008
	for n := int64(1); n <= 1008; n++ {
		b, err := dev.Alloc(n)
		require.NoError(t, err)
		size := b.(*Buffer).block.size
		require.GreaterOrEqual(t, size, n)
		require.Zero(t, size%blockAlign)
		require.LessOrEqual(t, size, dev.proc.info.MaxAlloc)
		require.NoError(t, b.Free())
	}
}

// Device.Close may come at any time, with everybody at work.
func TestCloseWhileAtWork(t *testing.T) {
	for range 5 {
		dev := openTest(t, Options{})
		var group sync.WaitGroup
		for range 16 {
			q := queueOf(t, dev)
			group.Go(func() {
				for {
					b, err := dev.Alloc(4096)
					if err == nil {
						err = q.Fill(device.Operand{Buffer: b, Layout: row(4096), Type: layout.Uint8}, []byte{1})
					}
					if err == nil {
						err = b.Free()
					}
					if err != nil {
						assert.ErrorIs(t, err, device.ErrClosed)
						_ = q.Close()
						return
					}
					if rand.IntN(100) == 0 {
						assert.NotErrorIs(t, q.Close(), device.ErrDriver)
						return
					}
				}
			})
		}
		for dev.Stats().Launches < 50 {
			runtime.Gosched()
		}
		require.NoError(t, dev.Close())
		group.Wait()
		assert.Zero(t, dev.Stats().Reserved)
		assert.Zero(t, dev.limbo.number.Load())
		assert.Zero(t, dev.held)
	}
}
