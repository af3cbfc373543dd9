package opencl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
)

func streamOf(q device.Queue) *stream { return q.(*gpu.Queue).Stream().(*stream) }

// A mark is good for all calls when its stream and its driver are closed, whether
// somebody looked at it before or not.
func TestMarksOutliveAll(t *testing.T) {
	for _, before := range []func(gpu.Event){
		func(gpu.Event) {},
		func(m gpu.Event) { assert.NoError(t, m.Wait()) },
		func(m gpu.Event) {
			for !m.Done() {
			}
		},
	} {
		dev := openTest(t, Options{})
		m, err := streamOf(queueOf(t, dev)).Record()
		require.NoError(t, err)
		before(m)
		require.NoError(t, dev.Close())
		assert.True(t, m.Done())
		require.NoError(t, m.Wait())
		if dev.driver.proc.profiling {
			d, err := m.Since(m)
			require.NoError(t, err)
			assert.Zero(t, d)
		}
		m.Release()
	}
}

// A queue that was adopted may keep time although the device's clock stands still.
func TestBugTimeOfNoClock(t *testing.T) {
	dev := openTest(t, Options{})
	q := queueOf(t, dev)
	dev.driver.proc.profiling = false
	e, err := q.Record()
	require.NoError(t, err)
	require.NoError(t, e.Wait())
	_, err = e.(device.TimedEvent).Since(e)
	require.ErrorIs(t, err, device.ErrUnsupported)
}
