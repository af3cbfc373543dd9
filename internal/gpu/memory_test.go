package gpu_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// Memory is bounded by the device's reported size: drivers that allocate host memory would
// rather have the process killed than refuse.
func TestOutOfMemory(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		most := int64(0)
		dev := open(func(t *gpu.Properties) { t.Info.Memory, most = 8<<20, t.Info.MaxAlloc })
		q := gputest.Queue(t, dev)
		var all []device.Buffer
		for range 8 {
			b := gputest.Alloc(t, dev, 1<<20)
			gputest.Fill(t, q, b, 1)
			all = append(all, b)
		}
		_, err := dev.Alloc(1 << 20)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
		assert.ErrorContains(t, err, "1048576 bytes")
		assert.ErrorContains(t, err, "8388608")
		for _, b := range all {
			require.NoError(t, b.Free()) // their work may be in progress
		}
		b := gputest.Alloc(t, dev, 8<<20) // waits, empties the pool, and retries
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
			b := gputest.Alloc(t, dev, n)
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
