package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/internal/gpu"
)

// Pinned memory belongs to the host: it is available when the device is full. Where both are
// one memory, it counts.
func TestBugHostMemoryOfAFullDevice(t *testing.T) {
	each(t, func(t *testing.T, make maker) {
		for _, pinned := range []bool{true, false} {
			dev := make(func(properties *gpu.Properties) {
				properties.Pinned, properties.Info.Memory, properties.Info.MaxAlloc = pinned, 1<<20, 1<<20
			})
			b, err := dev.Alloc(1 << 20)
			require.NoError(t, err)
			h, err := dev.AllocHost(1 << 16)
			if pinned {
				require.NoError(t, err)
				require.Len(t, h, 1<<16)
				require.NoError(t, dev.FreeHost(h))
			} else {
				require.ErrorIs(t, err, device.ErrOutOfMemory)
				assert.ErrorContains(t, err, "AllocHost: 65536 bytes")
			}
			require.NoError(t, b.Free())
			require.NoError(t, dev.Close())
			assert.Zero(t, dev.Held())
		}
	})
}

// Pinned memory must be counted: otherwise a pipeline of large batches exceeds the limit.
func TestBugPinnedMemoryIsTheHosts(t *testing.T) {
	dev := open(t, newFake(t))
	process := budget.Process()
	before := process.InUse()
	h, err := dev.AllocHost(1 << 16)
	require.NoError(t, err)
	assert.EqualValues(t, before+1<<16, process.InUse())
	was, source := process.Limit()
	process.SetLimit(before+1<<17, "a test")
	_, err = dev.AllocHost(1<<16 + 1)
	process.SetLimit(was, source)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	assert.ErrorContains(t, err, "AllocHost: 65537 bytes are asked for")
	assert.Zero(t, dev.Held(), "it is no part of the device's")
	require.NoError(t, dev.FreeHost(h))
	assert.Equal(t, before, process.InUse())
	_, err = dev.AllocHost(1) // Close frees the rest
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	assert.Equal(t, before, process.InUse())
}

func TestHostMemory(t *testing.T) {
	each(t, func(t *testing.T, open maker) {
		dev := open(func(properties *gpu.Properties) { properties.Pinned = false }) // otherwise it is not counted
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
