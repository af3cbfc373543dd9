package cuda

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu/gputest"
	"github.com/restride/restride/internal/race"
	"github.com/restride/restride/tensor"
)

// A captured chain of copies uses the content of its buffers at the time of each run.
func TestCapture(t *testing.T) {
	dev := openTest(t)
	q := gputest.Queue(t, dev)
	x, y, z := gputest.Alloc(t, dev, 16), gputest.Alloc(t, dev, 16), gputest.Alloc(t, dev, 16)
	require.NoError(t, q.Fill(gputest.Words(z, 0, 4), []byte{9, 0, 0, 0}))
	before := dev.Stats()
	work := func() error {
		return errors.Join(
			q.Copy(gputest.Words(y, 0, 2), gputest.Words(x, 2, 2)),
			q.Copy(gputest.Words(y, 2, 2), gputest.Words(x, 0, 2)),
			q.Copy(gputest.Matrix(z, []int64{2, 2}, []int64{1, 2}), gputest.Matrix(y, []int64{2, 2}, []int64{2, 1})),
			q.Fill(gputest.Words(y, 0, 4), []byte{0, 0, 0, 0}),
		)
	}
	r, err := q.Capture(work)
	require.NoError(t, err)
	assert.Equal(t, before, dev.Stats(), "nothing has run")
	assert.Equal(t, []uint32{9, 9, 9, 9}, words(t, q, z))
	for i := range uint32(3) {
		raw := make([]byte, 16)
		for j := range uint32(4) {
			binary.LittleEndian.PutUint32(raw[4*j:], 10*i+j)
		}
		require.NoError(t, q.Write(x, 0, raw))
		require.NoError(t, r.Run())
		assert.Equal(t, []uint32{10*i + 2, 10 * i, 10*i + 3, 10*i + 1}, words(t, q, z))
	}
	assert.Equal(t, before.Launches+12, dev.Stats().Launches)
	assert.Equal(t, before.DeviceToDevice+3*(8+8+16+16), dev.Stats().DeviceToDevice)
	if !race.Enabled { // under it, sync.Pool, which purego uses, drops items at random
		assert.Zero(t, testing.AllocsPerRun(20, func() { assert.NoError(t, r.Run()) }))
	}
	require.NoError(t, r.Close())
	require.ErrorIs(t, r.Close(), device.ErrClosed)
	require.ErrorIs(t, r.Run(), device.ErrClosed)

	empty, err := q.Capture(func() error { return nil })
	require.NoError(t, err)
	require.NoError(t, empty.Run())
	left, err := q.Capture(work)
	require.NoError(t, err)
	require.NoError(t, left.Run())
	require.NoError(t, dev.Close(), "with replays open, and under way")
	require.ErrorIs(t, left.Run(), device.ErrClosed)
	require.ErrorIs(t, left.Close(), device.ErrClosed)
}

// Freed buffers, and launches that the queue has dropped, stay until the replay is closed.
func TestCaptureKeeps(t *testing.T) {
	dev := openTest(t)
	q := gputest.Queue(t, dev)
	dst := gputest.Alloc(t, dev, 1<<12)
	var between device.Buffer
	r, err := q.Capture(func() error {
		var err error
		between, err = dev.Alloc(1 << 12) // memory is not the queue's: it is available
		return errors.Join(err,
			q.Fill(gputest.Words(between, 0, 1<<10), []byte{1, 2, 3, 4}),
			q.Copy(gputest.Words(dst, 0, 1<<10), gputest.Words(between, 0, 1<<10)),
			between.Free())
	})
	require.NoError(t, err)
	at := func() uintptr {
		b := gputest.Alloc(t, dev, 1<<12)
		defer func() { require.NoError(t, b.Free()) }()
		require.NoError(t, q.Fill(gputest.Words(b, 0, 1<<10), []byte{5, 5, 5, 5}))
		return handleOf(b)
	}
	held := handleOf(between)
	for range 20 {
		require.NotEqual(t, held, at(), "the memory is in use")
		require.NoError(t, q.Wait())
	}
	for i := range 1100 { // more than a queue caches
		require.NoError(t, q.Fill(gputest.Words(dst, int64(i%7), 1+int64(i/7)), []byte{byte(i), 0, 0, 0}))
	}
	require.NoError(t, r.Run())
	w := words(t, q, dst)
	assert.EqualValues(t, 0x04030201, w[0])
	assert.EqualValues(t, 0x04030201, w[1<<10-1])
	require.NoError(t, r.Close())
	again := false
	for range 20 { // not freed: the pool has others, too
		again = again || handleOf(gputest.Alloc(t, dev, 1<<12)) == held
	}
	assert.True(t, again, "the memory is used again")
	require.NoError(t, dev.Close())
}

// A capture keeps the memory that the work of others in it uses.
func TestCaptureKeepsForOthers(t *testing.T) {
	dev := openTest(t)
	q := gputest.Queue(t, dev)
	theirs := gputest.Alloc(t, dev, 1<<12)
	held := handleOf(theirs)
	r, err := q.Capture(func() error { return errors.Join(q.MarkUsed(theirs), theirs.Free()) })
	require.NoError(t, err)
	for range 20 {
		require.NotEqual(t, held, handleOf(gputest.Alloc(t, dev, 1<<12)), "the memory is in use")
	}
	require.NoError(t, errors.Join(r.Run(), r.Close()))
}

func TestCaptureRefuses(t *testing.T) {
	dev := openTest(t)
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	record := q.Capture
	b := gputest.Alloc(t, dev, 64)
	old, err := other.Record()
	require.NoError(t, err)
	require.NoError(t, old.Wait())
	for name, f := range map[string]func() error{
		"Write":   func() error { return q.Write(b, 0, make([]byte, 4)) },
		"Read":    func() error { return q.Read(make([]byte, 4), b, 0) },
		"Wait":    func() error { return q.Wait() },
		"WaitFor": func() error { return q.WaitFor(old) },
		"Record":  func() error { _, err := q.Record(); return err },
		"Capture": func() error { _, err := record(func() error { return nil }); return err },
		"WriteAsync": func() error {
			_, err := q.WriteAsync(b, 0, make([]byte, 4))
			return err
		},
	} {
		r, err := record(f)
		require.ErrorIs(t, err, device.ErrInvalid, name)
		assert.ErrorContains(t, err, name)
		assert.ErrorContains(t, err, "capturing")
		require.Nil(t, r)
	}
	legacy, err := dev.AdoptStream(0)
	require.NoError(t, err)
	_, err = legacy.(device.Recorder).Capture(func() error { return nil })
	require.ErrorIs(t, err, device.ErrDriver, "the default stream cannot be captured")
	require.NoError(t, legacy.Close())

	// Other queues continue meanwhile.
	r, err := record(func() error {
		require.NoError(t, other.Write(b, 0, []byte{3, 0, 0, 0}))
		require.NoError(t, other.Wait())
		return q.Copy(gputest.Words(b, 1, 1), gputest.Words(b, 0, 1))
	})
	require.NoError(t, err)
	require.NoError(t, r.Run())
	assert.EqualValues(t, 3, words(t, q, b)[1])

	failed := errors.New("no more")
	_, err = record(func() error { return errors.Join(q.Fill(gputest.Words(b, 0, 16), []byte{9, 9, 9, 9}), failed) })
	require.ErrorIs(t, err, failed)
	require.Panics(t, func() { _, _ = record(func() error { panic("oh") }) })
	_, err = record(q.Close)
	require.ErrorIs(t, err, device.ErrClosed)
	require.ErrorIs(t, r.Run(), device.ErrClosed)
	require.NoError(t, b.Free())
	require.NoError(t, dev.Close())
}

// A chain of tensor operations can be captured, including its allocations.
func TestCaptureTensors(t *testing.T) {
	dev := openTest(t)
	s, err := tensor.NewStream(dev)
	require.NoError(t, err)
	x, err := tensor.FromSlice(s, []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	require.NoError(t, err)
	var y *tensor.Tensor
	r, err := s.Queue().(device.Recorder).Capture(func() error {
		v, err := x.Transpose(1, 0)
		if err == nil {
			y, err = v.Reshape(6)
		}
		return err
	})
	require.NoError(t, err)
	require.NoError(t, r.Run())
	got, err := tensor.Values[int32](y)
	require.NoError(t, err)
	assert.Equal(t, []int32{1, 4, 2, 5, 3, 6}, got)
	require.NoError(t, r.Close())
	require.NoError(t, s.Close())
}
