package gpu_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

// note writes a status, as a kernel does.
func note(status []byte, index, extent int64) {
	if binary.LittleEndian.Uint32(status) != 0 {
		return
	}
	binary.LittleEndian.PutUint32(status, 1)
	binary.LittleEndian.PutUint64(status[4:], uint64(index))
	binary.LittleEndian.PutUint64(status[12:], uint64(extent))
}

// TestTakeStatus: a status is read when the queue waits, if there were takes, is returned once,
// and is then cleared.
func TestTakeStatus(t *testing.T) {
	f := newFake(t)
	downloads := 0
	counted := func() { // for all calls from here on
		downloads = 0
		for range 20 {
			f.then("Download", func() error { downloads++; return nil })
		}
	}
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a, b, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by := gputest.Take(b, a, at)
	counted()
	require.NoError(t, q.Copy(gputest.Bytes(b, 8), gputest.Bytes(a, 8)))
	require.NoError(t, q.Wait())
	require.Zero(t, downloads, "there were no takes")
	for range 3 {
		require.NoError(t, q.Take(d, s, i, by))
	}
	require.NoError(t, q.Wait())
	require.Equal(t, 1, downloads)
	require.NoError(t, q.Wait())
	require.Equal(t, 1, downloads, "there were no takes since")

	fake := q.Stream().(*stream)
	for _, tell := range []func() error{
		q.Wait,
		func() error { return q.Read(make([]byte, 1), b, 0) },
	} {
		fake.noted = [2]int64{-9, 8}
		require.NoError(t, q.Take(d, s, i, by))
		err := tell()
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "Take: index -9 is outside [-8,7] of extent 8")
		require.NoError(t, q.Wait(), "it was told")
		require.NoError(t, q.Take(d, s, i, by))
		require.NoError(t, q.Wait())
	}

	// Close of a queue returns errors, too.
	fake.noted = [2]int64{1 << 40, 8}
	require.NoError(t, q.Take(d, s, i, by))
	require.ErrorContains(t, q.Close(), "index 1099511627776 is outside")
}

// TestTakeFails: without memory for the status a take fails; a later one succeeds. An error of
// the driver precedes an index error.
func TestTakeFails(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a, b, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by := gputest.Take(b, a, at)
	f.fail("Alloc", device.ErrOutOfMemory)
	f.fail("Alloc", device.ErrOutOfMemory) // also when room is made
	require.ErrorIs(t, q.Take(d, s, i, by), device.ErrOutOfMemory)
	f.fail("Upload", errors.New("as the test wants it"))
	require.ErrorContains(t, q.Take(d, s, i, by), "as the test wants it")
	require.NoError(t, q.Wait())
	require.NoError(t, q.Take(d, s, i, by))
	f.fail("Download", errors.New("no way back"))
	require.ErrorContains(t, q.Wait(), "no way back")
	require.NoError(t, q.Wait())
	require.EqualValues(t, 1, dev.Stats().Launches)

	// The buffers of a take are kept until it is done.
	letGo := hold(t, q)
	require.NoError(t, q.Take(d, s, i, by))
	require.NoError(t, errors.Join(a.Free(), b.Free(), at.Free()))
	other, err := dev.NewQueue()
	require.NoError(t, err)
	for range 4 {
		c := gputest.Alloc(t, dev, 64)
		require.NoError(t, other.Write(c, 0, make([]byte, 64)))
	}
	require.NoError(t, other.Wait())
	letGo()
	require.NoError(t, q.Wait())
	require.ErrorIs(t, q.Take(d, s, i, by), device.ErrClosed)
}

// TestTakeCaptured: a replay's takes are checked like the queue's.
func TestTakeCaptured(t *testing.T) {
	r := &recorder{fake: newFake(t)}
	dev := gpu.New(r)
	q, err := dev.NewQueue()
	require.NoError(t, err)
	a, b, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by := gputest.Take(b, a, at)
	replay, err := q.(device.Recorder).Capture(func() error { return q.Take(d, s, i, by) })
	require.NoError(t, err)
	fake := q.(*gpu.Queue).Stream().(*recording).Stream.(*stream)
	require.NoError(t, q.Wait())
	for range 200 { // more than the bound on unknown outcomes
		fake.noted = [2]int64{8, 8}
		require.NoError(t, replay.Run())
		require.NoError(t, replay.Run(), "of which the second is right")
		require.NoError(t, q.Read(make([]byte, 8), b, 0))
		assert.ErrorContains(t, q.Wait(), "index 8 is outside [-8,7]")
		require.NoError(t, q.Wait())
		require.NoError(t, replay.Run())
		fake.noted = [2]int64{8, 8}
		require.NoError(t, replay.Run())
		require.ErrorContains(t, q.Read(make([]byte, 8), b, 0), "index 8 is outside [-8,7]")
	}
	for range 100 {
		require.NoError(t, replay.Run())
	}
	fake.noted = [2]int64{8, 8}
	require.NoError(t, replay.Run())
	require.NoError(t, replay.Run())
	require.NoError(t, q.Read(make([]byte, 8), b, 0))
	require.ErrorContains(t, q.Wait(), "index 8 is outside [-8,7]")
	require.NoError(t, replay.Close())
	require.NoError(t, dev.Close())
	r.empty()
}

// A wait that fails neither loses recorded indices, nor lets them be attributed to a later
// take.
func TestBugWaitThatFailsForgetsWrongIndex(t *testing.T) {
	for _, call := range []string{"Download", "Finish"} {
		t.Run(call, func(t *testing.T) {
			f := newFake(t)
			dev := open(t, f)
			q := gputest.Queue(t, dev)
			a, b, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
			d, s, i, by := gputest.Take(b, a, at)
			q.Stream().(*stream).noted = [2]int64{9, 8}
			require.NoError(t, q.Take(d, s, i, by))
			f.fail(call, errors.New("as the test wants it"))
			require.ErrorContains(t, q.Wait(), "as the test wants it")
			require.ErrorContains(t, q.Wait(), "index 9 is outside")
			require.NoError(t, q.Take(d, s, i, by))
			require.NoError(t, q.Wait())
		})
	}
}

// Pooled memory is released if the driver has no memory for the status of takes, or for
// parameters.
func TestBugNoRoomForStatusOrParameters(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a, b, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	d, s, i, by := gputest.Take(b, a, at)
	require.NoError(t, gputest.Alloc(t, dev, 1<<20).Free()) // the pool keeps it
	f.fail("Alloc", device.ErrOutOfMemory)
	require.NoError(t, q.Take(d, s, i, by))
	require.EqualValues(t, 3*64, dev.Stats().Reserved)

	require.NoError(t, gputest.Alloc(t, dev, 1<<20).Free())
	f.fail("LoadParameters", device.ErrOutOfMemory)
	require.NoError(t, q.Copy(gputest.Bytes(b, 8), gputest.Bytes(a, 8)))
	require.EqualValues(t, 3*64, dev.Stats().Reserved)
	require.NoError(t, q.Wait())
}
