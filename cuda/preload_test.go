package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/layout"
)

// Preloaded kernels are not loaded again; failures are reported, and can be retried later.
func TestPreload(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	var _ device.Preloader = dev
	k.turn(t, "FAIL", "cuModuleLoadDataEx=218:after=20")
	err := dev.Preload(layout.Float32)
	require.ErrorIs(t, err, device.ErrDriver)
	assert.ErrorContains(t, err, "kernel ")
	k.turn(t, "FAIL", "")
	require.NoError(t, dev.Preload(layout.Float32))
	loads := k.Count("cuModuleLoadDataEx")
	require.NoError(t, dev.Preload(layout.Float32))
	q, b := gputest.Queue(t, dev), gputest.Alloc(t, dev, 1<<12)
	require.NoError(t, fillOne(dev, q, b))
	require.NoError(t, q.Copy(gputest.Words(b, 0, 64), gputest.Words(b, 512, 64)))
	require.NoError(t, q.Wait())
	assert.Equal(t, loads, k.Count("cuModuleLoadDataEx"))
}
