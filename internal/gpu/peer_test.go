package gpu_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/internal/planner"
)

// Streams of two fakes reach each other.

func (s *stream) Reaches(from gpu.Stream) bool {
	other, ok := from.(*stream)
	return ok && other.f != s.f
}

func (s *stream) CopyPeer(dst gpu.Mem, dstOff int64, _ gpu.Stream, src gpu.Mem, srcOff, bytes int64) error {
	to, from := dst.(*mem), src.(*mem)
	return s.queue("CopyPeer", job{to: to.bytes[dstOff:][:bytes], from: from.bytes[srcOff:][:bytes], mems: [planner.MaxArguments]*mem{to, from}})
}

// pair is two devices with a queue and 64 bytes each.
type pair struct {
	fakes  [2]*fake
	devs   [2]*gpu.Device
	queues [2]*gpu.Queue
	bufs   [2]*gpu.Buffer
}

func newPair(t testing.TB) *pair {
	p := new(pair)
	for i := range 2 {
		p.fakes[i] = newFake(t)
		p.devs[i] = open(t, p.fakes[i])
		p.queues[i] = gputest.Queue(t, p.devs[i])
		p.bufs[i] = gputest.Alloc(t, p.devs[i], 64)
	}
	return p
}

// copyOver copies everything from the first device to the second.
func (p *pair) copyOver() error {
	return p.queues[1].CopyPeer(p.bufs[1], 0, p.bufs[0], 0, 64, p.queues[0])
}

// A copy follows all earlier work of both queues, and precedes their later work.
func TestPeerOrder(t *testing.T) {
	p := newPair(t)
	first, second := gputest.Random(64, 1), gputest.Random(64, 2)
	for late := range 2 { // either queue is behind
		letGo := hold(t, p.queues[late])
		require.NoError(t, p.queues[1].Write(p.bufs[1], 0, second))
		require.NoError(t, p.queues[0].Write(p.bufs[0], 0, first))
		require.NoError(t, p.copyOver())
		require.NoError(t, p.queues[0].Write(p.bufs[0], 0, second))
		done, err := p.queues[0].Record()
		require.NoError(t, err)
		time.Sleep(5 * time.Millisecond)
		assert.False(t, done.Done(), "the source may be written before the copy has read it")
		letGo()
		assert.Equal(t, first, gputest.Read(t, p.queues[1], p.bufs[1]))
		assert.Equal(t, second, gputest.Read(t, p.queues[0], p.bufs[0]))
	}
	assert.EqualValues(t, 128, p.devs[1].Stats().PeerToDevice)
	assert.EqualValues(t, 2, p.devs[1].Stats().PeerCopies)
	assert.Zero(t, p.devs[0].Stats().PeerCopies)
	assert.Zero(t, p.devs[1].Stats().Launches)
	for i := range 2 {
		before := p.fakes[i].events.Load()
		require.NoError(t, p.copyOver())
		assert.Equal(t, before, p.fakes[i].events.Load(), "an event is not released")
	}
}

// The source may be freed at once: its memory is neither reused nor released before the copy is
// done.
func TestPeerFree(t *testing.T) {
	p := newPair(t)
	want := gputest.Random(64, 3)
	require.NoError(t, p.queues[0].Write(p.bufs[0], 0, want))
	letGo := hold(t, p.queues[1])
	require.NoError(t, p.copyOver())
	require.NoError(t, p.bufs[0].Free())
	for range 3 { // with its own queue idle except for the copy
		p.devs[0].Sweep()
		time.Sleep(time.Millisecond)
	}
	assert.EqualValues(t, 1, p.devs[0].DeferredFrees())
	fresh := gputest.Alloc(t, p.devs[0], 64)
	gputest.Fill(t, p.queues[0], fresh, 7)
	letGo()
	assert.Equal(t, want, gputest.Read(t, p.queues[1], p.bufs[1]))
	require.NoError(t, p.queues[0].Wait())
	p.devs[0].Sweep()
	assert.Zero(t, p.devs[0].DeferredFrees())
}

// Either device may be closed with a copy in flight, and waits for it.
func TestPeerClose(t *testing.T) {
	for i, side := range []string{"Source", "Destination"} {
		t.Run(side, func(t *testing.T) {
			p := newPair(t)
			want := gputest.Random(64, 4)
			require.NoError(t, p.queues[0].Write(p.bufs[0], 0, want))
			letGo := hold(t, p.queues[1])
			require.NoError(t, p.copyOver())
			closed := make(chan error)
			go func() { closed <- p.devs[i].Close() }()
			select {
			case err := <-closed:
				t.Fatal("Close did not wait for the copy: ", err)
			case <-time.After(5 * time.Millisecond):
			}
			letGo()
			require.NoError(t, <-closed)
			if i == 0 {
				assert.Equal(t, want, gputest.Read(t, p.queues[1], p.bufs[1]))
			}
			require.ErrorIs(t, p.copyOver(), device.ErrClosed)
			require.NoError(t, p.queues[1-i].Wait())
		})
	}
}

// A call that breaks a rule is refused, and queues nothing.
func TestPeerRules(t *testing.T) {
	p := newPair(t)
	q, from := p.queues[1], p.queues[0]
	same, err := p.devs[1].NewQueue()
	require.NoError(t, err)
	gone := gputest.Alloc(t, p.devs[0], 64)
	require.NoError(t, gone.Free())
	for name, c := range map[string]struct {
		err  error
		kind error
	}{
		"SameDevice":     {q.CopyPeer(p.bufs[1], 0, p.bufs[1], 0, 4, same), device.ErrUnsupported},
		"NoQueue":        {q.CopyPeer(p.bufs[1], 0, p.bufs[0], 0, 4, nil), device.ErrUnsupported},
		"NilQueue":       {q.CopyPeer(p.bufs[1], 0, p.bufs[0], 0, 4, (*gpu.Queue)(nil)), device.ErrUnsupported},
		"DstPastEnd":     {q.CopyPeer(p.bufs[1], 61, p.bufs[0], 0, 4, from), device.ErrInvalid},
		"SrcPastEnd":     {q.CopyPeer(p.bufs[1], 0, p.bufs[0], 61, 4, from), device.ErrInvalid},
		"Negative":       {q.CopyPeer(p.bufs[1], 0, p.bufs[0], 0, -1, from), device.ErrInvalid},
		"BeforeSrc":      {q.CopyPeer(p.bufs[1], 0, p.bufs[0], -1, 1, from), device.ErrInvalid},
		"NilSrc":         {q.CopyPeer(p.bufs[1], 0, nil, 0, 4, from), device.ErrInvalid},
		"NilDst":         {q.CopyPeer(nil, 0, p.bufs[0], 0, 4, from), device.ErrInvalid},
		"SrcOfOther":     {q.CopyPeer(p.bufs[1], 0, p.bufs[1], 0, 4, from), device.ErrInvalid},
		"DstOfOther":     {q.CopyPeer(p.bufs[0], 0, p.bufs[0], 0, 4, from), device.ErrInvalid},
		"Freed":          {q.CopyPeer(p.bufs[1], 0, gone, 0, 4, from), device.ErrClosed},
		"FreedAndNoByte": {q.CopyPeer(p.bufs[1], 0, gone, 0, 0, from), device.ErrClosed},
	} {
		require.ErrorIs(t, c.err, c.kind, name)
		require.ErrorContains(t, c.err, "CopyPeer", name)
	}
	assert.Zero(t, p.devs[1].Stats().PeerCopies)

	// A copy of no bytes queues no work, but is counted.
	p.fakes[0].fail("Record", errors.New("nothing is to be queued"))
	empty := gputest.Alloc(t, p.devs[0], 0)
	require.NoError(t, q.CopyPeer(p.bufs[1], 64, empty, 0, 0, from))
	assert.EqualValues(t, 1, p.devs[1].Stats().PeerCopies)
}

// A failed call of the driver does not leave an unrecorded copy behind.
func TestPeerFailures(t *testing.T) {
	for name, fail := range map[string]struct {
		side   int
		copied bool
	}{"Record": {0, false}, "WaitFor": {1, false}, "CopyPeer": {1, false}, "Record ": {1, true}, "WaitFor ": {0, true}} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			want, bad := gputest.Random(64, 5), errors.New("the driver says no")
			require.NoError(t, p.queues[0].Write(p.bufs[0], 0, want))
			require.NoError(t, p.queues[1].Write(p.bufs[1], 0, make([]byte, 64)))
			call := map[string]string{"Record ": "Record", "WaitFor ": "WaitFor"}[name]
			if call == "" {
				call = name
			}
			p.fakes[fail.side].fail(call, bad)
			require.ErrorIs(t, p.copyOver(), bad)
			require.NoError(t, p.bufs[0].Free()) // the fake would detect a copy in flight
			p.devs[0].Sweep()
			got := gputest.Read(t, p.queues[1], p.bufs[1])
			if !fail.copied {
				want = make([]byte, 64)
			}
			assert.Equal(t, want, got)
			assert.Zero(t, p.devs[1].Stats().PeerCopies)
		})
	}
	p := newPair(t)
	p.fakes[1].fail("CopyPeer", device.ErrOutOfMemory) // once: room is made
	require.NoError(t, p.copyOver())
	p.fakes[1].fail("CopyPeer", device.ErrOutOfMemory)
	p.fakes[1].fail("CopyPeer", device.ErrOutOfMemory)
	require.ErrorIs(t, p.copyOver(), device.ErrOutOfMemory)
	require.NoError(t, p.queues[1].Wait())
}

// Concurrent copies in both directions, with other calls: no deadlock.
func TestPeerBothWays(t *testing.T) {
	p := newPair(t)
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() {
			for range 200 {
				assert.NoError(t, p.queues[i].CopyPeer(p.bufs[i], 0, p.bufs[1-i], 32, 32, p.queues[1-i]))
			}
		})
		group.Go(func() {
			for range 50 {
				b, err := p.devs[i].Alloc(64)
				assert.NoError(t, err)
				assert.NoError(t, p.queues[1-i].CopyPeer(p.bufs[1-i], 32, b, 0, 32, p.queues[i]))
				assert.NoError(t, b.Free())
				assert.NoError(t, p.queues[i].Wait())
			}
		})
	}
	group.Wait()
}
