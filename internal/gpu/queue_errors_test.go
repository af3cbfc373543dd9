package gpu_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

var (
	errWork = errors.New("the device has a bad day")
	errRoom = fmt.Errorf("late: %w", device.ErrOutOfMemory)
)

// late makes a queue's next call of a name fail for want of memory once. The queue is held
// until letGo is called, for the second call.
func late(t *testing.T, f *fake, q *gpu.Queue, name string) (letGo func()) {
	f.fail(name, errRoom)
	f.then("Finish", func() error { letGo = hold(t, q); return nil })
	return func() { letGo() }
}

// Work that at first finds no memory, and is then queued, is in progress.
func TestBugRetriedLaunchIsNotDone(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 64)
	letGo := late(t, f, q, "Launch")
	gputest.Fill(t, q, a, 1)
	e, err := q.Record()
	require.NoError(t, err)
	assert.False(t, e.Done())
	require.NoError(t, a.Free())
	assert.EqualValues(t, 1, dev.DeferredFrees(), "its kernel is at work")
	letGo()
	require.NoError(t, e.Wait())
	dev.Sweep()
	assert.Zero(t, dev.DeferredFrees())
}

func TestBugRetriedWriteKeepsItsStaging(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 64)
	letGo := late(t, f, q, "Upload")
	require.NoError(t, q.Write(a, 0, []byte{1, 1, 1, 1}))
	require.NoError(t, q.Write(a, 4, []byte{2, 2, 2, 2}))
	letGo()
	got := make([]byte, 8)
	require.NoError(t, q.Read(got, a, 0))
	assert.Equal(t, []byte{1, 1, 1, 1, 2, 2, 2, 2}, got)
}

func TestBugRetriedTransferKeepsItsPin(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 64)
	letGo := late(t, f, q, "Download")
	e, err := q.ReadAsync(make([]byte, 64), a, 0)
	require.NoError(t, err)
	_, err = q.WriteAsync(a, 64, nil) // polls
	require.NoError(t, err)
	assert.Equal(t, 1, q.Pins())
	letGo()
	require.NoError(t, e.Wait())
	require.NoError(t, q.Wait())
	assert.Zero(t, q.Pins())
}

// A caller that waits only for memory does not consume an error that Wait must return; neither
// does an unrelated read.
func TestBugAllocDoesNotSwallowErrors(t *testing.T) {
	f := newFake(t)
	f.properties.Info.Memory = 1<<20 + 64
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	small := gputest.Alloc(t, dev, 64)
	for _, wait := range []func() error{q.Wait, q.Close} {
		a := gputest.Alloc(t, dev, 1<<19)
		f.fail("work", errWork)
		gputest.Fill(t, q, a, 1)
		require.NoError(t, a.Free())
		require.NoError(t, gputest.Alloc(t, dev, 1<<20).Free(), "which needs the first block")
		require.NoError(t, q.Read(make([]byte, 1), small, 0))
		require.ErrorIs(t, wait(), errWork)
	}
}

// The first error counts, and Close of the device returns it, too.
func TestErrorsOfWork(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 64)
	f.fail("work", errWork)
	gputest.Fill(t, q, a, 1)
	f.fail("Launch", errRoom) // finds the first error when it makes room
	gputest.Fill(t, q, a, 2)
	f.fail("Finish", errors.New("another"))
	require.ErrorIs(t, q.Wait(), errWork)
	require.NoError(t, q.Wait())

	f.fail("work", errWork)
	gputest.Fill(t, q, a, 1)
	before := dev.Stats()
	require.ErrorIs(t, q.Read(make([]byte, 4), a, 0), errWork)
	after := dev.Stats()
	after.Waits = before.Waits
	assert.Equal(t, before, after, "what failed does not count")

	f.fail("work", errWork)
	gputest.Fill(t, q, a, 1)
	require.ErrorIs(t, q.Close(), errWork)
	require.ErrorIs(t, q.Close(), device.ErrClosed)
	f.fail("work", errWork)
	gputest.Fill(t, other, a, 1)
	errStream, errFree, errLast := errors.New("stream"), errors.New("free"), errors.New("last")
	f.fail("CloseStream", errStream)
	f.fail("Free", errFree)
	f.fail("Close", errLast)
	err := dev.Close()
	for _, one := range []error{errWork, errStream, errFree, errLast} {
		require.ErrorIs(t, err, one)
	}
	require.NotErrorIs(t, err, device.ErrClosed)
	require.ErrorIs(t, dev.Close(), device.ErrClosed)
}

// If an event cannot be allocated, nothing is left in progress or behind.
func TestEventsThatFail(t *testing.T) {
	const slot = gpu.SlotSize
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 8*slot)
	f.fail("Record", errWork)
	_, err := q.Record()
	require.ErrorIs(t, err, errWork)

	host := make([]byte, 1<<16)
	f.fail("Record", errWork)
	e, err := q.WriteAsync(a, 0, host)
	require.ErrorIs(t, err, errWork)
	assert.Nil(t, e)
	host[0]++ // under the race detector: there is no reader
	assert.Zero(t, q.Pins())

	f.fail("Record", errWork)
	require.ErrorIs(t, q.Write(a, 0, make([]byte, slot)), errWork)
	model := gputest.Random(8*slot, 3)
	require.NoError(t, q.Write(a, 0, model), "the slot without an event is waited for otherwise")
	got := make([]byte, 8*slot)
	require.NoError(t, q.Read(got, a, 0))
	require.Equal(t, model, got)

	f.fail("Record", errWork)
	gputest.Fill(t, q, a, 1)
	require.NoError(t, a.Free())
	dev.Sweep()
	assert.EqualValues(t, 1, dev.DeferredFrees())
	require.NoError(t, q.Wait())
	dev.Sweep()
	assert.Zero(t, dev.DeferredFrees())
	require.NoError(t, q.Close())
	assert.Zero(t, f.events.Load())
}

// A call that fails leaves nothing queued.
func TestCallsThatFail(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a := gputest.Alloc(t, dev, 64)
	before := dev.Stats()
	for name, call := range map[string]func() error{
		"Launch":   func() error { return q.Fill(gputest.Bytes(a, 64), []byte{1}) },
		"Upload":   func() error { return q.Write(a, 0, []byte{1}) },
		"Download": func() error { return q.Read(make([]byte, 1), a, 0) },
	} {
		f.fail(name, errWork)
		require.ErrorIs(t, call(), errWork)
		f.fail(name, errRoom)
		f.fail(name, errRoom)
		err := call()
		require.ErrorIs(t, err, errRoom)
		assert.ErrorContains(t, err, "64 bytes of 1073741824 are held")
		after := dev.Stats()
		after.Waits = before.Waits // a call that fails may have waited
		assert.Equal(t, before, after)
	}
	f.fail("Upload", errWork)
	_, err := q.WriteAsync(a, 0, []byte{1})
	require.ErrorIs(t, err, errWork)
	f.fail("NewStream", errWork)
	none, err := dev.NewQueue()
	require.ErrorIs(t, err, errWork)
	assert.Nil(t, none)
	f.fail("AllocHost", errWork)
	_, err = dev.AllocHost(5)
	require.ErrorIs(t, err, errWork)
	f.fail("Alloc", errWork)
	_, err = dev.Alloc(1 << 20)
	require.ErrorIs(t, err, errWork)
	f.fail("WaitFor", errWork)
	other := gputest.Queue(t, dev)
	letGo := hold(t, other)
	e, err := other.Record()
	require.NoError(t, err)
	require.ErrorIs(t, q.WaitFor(e), errWork)
	letGo()
	require.NoError(t, a.Free())
	require.NoError(t, q.Close())
	dev.Sweep()
	assert.Zero(t, dev.DeferredFrees())
	assert.EqualValues(t, 64, dev.Held(), "in the pool")
}

// Close waits for work in progress before it releases anything.
func TestCloseWithWorkInFlight(t *testing.T) {
	f := newFake(t)
	dev := open(t, f)
	q := gputest.Queue(t, dev)
	a, freed := gputest.Alloc(t, dev, 1<<20), gputest.Alloc(t, dev, 1<<20)
	host, err := dev.AllocHost(1 << 10)
	require.NoError(t, err)
	letGo := hold(t, q)
	gputest.Fill(t, q, freed, 1)
	require.NoError(t, freed.Free())
	require.NoError(t, q.Write(a, 0, gputest.Random(1<<20, 1)))
	_, err = q.WriteAsync(a, 0, host)
	require.NoError(t, err)
	back := make([]byte, 1<<10)
	e, err := q.ReadAsync(back, a, 1<<10)
	require.NoError(t, err)
	closed := make(chan error)
	go func() { closed <- dev.Close() }()
	waited := make(chan error)
	go func() { waited <- e.Wait() }()
	for {
		if _, err := dev.Alloc(1); errors.Is(err, device.ErrClosed) {
			break
		}
		runtime.Gosched()
	}
	select {
	case <-closed:
		t.Error("closed at once")
	case <-waited:
		t.Error("done at once")
	case <-time.After(20 * time.Millisecond):
	}
	require.ErrorIs(t, dev.FreeHost(host), device.ErrClosed)
	letGo()
	require.NoError(t, <-closed)
	require.NoError(t, <-waited)
	assert.Equal(t, gputest.Random(1<<20, 1)[1<<10:1<<11], back)
	assert.True(t, e.Done())
	require.NoError(t, e.Wait())
	require.ErrorIs(t, q.Wait(), device.ErrClosed)
	require.ErrorIs(t, q.Close(), device.ErrClosed)
	require.ErrorIs(t, a.Free(), device.ErrClosed)
	f.empty()
}
