package opencl

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
)

// TestBugFinishBesideWaits: rusticl's clFinish waits only for work that was not flushed, and
// another thread's wait for one of the queue's events flushes: a read must not return before
// its data has arrived.
func TestBugFinishBesideWaits(t *testing.T) {
	dev := openTest(t, Options{})
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	b := gputest.Alloc(t, dev, 64)
	events := make(chan device.Event, 64)
	var waits sync.WaitGroup
	waits.Go(func() {
		for e := range events {
			_ = other.WaitFor(e)
			_ = e.Wait()
		}
	})
	for i := range 500 {
		want := bytes.Repeat([]byte{byte(i + 1)}, 64)
		require.NoError(t, q.Write(b, 0, want))
		e, err := q.Record()
		require.NoError(t, err)
		select {
		case events <- e:
		default:
		}
		got := make([]byte, 64)
		require.NoError(t, q.Read(got, b, 0))
		require.Equal(t, want, got, "read %d", i)
	}
	close(events)
	waits.Wait()
	require.NoError(t, other.Wait())
}
