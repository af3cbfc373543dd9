package gpu_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// recorder is a driver whose streams capture launches.
type recorder struct {
	*fake
	graphs int // graphs that are not closed
}

func (r *recorder) NewStream() (gpu.Stream, error) {
	s, err := r.fake.NewStream()
	return &recording{Stream: s, r: r}, err
}

type recording struct {
	gpu.Stream
	r  *recorder
	on bool
	g  *graph
}

type graph struct {
	s    *recording
	jobs []func() error
}

func (s *recording) BeginCapture() error {
	s.on, s.g = true, &graph{s: s}
	s.r.graphs++
	return s.r.call("BeginCapture")
}

func (s *recording) EndCapture() (gpu.Graph, error) {
	s.on = false
	return s.g, s.r.call("EndCapture")
}

func (s *recording) Launch(l *planner.Launch, args []gpu.Argument) error {
	if !s.on {
		return s.Stream.Launch(l, args)
	}
	args = slices.Clone(args)
	s.g.jobs = append(s.g.jobs, func() error { return s.Stream.Launch(l, args) })
	return nil
}

func (s *recording) Record() (gpu.Event, error) {
	assert.False(s.r.t, s.on, "an event in a capture")
	return s.Stream.Record()
}

func (s *recording) Finish() error {
	assert.False(s.r.t, s.on, "a capture is waited for")
	return s.Stream.Finish()
}

func (g *graph) Launch() (some bool, err error) {
	for i, job := range g.jobs {
		if err := job(); err != nil {
			return i > 0, err
		}
	}
	return true, nil
}

func (g *graph) Close() error {
	g.s.r.graphs--
	return nil
}

// Buffers of a capture stay until it is closed, even if memory is short.
func TestCapture(t *testing.T) {
	for _, closer := range []string{"replay", "queue", "device"} {
		t.Run(closer, func(t *testing.T) {
			r := &recorder{fake: newFake(t)}
			dev := gpu.New(r)
			q, err := dev.NewQueue()
			require.NoError(t, err)
			half := dev.Info().Memory / 2
			replay, err := q.(device.Recorder).Capture(func() error {
				for range 2 {
					b, err := dev.Alloc(half / 2)
					if err != nil {
						return err
					}
					l, err := layout.Contiguous(4)
					require.NoError(t, err)
					require.NoError(t, q.Fill(device.Operand{Buffer: b, Layout: l, Type: layout.Int8}, []byte{1}))
					require.NoError(t, b.Free())
				}
				_, err := dev.Alloc(dev.Info().MaxAlloc) // searches for memory that could be freed
				require.NoError(t, err)
				_, err = dev.Alloc(half / 2)
				require.ErrorIs(t, err, device.ErrOutOfMemory)
				return nil
			})
			require.NoError(t, err)
			assert.Zero(t, dev.Stats().Launches)
			require.NoError(t, replay.Run())
			require.NoError(t, q.Wait())
			require.NoError(t, replay.Run())
			assert.EqualValues(t, 4, dev.Stats().Launches)
			_, err = dev.Alloc(half / 2)
			require.ErrorIs(t, err, device.ErrOutOfMemory)
			switch closer {
			case "replay":
				require.NoError(t, replay.Close())
			case "queue":
				require.NoError(t, q.Close())
			case "device":
				require.NoError(t, dev.Close())
			}
			require.ErrorIs(t, replay.Run(), device.ErrClosed)
			require.ErrorIs(t, replay.Close(), device.ErrClosed)
			if closer != "device" {
				_, err = dev.Alloc(half / 2)
				require.NoError(t, err)
				require.NoError(t, dev.Close())
			}
			assert.Zero(t, r.graphs)
			r.empty()
		})
	}
}

// A capture that ends badly leaves nothing behind.
func TestCaptureFails(t *testing.T) {
	r := &recorder{fake: newFake(t)}
	dev := gpu.New(r)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	capture := q.(device.Recorder).Capture
	trouble := errors.New("trouble")
	for _, call := range []string{"BeginCapture", "EndCapture"} {
		r.fail(call, trouble)
		_, err = capture(func() error { return nil })
		require.ErrorIs(t, err, trouble)
		r.graphs--
	}
	_, err = capture(func() error { return trouble })
	require.ErrorIs(t, err, trouble)
	require.Panics(t, func() { _, _ = capture(func() error { panic("oh") }) })
	_, err = capture(nil)
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = capture(dev.Close)
	require.ErrorIs(t, err, device.ErrClosed)
	assert.Zero(t, r.graphs)
	r.empty()

	plain := gpu.New(newFake(t))
	q, err = plain.NewQueue()
	require.NoError(t, err)
	_, err = q.(device.Recorder).Capture(func() error { return nil })
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.NoError(t, plain.Close())
}

// A run of which the driver refuses a part, as it may where it has no graphs, is an error of what
// it writes until a run succeeds.
func TestReplayInPart(t *testing.T) {
	r := &recorder{fake: newFake(t)}
	dev := gpu.New(r)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	a, b, c := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	gputest.Fill(t, q, c, 0)
	replay, err := q.(device.Recorder).Capture(func() error {
		return errors.Join(q.Fill(gputest.Bytes(a, 64), []byte{1}), q.Fill(gputest.Bytes(b, 64), []byte{1}))
	})
	require.NoError(t, err)
	refused := errors.New("no more launches")
	r.then("Launch", func() error { r.fail("Launch", refused); return nil })
	require.ErrorIs(t, replay.Run(), refused)
	got := make([]byte, 64)
	require.ErrorIs(t, q.Read(got, a, 0), refused)
	require.ErrorIs(t, q.Read(got, b, 0), refused)
	require.NoError(t, q.Read(got, c, 0))
	require.NoError(t, q.Wait())
	require.NoError(t, replay.Run())
	require.NoError(t, q.Read(got, a, 0))
	require.NoError(t, q.Read(got, b, 0))
	require.NoError(t, dev.Close())
	r.empty()
}

// TestBugRefusedReplayLeavesNoStatus: an index out of range in a run of which the driver refuses
// the rest is not an error of the next run.
func TestBugRefusedReplayLeavesNoStatus(t *testing.T) {
	r := &recorder{fake: newFake(t)}
	dev := gpu.New(r)
	q := gputest.Queue(t, dev)
	a, b, c, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by := gputest.Take(b, a, at)
	replay, err := q.Capture(func() error {
		return errors.Join(q.Take(d, s, i, by), q.Fill(gputest.Bytes(c, 64), []byte{1}))
	})
	require.NoError(t, err)
	inner := q.Stream().(*recording).Stream.(*stream)
	refused := errors.New("no more launches")
	inner.noted = [2]int64{9, 8}
	r.then("Launch", func() error { r.fail("Launch", refused); return nil })
	require.ErrorIs(t, replay.Run(), refused)
	_ = q.Wait()
	inner.noted = [2]int64{}
	require.NoError(t, replay.Run())
	require.NoError(t, q.Read(make([]byte, 64), b, 0))
	require.NoError(t, dev.Close())
	r.empty()
}
