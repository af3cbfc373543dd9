package gpu_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

// A loop that never waits keeps within bounds: by bytes for large blocks, by
// number for small ones.
func TestEndlessLoopIsBounded(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		for size, times := range map[int64]int{64: 5000, 1 << 20: 300} {
			dev := open(func(t *gpu.Properties) { t.Info.Memory = 64 << 20 }) // limbo's bound is an eighth
			q, other := queueOf(t, dev), queueOf(t, dev)
			src := alloc(t, dev, size)
			fill(t, q, src, 1)
			require.NoError(t, q.Wait())
			highest := int64(0)
			for i := range times {
				x := alloc(t, dev, size)
				queue := q
				if i%3 == 0 {
					queue = other
				}
				require.NoError(t, queue.Copy(row(x, size), row(src, size)))
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

// A block that queued work uses is not handed out before that work is done, not
// even if the queue that takes it is another.
func TestBlocksWaitForTheirWork(t *testing.T) {
	dev := open(t, newFake(t))
	q, other := queueOf(t, dev), queueOf(t, dev)
	a := alloc(t, dev, 1<<20)
	letGo := hold(t, q)
	fill(t, q, a, 1)
	fill(t, other, a, 1)
	require.NoError(t, other.Wait())
	require.NoError(t, a.Free())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	b := alloc(t, dev, 1<<20)
	assert.NotSame(t, a.Mem(), b.Mem())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	letGo()
	require.NoError(t, q.Wait())
	c := alloc(t, dev, 1<<20)
	assert.Same(t, a.Mem(), c.Mem(), "it is used again as soon as it may be")
	assert.Zero(t, dev.DeferredFrees())
	require.NoError(t, b.Free())
	require.NoError(t, c.Free())
	assert.Zero(t, dev.DeferredFrees(), "what is not in use does not wait")
}

// Work that others queued counts as the queue's.
func TestBlocksWaitForOthersWork(t *testing.T) {
	dev := open(t, newFake(t))
	q := queueOf(t, dev)
	a := alloc(t, dev, 64)
	require.NoError(t, q.Used(a))
	require.NoError(t, a.Free())
	assert.EqualValues(t, 1, dev.DeferredFrees())
	require.ErrorIs(t, q.Used(a), device.ErrClosed)
	require.ErrorIs(t, q.Used(nil), device.ErrInvalid)
	require.NoError(t, q.Close())
	dev.Sweep()
	assert.Zero(t, dev.DeferredFrees())
}

// Without Wait, a probe tells that work is done.
func TestProbe(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := queueOf(t, dev)
	a := alloc(t, dev, 1<<20)
	letGo := hold(t, q)
	fill(t, q, a, 1)
	dev.Sweep()
	assert.Zero(t, f.events.Load(), "nobody wants to know")
	require.NoError(t, a.Free())
	for range 3 {
		dev.Sweep()
		assert.EqualValues(t, 1, dev.DeferredFrees())
		assert.EqualValues(t, 1, f.events.Load())
	}
	b := alloc(t, dev, 64)
	fill(t, q, b, 1) // behind the probe
	require.NoError(t, b.Free())
	letGo()
	q.Stream().(*stream).busy.Wait()
	dev.Sweep()
	assert.EqualValues(t, 1, dev.DeferredFrees(), "the first probe tells of the first block")
	assert.EqualValues(t, 1, f.events.Load(), "and a second one is under way")
	q.Stream().(*stream).busy.Wait()
	dev.Sweep()
	assert.Zero(t, dev.DeferredFrees())
	assert.Zero(t, f.events.Load())
}

func TestProbeOfDrivers(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(nil)
		a := alloc(t, dev, 1<<20)
		fill(t, queueOf(t, dev), a, 1)
		require.NoError(t, a.Free())
		for range 1_000_000 {
			dev.Sweep()
			if dev.DeferredFrees() == 0 {
				return
			}
			runtime.Gosched()
		}
		t.Error("nobody saw that the work was done")
	})
}

// Memory is bounded by what the device says it has: drivers that take it from
// the host would rather have the process killed.
func TestOutOfMemory(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		most := int64(0)
		dev := open(func(t *gpu.Properties) { t.Info.Memory, most = 8<<20, t.Info.MaxAlloc })
		q := queueOf(t, dev)
		var all []device.Buffer
		for range 8 {
			b := alloc(t, dev, 1<<20)
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
		b := alloc(t, dev, 8<<20) // waits, empties the pool, and asks again
		require.NoError(t, b.Free())

		_, err = dev.Alloc(most + 1)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
		assert.ErrorContains(t, err, fmt.Sprint(most))
		_, err = dev.Alloc(-1)
		require.ErrorIs(t, err, device.ErrInvalid)
	})
}

func TestBlocksAreWholeVectors(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		const most = 1008
		dev := open(func(t *gpu.Properties) { t.Info.MaxAlloc = most + 15 })
		for n := int64(1); n <= most; n++ {
			b := alloc(t, dev, n)
			size := b.BlockSize()
			require.GreaterOrEqual(t, size, n)
			require.Zero(t, size%16)
			require.LessOrEqual(t, size, int64(most))
			require.NoError(t, b.Free())
		}
		_, err := dev.Alloc(most + 1)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
	})
}

func TestHostMemory(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(func(properties *gpu.Properties) { properties.Pinned = false }) // else it does not count
		h, err := dev.AllocHost(100)
		require.NoError(t, err)
		require.Len(t, h, 100)
		assert.EqualValues(t, 100, dev.Held())
		h[99] = 1
		require.NoError(t, dev.FreeHost(h[:0]), "known by where it begins")
		assert.Zero(t, dev.Held())
		require.ErrorIs(t, dev.FreeHost(h), device.ErrInvalid)
		require.ErrorIs(t, dev.FreeHost(make([]byte, 3)), device.ErrInvalid)
		for bytes, kind := range map[int64]error{-1: device.ErrInvalid, 1 << 60: device.ErrOutOfMemory} {
			none, err := dev.AllocHost(bytes)
			require.ErrorIs(t, err, kind)
			assert.Nil(t, none)
		}
		for range 2 {
			none, err := dev.AllocHost(0)
			require.NoError(t, err)
			require.NotNil(t, none)
			require.NoError(t, dev.FreeHost(none))
		}
		require.NoError(t, dev.FreeHost(nil))
		left, err := dev.AllocHost(1)
		require.NoError(t, err)
		require.NoError(t, dev.Close(), "which frees what is left")
		assert.Zero(t, dev.Held())
		require.ErrorIs(t, dev.FreeHost(left), device.ErrClosed)
		_, err = dev.AllocHost(0)
		require.ErrorIs(t, err, device.ErrClosed)
	})
}

// Memory of others is not the pool's: it goes back to them, once.
func TestAdopt(t *testing.T) {
	dev := open(t, newFake(t))
	q := queueOf(t, dev)
	released := 0
	theirs := &mem{bytes: make([]byte, 64)}
	adopt := func() (b *gpu.Buffer) {
		require.NoError(t, gpu.While(dev, "Adopt", func() error {
			b = gpu.Adopt(dev, theirs, 64, func() error { released++; return nil })
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

// Device.Close may come at any time, with everybody at work.
func TestCloseWhileAtWork(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		for range 5 {
			dev := open(nil)
			var group sync.WaitGroup
			for range 16 {
				q := queueOf(t, dev)
				group.Go(func() {
					for {
						b, err := dev.Alloc(4096)
						if err == nil {
							err = q.Fill(row(b, 4096), []byte{1})
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
			assert.Zero(t, dev.DeferredFrees())
			assert.Zero(t, dev.Held())
		}
	})
}
