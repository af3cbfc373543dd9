package gpu_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// An event is done when its point is reached, however the queue learns it, and makes another
// queue wait until then.
func TestEvents(t *testing.T) {
	dev := open(t, newFake(t))
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	b := gputest.Alloc(t, dev, 64)
	letGo := hold(t, q)
	gputest.Fill(t, q, b, 1)
	e, err := q.Record()
	require.NoError(t, err)
	_, err = e.(device.TimedEvent).Since(e)
	require.ErrorIs(t, err, device.ErrInvalid, "it is not done")
	require.NoError(t, q.WaitFor(e), "which it does anyway")
	require.NoError(t, other.WaitFor(e))
	after, err := other.Record()
	require.NoError(t, err)
	time.Sleep(5 * time.Millisecond)
	assert.False(t, e.Done())
	assert.False(t, after.Done())
	letGo()
	require.NoError(t, after.Wait())
	assert.True(t, e.Done())
	require.NoError(t, e.Wait())
	require.NoError(t, q.Close())
	assert.True(t, e.Done())
	require.NoError(t, e.Wait())
	require.NoError(t, other.WaitFor(e))
}

// A nil event of this package counts as none.
func TestNilEvent(t *testing.T) {
	q := gputest.Queue(t, open(t, newFake(t)))
	e, err := q.Record()
	require.NoError(t, err)
	_, err = e.(device.TimedEvent).Since((*gpu.QueueEvent)(nil))
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorIs(t, q.WaitFor((*gpu.QueueEvent)(nil)), device.ErrInvalid)
}

// An event waits for work that others queued on the stream, too.
func TestBugEventsOfOthersWork(t *testing.T) {
	dev := open(t, newFake(t))
	q := gputest.Queue(t, dev)
	letGo := hold(t, q)
	require.NoError(t, q.Stream().(*stream).queue("theirs", job{}))
	e, err := q.Record()
	require.NoError(t, err)
	assert.False(t, e.Done())
	letGo()
	require.NoError(t, e.Wait())
	assert.True(t, e.Done())
}

// Events that nobody waits for are released when unreachable.
func TestEventsAreReleased(t *testing.T) {
	f := newFake(t)
	q := gputest.Queue(t, open(t, f))
	kept, err := q.Record()
	require.NoError(t, err)
	for range 100 {
		_, err := q.Record()
		require.NoError(t, err)
	}
	for range 100 {
		runtime.GC()
		if f.events.Load() == 1 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	assert.EqualValues(t, 1, f.events.Load())
	require.NoError(t, kept.Wait())
}
