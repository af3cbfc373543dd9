package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
)

// The driver keeps the time of events: it is lost when the device is closed.
func TestSinceOfClosedDevice(t *testing.T) {
	dev := openTest(t)
	e, err := gputest.Queue(t, dev).Record()
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	require.NoError(t, e.Wait())
	_, err = e.(device.TimedEvent).Since(e)
	require.ErrorIs(t, err, device.ErrClosed)
}

// A few events of the driver serve many of this package.
func TestEventsAreReused(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	s, err := dev.driver.NewStream()
	require.NoError(t, err)
	before := k.Count("cuEventCreate")
	for range 100 {
		e, err := s.Record()
		require.NoError(t, err)
		require.NoError(t, e.Wait())
		e.Release()
	}
	assert.LessOrEqual(t, k.Count("cuEventCreate")-before, 1)
	require.NoError(t, s.Close())
}
