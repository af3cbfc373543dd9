package gpu_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// Writes of all sizes, with and without staging, whose source changes immediately.
func TestWrites(t *testing.T) {
	const direct = 256 << 10
	each(t, func(t *testing.T, open maker) {
		for name, change := range map[string]func(*gpu.Properties){
			"direct":     func(t *gpu.Properties) { t.Direct, t.Pinned = direct, false },
			"staged":     func(t *gpu.Properties) { t.Direct, t.Pinned = 0, true },
			"not pinned": func(t *gpu.Properties) { t.Direct, t.Pinned = 0, false },
		} {
			dev := open(change)
			q := gputest.Queue(t, dev)
			const size = 9 << 20
			b := gputest.Alloc(t, dev, size)
			model := gputest.Random(size, 1)
			host := make([]byte, size)
			write := func(off, n int) {
				copy(model[off:off+n], gputest.Random(n, uint64(off+n)))
				copy(host, model[off:off+n])
				require.NoError(t, q.Write(b, int64(off), host[:n]))
				clear(host[:n])
			}
			copy(host, model)
			require.NoError(t, q.Write(b, 0, host))
			clear(host)
			rng := rand.New(rand.NewPCG(7, 7))
			const slot = gpu.SlotSize
			for _, n := range []int{1, 63, 64, 65, direct - 1, direct, slot - 1, slot, slot + 1, 4 * slot, 5*slot + 3} {
				write(rng.IntN(size-n), n)
			}
			for range 3000 {
				n := 1 + rng.IntN(3000)
				write(rng.IntN(size-n), n)
			}
			got := make([]byte, size)
			require.NoError(t, q.Read(got, b, 0))
			require.True(t, bytes.Equal(got, model), name)
			require.NoError(t, dev.Close())
			assert.Zero(t, dev.Held(), "staging memory is given back")
		}
	})
}

// Staging memory is reused when the device has read it, and not earlier.
func TestStagingWaits(t *testing.T) {
	const slot = gpu.SlotSize
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	b := gputest.Alloc(t, dev, 8*slot)
	model := gputest.Random(8*slot, 1)
	letGo := hold(t, q)
	require.NoError(t, q.Write(b, 0, model[:4*slot]), "there is room for as much")
	assert.Equal(t, 4, f.hostBlocks(), "four slots")
	assert.EqualValues(t, 4, f.events.Load())
	done := make(chan error)
	go func() { done <- q.Write(b, 4*slot, model[4*slot:]) }()
	select {
	case <-done:
		t.Error("there is no room for more")
	case <-time.After(20 * time.Millisecond):
	}
	letGo()
	require.NoError(t, <-done)
	assert.Positive(t, dev.Stats().Waits, "Write has waited")
	got := make([]byte, 8*slot)
	require.NoError(t, q.Read(got, b, 0))
	assert.True(t, bytes.Equal(model, got))
	require.NoError(t, q.Close())
	assert.Zero(t, f.hostBlocks())
	assert.Zero(t, f.events.Load())
}

// Without pinned memory, staging uses Go's.
func TestStagingWithoutPinnedMemory(t *testing.T) {
	f := newFake(t)
	f.fail("AllocHost", device.ErrOutOfMemory)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	b := gputest.Alloc(t, dev, 3)
	require.NoError(t, q.Write(b, 0, []byte{1, 2, 3}))
	got := make([]byte, 3)
	require.NoError(t, q.Read(got, b, 0))
	assert.Equal(t, []byte{1, 2, 3}, got)
	assert.Equal(t, b.BlockSize(), dev.Held())
}
