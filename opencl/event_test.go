package opencl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// An event supports all calls after its stream and its driver are closed, whether it was
// queried before or not.
func TestEventsOutliveAll(t *testing.T) {
	for _, before := range []func(gpu.Event){
		func(gpu.Event) {},
		func(e gpu.Event) { assert.NoError(t, e.Wait()) },
		func(e gpu.Event) {
			for !e.Done() {
			}
		},
	} {
		dev := openTest(t, Options{})
		e, err := gputest.Queue(t, dev).Stream().Record()
		require.NoError(t, err)
		before(e)
		require.NoError(t, dev.Close())
		assert.True(t, e.Done())
		require.NoError(t, e.Wait())
		if dev.driver.properties.hasClock {
			d, err := e.Since(e)
			require.NoError(t, err)
			assert.Zero(t, d)
		}
		e.Release()
	}
}

// An adopted queue may measure time although the device's clock stands still.
func TestBugTimeOfNoClock(t *testing.T) {
	dev := openTest(t, Options{})
	q := gputest.Queue(t, dev)
	dev.driver.properties.hasClock = false
	e, err := q.Record()
	require.NoError(t, err)
	require.NoError(t, e.Wait())
	_, err = e.(device.TimedEvent).Since(e)
	require.ErrorIs(t, err, device.ErrUnsupported)
}
