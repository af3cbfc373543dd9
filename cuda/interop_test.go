package cuda

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
)

// An engine's context, stream and memory, and a device that shares them: here the
// engine is another device of ours.
func TestAdopt(t *testing.T) {
	theirs := openTest(t)
	engineQueue := queueOf(t, theirs)
	h := theirs.Handles()
	require.NotZero(t, h.Context)
	dev, err := Adopt(h, Options{})
	require.NoError(t, err)
	assert.Equal(t, theirs.Info(), dev.Info())
	assert.Equal(t, h, dev.Handles())

	q, err := dev.AdoptStream(StreamOf(engineQueue))
	require.NoError(t, err)
	assert.NotZero(t, StreamOf(q))
	assert.Equal(t, StreamOf(engineQueue), StreamOf(q))

	memory := alloc(t, theirs, 64)
	at := PointerOf(memory)
	require.NotZero(t, at)
	b, err := dev.AdoptBuffer(at, 60)
	require.NoError(t, err)
	assert.EqualValues(t, 60, b.Size())
	assert.Equal(t, at, PointerOf(b))
	assert.Equal(t, device.Stats{}, dev.Stats(), "what is adopted counts nowhere")

	// One stream, two owners: in order.
	require.NoError(t, engineQueue.Write(memory, 0, []byte{1, 2, 3, 4}))
	require.NoError(t, q.Copy(row(b, 2, 1), row(b, 0, 1)))
	got := make([]byte, 4)
	require.NoError(t, engineQueue.Read(got, memory, 8))
	assert.Equal(t, []byte{1, 2, 3, 4}, got)

	// Our buffers, their work.
	own := alloc(t, dev, 64)
	used := q.(device.Sharer).Used
	require.NoError(t, used(own, b))
	require.ErrorIs(t, used(memory), device.ErrInvalid)
	require.NoError(t, own.Free())
	require.ErrorIs(t, used(own), device.ErrClosed)

	// The default stream is a stream, too.
	legacy, err := dev.AdoptStream(0)
	require.NoError(t, err)
	require.NoError(t, legacy.Copy(row(b, 4, 1), row(b, 0, 1)))
	require.NoError(t, legacy.Read(got, b, 16))
	assert.Equal(t, []byte{1, 2, 3, 4}, got)
	require.NoError(t, legacy.Close())

	require.NoError(t, b.Free())
	require.ErrorIs(t, b.Free(), device.ErrClosed)
	b, err = dev.AdoptBuffer(at+16, 48) // and not freed
	require.NoError(t, err)
	require.NoError(t, q.Close())
	require.NoError(t, dev.Close())
	require.ErrorIs(t, b.Free(), device.ErrClosed)
	_, err = dev.AdoptBuffer(at, 64)
	require.ErrorIs(t, err, device.ErrClosed)
	_, err = dev.AdoptStream(0)
	require.ErrorIs(t, err, device.ErrClosed)

	// All is still the engine's.
	require.NoError(t, engineQueue.Read(got, memory, 8))
	assert.Equal(t, []byte{1, 2, 3, 4}, got)
	require.NoError(t, memory.Free())
	assert.Zero(t, PointerOf(alloc(t, theirs, 0)))
	assert.Zero(t, PointerOf(nil))
	assert.Zero(t, StreamOf(nil))
}

func TestAdoptRefuses(t *testing.T) {
	dev := openTest(t)
	h := dev.Handles()
	_, err := Adopt(Handles{}, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = Adopt(Handles{h.Context, h.Ordinal + 1}, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)

	at := PointerOf(alloc(t, dev, 64))
	host, err := dev.AllocHost(64)
	require.NoError(t, err)
	for _, c := range []struct {
		at    uintptr
		bytes int64
		kind  error
		word  string
	}{
		{0, 4, device.ErrInvalid, "0x0"},
		{at, -4, device.ErrInvalid, "-4"},
		{at, 6, device.ErrUnsupported, "multiple"},
		{at + 8, 8, device.ErrUnsupported, "multiple"},
		{at, 1 << 30, device.ErrInvalid, "of an allocation"},
		{uintptr(unsafe.Pointer(unsafe.SliceData(host))), 64, device.ErrUnsupported, "host"},
		{1 << 20, 64, device.ErrInvalid, "cuPointerGetAttribute"},
	} {
		_, err := dev.AdoptBuffer(c.at, c.bytes)
		require.ErrorIs(t, err, c.kind)
		assert.ErrorContains(t, err, c.word)
	}
	_, err = dev.AdoptStream(perThread)
	require.ErrorIs(t, err, device.ErrUnsupported)
	none, err := dev.AdoptBuffer(at, 0)
	require.NoError(t, err)
	require.NoError(t, none.Free())

	// Memory that is not from the driver's pool.
	plain, err := OpenWith(0, Options{PlainMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, plain.Close()) }()
	other, err := Adopt(plain.Handles(), Options{PlainMemory: true})
	require.NoError(t, err)
	_, err = other.AdoptBuffer(PointerOf(alloc(t, plain, 64)), 64)
	require.NoError(t, err)
	require.NoError(t, other.Close())
}

// foreign makes a context that is not the primary one, and current; end ends it.
func foreign(t *testing.T, a api) (c cuContext, end func()) {
	t.Helper()
	lib, err := dl.Open(a.name())
	require.NoError(t, err)
	create, err := lib.Lookup("cuCtxCreate_v2")
	require.NoError(t, err)
	destroy, err := lib.Lookup("cuCtxDestroy_v2")
	require.NoError(t, err)
	at := new(cuContext)
	require.Zero(t, int32(dl.Call(create, uintptr(unsafe.Pointer(at)), 0, 0)))
	return *at, func() { require.Zero(t, int32(dl.Call(destroy, uintptr(*at)))) }
}

// A thread's context is there again after each of our calls, and a context that
// is not the primary one can be adopted.
func TestForeignContext(t *testing.T) {
	dev := openTest(t)
	q := queueOf(t, dev)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	theirs, end := foreign(t, dev.driver.api)
	require.NotEqual(t, dev.driver.ctx, theirs)
	same := func(err error) {
		t.Helper()
		require.NoError(t, err)
		c, err := dev.driver.api.current(new(frame))
		require.NoError(t, err)
		require.Equal(t, theirs, c)
	}
	b := alloc(t, dev, 64)
	same(q.Write(b, 0, []byte{7, 0, 0, 0}))
	same(q.Copy(row(b, 1, 1), row(b, 0, 1)))
	e, err := q.Record()
	same(err)
	same(e.Wait())
	assert.True(t, e.Done())
	got := make([]byte, 8)
	same(q.Read(got, b, 0))
	assert.Equal(t, []byte{7, 0, 0, 0, 7, 0, 0, 0}, got)
	require.ErrorIs(t, q.Copy(row(b, 15, 2), row(b, 0, 2)), device.ErrInvalid)
	same(nil)

	other, err := Adopt(Handles{uintptr(theirs), 0}, Options{})
	same(err)
	_, err = other.AdoptStream(StreamOf(q))
	require.ErrorIs(t, err, device.ErrInvalid)
	oq := queueOf(t, other)
	ob := alloc(t, other, 64)
	same(oq.Fill(row(ob, 0, 16), []byte{1, 2, 3, 4}))
	same(oq.Read(got, ob, 56))
	assert.Equal(t, []byte{1, 2, 3, 4, 1, 2, 3, 4}, got)
	same(other.Close())
	same(dev.Close())
	end()
}

// A copy on a thread that has the device's context asks for nothing; where there is
// another one, or none, it comes to the right place, and the thread's stays.
func TestThreadsOfOthers(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	q := queueOf(t, dev)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l := dev.driver.api
	b := alloc(t, dev, 64)
	turn := byte(0)
	step := func(ctx, after cuContext, asks int) {
		t.Helper()
		require.NoError(t, l.setCurrent(new(frame), ctx))
		turn++
		before := k.counter("cuCtxGetCurrent")
		require.NoError(t, q.Fill(row(b, 0, 8), []byte{turn, 0, 0, 1}))
		require.NoError(t, q.Copy(row(b, 8, 8), row(b, 0, 8)))
		require.Equal(t, asks, k.counter("cuCtxGetCurrent")-before)
		c, err := l.current(new(frame))
		require.NoError(t, err)
		require.Equal(t, after, c)
		require.Equal(t, uint32(turn)|1<<24, words(t, q, b)[15])
	}
	theirs, end := foreign(t, l)
	ours := dev.driver.ctx
	require.NoError(t, q.Fill(row(b, 0, 8), make([]byte, 4)))
	require.NoError(t, q.Copy(row(b, 8, 8), row(b, 0, 8)))
	step(ours, ours, 1) // theirs was current before
	step(ours, ours, 0)
	step(theirs, theirs, 2)
	step(theirs, theirs, 2)
	step(0, ours, 1) // where there was none, ours stays
	step(ours, ours, 0)
	step(0, ours, 1)
	step(theirs, theirs, 2)

	// An error of theirs is not ours.
	other, err := Adopt(Handles{uintptr(theirs), 0}, Options{})
	require.NoError(t, err)
	oq, ob := queueOf(t, other), alloc(t, other, 64)
	k.turn(t, "PLANT", "oob")
	require.NoError(t, oq.Fill(row(ob, 0, 16), make([]byte, 4)))
	require.ErrorIs(t, oq.Wait(), ErrLost)
	k.turn(t, "PLANT", "")
	step(ours, ours, 1)
	step(theirs, theirs, 2)
	require.False(t, dev.driver.lost.Load())
	_ = other.Close()
	require.NoError(t, l.setCurrent(new(frame), ours))
	end()

	// The default stream is that of whatever context is current.
	legacy, err := dev.AdoptStream(0)
	require.NoError(t, err)
	q = legacy
	theirs, end = foreign(t, l)
	require.NoError(t, q.Fill(row(b, 0, 8), make([]byte, 4)))
	require.NoError(t, q.Copy(row(b, 8, 8), row(b, 0, 8)))
	step(ours, ours, 2)
	step(theirs, theirs, 2)
	step(ours, ours, 2)
	require.NoError(t, dev.Close())
	end()
}
