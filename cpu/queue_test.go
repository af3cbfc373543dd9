package cpu

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
)

// eventually is how long something may take that does not wait.
const eventually = 30 * time.Second

func newTestQueue(t *testing.T) (*processor, *queue) {
	dev, err := Open()
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() { // else it may wait for what the test left at work
			_ = dev.Close()
		}
	})
	q, err := dev.NewQueue()
	require.NoError(t, err)
	return dev.(*processor), q.(*queue)
}

// soon waits for something that must not wait for a call at work.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(eventually):
		t.Fatal(what, " waits")
	}
}

// Stats, and who needs the same lock, waited for a long call of another goroutine.
func TestStatsMeanwhile(t *testing.T) {
	dev, q := newTestQueue(t)
	b, err := dev.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, q.Write(b, 0, make([]byte, 64)))

	require.NoError(t, q.begin("Test"))
	m, err := q.use("Test", "the buffer", b)
	require.NoError(t, err)
	require.NoError(t, q.hold("Test", m))
	var s device.Stats
	soon(t, "Stats", func() { s = dev.Stats() })
	require.EqualValues(t, 64, s.HostToDevice, "what was done before the call")
	q.launched(1000)
	soon(t, "NewQueue", func() {
		dev.Stats()
		other, err := dev.NewQueue()
		if assert.NoError(t, err) {
			assert.NoError(t, other.Close())
		}
	})
	soon(t, "Stats", func() { s = dev.Stats() })
	require.Zero(t, s.Launches, "it is not done")
	q.releaseMemory(m)
	q.end()
	s = dev.Stats()
	require.EqualValues(t, []int64{1, 1000, 64}, []int64{s.Launches, s.DeviceToDevice, s.HostToDevice})
}

// Free waited until it had seen a queue between two calls: for ever, if there is
// always one at work when it looks.
func TestFreeBetweenCalls(t *testing.T) {
	dev, q := newTestQueue(t)
	b, err := dev.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, q.begin("Test"))
	freed := make(chan error)
	go func() { freed <- b.Free() }()
	for q.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-freed:
		t.Fatalf("Free does not wait for a call at work: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	require.EqualValues(t, 1, dev.counters.Stats(0).Buffers)
	// The call ends, and Free sees the lock held all the time.
	q.answer()
	soon(t, "Free", func() { assert.NoError(t, <-freed) })
	require.Zero(t, dev.counters.Stats(0).Buffers)
	q.end()

	// Calls end so.
	require.NoError(t, q.begin("Test"))
	ticket := q.asked.Add(1)
	require.Less(t, q.answered.Load(), ticket)
	q.end()
	require.Equal(t, ticket, q.answered.Load())
}
