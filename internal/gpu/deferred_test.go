package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// A loop that never waits stays within bounds: by bytes for large blocks, by number for small
// ones.
func TestEndlessLoopIsBounded(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		for size, times := range map[int64]int{64: 5000, 1 << 20: 300} {
			dev := open(func(t *gpu.Properties) { t.Info.Memory = 64 << 20 }) // deferred frees hold at most an eighth
			q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
			src := gputest.Alloc(t, dev, size)
			gputest.Fill(t, q, src, 1)
			require.NoError(t, q.Wait())
			highest := int64(0)
			for i := range times {
				x := gputest.Alloc(t, dev, size)
				queue := q
				if i%3 == 0 {
					queue = other
				}
				require.NoError(t, queue.Copy(gputest.Bytes(x, size), gputest.Bytes(src, size)))
				require.NoError(t, x.Free())
				highest = max(highest, dev.Stats().Reserved)
			}
			most := dev.IdleCap() + 4*size
			if size < 1<<10 {
				most = (gpu.MostFreed + 4) * 64
			}
			t.Logf("held at most %d bytes; the bound is %d", highest, most)
			assert.LessOrEqual(t, highest, most)
			require.NoError(t, src.Free())
			require.NoError(t, q.Wait())
			require.NoError(t, other.Wait())
		}
	})
}

// A block that queued work uses is not handed out before that work is done, even for another
// queue.
func TestBlocksWaitForTheirWork(t *testing.T) {
	dev := open(t, newFake(t))
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 1<<20)
	letGo := hold(t, q)
	gputest.Fill(t, q, a, 1)
	gputest.Fill(t, other, a, 1)
	require.NoError(t, other.Wait())
	require.NoError(t, a.Free())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	b := gputest.Alloc(t, dev, 1<<20)
	assert.NotSame(t, a.Mem(), b.Mem())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	letGo()
	require.NoError(t, q.Wait())
	c := gputest.Alloc(t, dev, 1<<20)
	assert.Same(t, a.Mem(), c.Mem(), "it is used again as soon as it may be")
	assert.Zero(t, dev.DeferredFrees())
	require.NoError(t, b.Free())
	require.NoError(t, c.Free())
	assert.Zero(t, dev.DeferredFrees(), "what is not in use does not wait")
}

// Memory that was freed while work used it must be available to other devices after that work,
// without another Alloc of the device.
func TestShortageCollectsDeferredFrees(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 1<<20)
	letGo := hold(t, q)
	gputest.Fill(t, q, a, 1)
	require.NoError(t, a.Free())
	letGo()
	require.NoError(t, q.Wait())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	other := budget.New(0, "the test")
	require.ErrorIs(t, other.Take("much", 1), device.ErrOutOfMemory)
	assert.Zero(t, dev.DeferredFrees())
	assert.Zero(t, dev.Stats().Reserved)
}

// A queue reuses memory that only its own work still uses; another queue's Alloc, and the
// device's, do not.
func TestQueueReusesInOrder(t *testing.T) {
	dev := open(t, newFake(t))
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	a, b := gputest.Alloc(t, q, 1<<20), gputest.Alloc(t, q, 1<<20)
	letGo := hold(t, q)
	gputest.Fill(t, q, a, 1)
	gputest.Fill(t, q, b, 1)
	require.NoError(t, a.Free())
	foreign := gputest.Alloc(t, other, 1<<20)
	assert.NotSame(t, a.Mem(), foreign.Mem())
	c := gputest.Alloc(t, q, 1<<20-8) // of the same class
	assert.Same(t, a.Mem(), c.Mem())
	assert.Zero(t, dev.DeferredFrees())
	// Reused memory stays in use until all of its work is done.
	require.NoError(t, c.Free())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	d := gputest.Alloc(t, dev, 1<<20)
	assert.NotSame(t, a.Mem(), d.Mem())
	// Another queue's work on a block prevents its reuse by the first.
	letOther := hold(t, other)
	gputest.Fill(t, other, b, 2)
	require.NoError(t, b.Free())
	e := gputest.Alloc(t, q, 1<<20)
	assert.Same(t, a.Mem(), e.Mem())
	f := gputest.Alloc(t, q, 1<<20)
	assert.NotSame(t, b.Mem(), f.Mem())
	letGo()
	letOther()
	for _, x := range []*gpu.Buffer{foreign, d, e, f} {
		require.NoError(t, x.Free())
	}
	_, err := q.Alloc(-1)
	require.ErrorIs(t, err, device.ErrInvalid)
}
