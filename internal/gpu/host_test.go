package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

// Pinned memory is the host's: it is to be had when the device is full. Where
// both are one memory, it counts.
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
