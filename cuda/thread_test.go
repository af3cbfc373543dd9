package cuda

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/gpu/gputest"
)

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

// A thread's context is restored after each call of this package, and a context that is not the
// primary one can be adopted.
func TestForeignContext(t *testing.T) {
	dev := openTest(t)
	q := gputest.Queue(t, dev)
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
	b := gputest.Alloc(t, dev, 64)
	same(q.Write(b, 0, []byte{7, 0, 0, 0}))
	same(q.Copy(gputest.Words(b, 1, 1), gputest.Words(b, 0, 1)))
	e, err := q.Record()
	same(err)
	same(e.Wait())
	assert.True(t, e.Done())
	got := make([]byte, 8)
	same(q.Read(got, b, 0))
	assert.Equal(t, []byte{7, 0, 0, 0, 7, 0, 0, 0}, got)
	require.ErrorIs(t, q.Copy(gputest.Words(b, 15, 2), gputest.Words(b, 0, 2)), device.ErrInvalid)
	same(nil)

	other, err := Adopt(Handles{uintptr(theirs), 0}, Options{})
	same(err)
	_, err = other.AdoptStream(StreamOf(q))
	require.ErrorIs(t, err, device.ErrInvalid)
	oq := gputest.Queue(t, other)
	ob := gputest.Alloc(t, other, 64)
	same(oq.Fill(gputest.Words(ob, 0, 16), []byte{1, 2, 3, 4}))
	same(oq.Read(got, ob, 56))
	assert.Equal(t, []byte{1, 2, 3, 4, 1, 2, 3, 4}, got)
	same(other.Close())
	same(dev.Close())
	end()
}

// A copy on a thread that has the device's context queries nothing; with another context, or
// none, it goes to the right place, and the thread's context stays.
func TestThreadsOfOthers(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	q := gputest.Queue(t, dev)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l := dev.driver.api
	b := gputest.Alloc(t, dev, 64)
	turn := byte(0)
	step := func(ctx, after cuContext, asks int) {
		t.Helper()
		require.NoError(t, l.setCurrent(new(frame), ctx))
		turn++
		before := k.Count("cuCtxGetCurrent")
		require.NoError(t, q.Fill(gputest.Words(b, 0, 8), []byte{turn, 0, 0, 1}))
		require.NoError(t, q.Copy(gputest.Words(b, 8, 8), gputest.Words(b, 0, 8)))
		require.Equal(t, asks, k.Count("cuCtxGetCurrent")-before)
		c, err := l.current(new(frame))
		require.NoError(t, err)
		require.Equal(t, after, c)
		require.Equal(t, uint32(turn)|1<<24, words(t, q, b)[15])
	}
	theirs, end := foreign(t, l)
	ours := dev.driver.ctx
	require.NoError(t, q.Fill(gputest.Words(b, 0, 8), make([]byte, 4)))
	require.NoError(t, q.Copy(gputest.Words(b, 8, 8), gputest.Words(b, 0, 8)))
	step(ours, ours, 1) // theirs was current before
	step(ours, ours, 0)
	step(theirs, theirs, 2)
	step(theirs, theirs, 2)
	step(0, ours, 1) // where there was none, ours stays
	step(ours, ours, 0)
	step(0, ours, 1)
	step(theirs, theirs, 2)

	// An error in their context is not an error of this package.
	other, err := Adopt(Handles{uintptr(theirs), 0}, Options{})
	require.NoError(t, err)
	oq, ob := gputest.Queue(t, other), gputest.Alloc(t, other, 64)
	k.turn(t, "PLANT", "oob")
	require.NoError(t, oq.Fill(gputest.Words(ob, 0, 16), make([]byte, 4)))
	require.ErrorIs(t, oq.Wait(), ErrLost)
	k.turn(t, "PLANT", "")
	step(ours, ours, 1)
	step(theirs, theirs, 2)
	require.NoError(t, dev.driver.gone())
	_ = other.Close()
	require.NoError(t, l.setCurrent(new(frame), ours))
	end()

	// The default stream belongs to the current context.
	legacy, err := dev.AdoptStream(0)
	require.NoError(t, err)
	q = legacy.(*gpu.Queue)
	theirs, end = foreign(t, l)
	require.NoError(t, q.Fill(gputest.Words(b, 0, 8), make([]byte, 4)))
	require.NoError(t, q.Copy(gputest.Words(b, 8, 8), gputest.Words(b, 0, 8)))
	step(ours, ours, 4) // whether it is captured, and the launch
	step(theirs, theirs, 4)
	step(ours, ours, 4)
	require.NoError(t, dev.Close())
	end()
}
