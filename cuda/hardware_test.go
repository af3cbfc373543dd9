package cuda

import (
	"cmp"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu/gputest"
)

// Actions of a program outside this module that fail on a GPU, made directly at the driver as
// an engine does.

// engine is the driver's library.
type engine struct {
	t   *testing.T
	lib *dl.Library
}

func newEngine(t *testing.T) engine {
	lib, err := dl.Open(cmp.Or(os.Getenv(library), "libcuda.so.1"))
	require.NoError(t, err)
	return engine{t, lib}
}

// call calls a function, which must return a code.
func (e engine) call(want int, name string, arguments ...uintptr) {
	e.t.Helper()
	f, err := e.lib.Lookup(name)
	require.NoError(e.t, err)
	require.Equal(e.t, want, int(int32(dl.Call(f, arguments...))), name)
}

// enter makes a context current on the thread, to which the goroutine is bound from now on, and
// which ends with it: other tests never see this context.
func (e engine) enter(ctx uintptr) {
	runtime.LockOSThread()
	e.call(0, "cuCtxSetCurrent", ctx)
}

// The modes of captures.
const captureGlobal, captureThreadLocal = 0, 1

// Another thread's capture in global mode forbids queries of events: such an error must not
// count as done, or memory in use would be reused; and the query must not end the capture.
func TestBugEventUnderGlobalCapture(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	q := gputest.Queue(t, dev)
	e := newEngine(t)
	src, x := gputest.Alloc(t, dev, 1<<12), gputest.Alloc(t, dev, 1<<12)
	require.NoError(t, q.Copy(gputest.Bytes(x, 1<<12), gputest.Bytes(src, 1<<12)))
	require.NoError(t, q.Wait())

	stream, graph := new(uintptr), new(uintptr)
	captured, queued, end := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(end)
		e.enter(dev.Handles().Context)
		e.call(0, "cuStreamCreate", uintptr(unsafe.Pointer(stream)), nonBlockingStream)
		e.call(0, "cuStreamBeginCapture_v2", *stream, captureGlobal)
		close(captured)
		<-queued
		e.call(0, "cuStreamEndCapture", *stream, uintptr(unsafe.Pointer(graph)))
		e.call(0, "cuGraphDestroy", *graph)
		e.call(0, "cuStreamDestroy_v2", *stream)
	}()
	<-captured
	k.turn(t, "DELAY", "100000")
	for range 20 {
		require.NoError(t, q.Copy(gputest.Bytes(x, 1<<12), gputest.Bytes(src, 1<<12)))
	}
	event, err := q.Record()
	require.NoError(t, err)
	assert.False(t, event.Done(), "the work has hardly begun")
	at := handleOf(x)
	require.NoError(t, x.Free())
	for range 5 {
		assert.NotEqual(t, at, handleOf(gputest.Alloc(t, dev, 1<<12)), "the memory is in use")
	}
	k.turn(t, "DELAY", "0")
	require.NoError(t, event.Wait())
	assert.True(t, event.Done())
	gputest.Alloc(t, dev, 3<<20) // new memory, and a new kernel, are available
	y := gputest.Alloc(t, dev, 1<<12)
	require.NoError(t, q.Fill(gputest.Matrix(y, []int64{3, 5}, []int64{50, 2}), []byte{1, 2, 3, 4}))
	require.NoError(t, q.Read(make([]byte, 8), y, 0))
	close(queued)
	<-end
}

const nonBlockingStream = 1

// slow queues work that lasts a while, and returns an event after it, and a function that
// reports whether it is over.
func slow(t *testing.T, k knobs, dev *Device) (q device.Queue, e device.Event, over func() bool) {
	q = gputest.Queue(t, dev)
	b := gputest.Alloc(t, dev, 64)
	before := k.Count("kernels")
	k.turn(t, "DELAY", "300")
	for range 40 {
		require.NoError(t, fillOne(dev, q, b))
	}
	e, err := q.Record()
	require.NoError(t, err)
	return q, e, func() bool { return k.Count("kernels") == before+40 }
}

// An event is done when the work is over, even if the driver does not answer the query. If that
// is because the context is lost, nothing succeeds any more, even if no other call of the
// driver fails.
func TestBugEventQueryFails(t *testing.T) {
	k := simulated(t)
	for fail, gone := range map[string]bool{
		"cuEventQuery=900": false, "cuEventQuery=999:times=1": false, "cuEventQuery=719:times=1": true, "cuEventQuery=700": true,
		"cuCtxGetCurrent=4000:times=1": false, "cuEventQuery=1,cuEventSynchronize=1": true,
	} {
		t.Run(fail, func(t *testing.T) {
			openTest(t) // another user of the context
			before := k.Count("allocations")
			dev := openTest(t)
			q, e, over := slow(t, k, dev)
			b := gputest.Alloc(t, dev, 64)
			k.turn(t, "FAIL", fail)
			require.Eventually(t, e.Done, time.Minute, time.Millisecond)
			assert.True(t, over() || strings.Contains(fail, ","))
			k.turn(t, "FAIL", "")
			err := e.Wait()
			if !gone {
				require.NoError(t, err)
				require.NoError(t, q.Wait())
				return
			}
			require.ErrorIs(t, err, ErrLost)
			for what, call := range map[string]func() error{
				"Wait": q.Wait, "Fill": func() error { return fillOne(dev, q, b) },
				"Write":  func() error { return q.Write(b, 0, make([]byte, 64)) },
				"Read":   func() error { return q.Read(make([]byte, 64), b, 0) },
				"Record": func() error { _, err := q.Record(); return err },
				"Alloc":  func() error { _, err := dev.Alloc(1 << 20); return err },
			} {
				require.ErrorIs(t, call(), ErrLost, what)
			}
			_ = q.Close()
			require.ErrorIs(t, dev.Close(), ErrLost)
			assert.Equal(t, before, k.Count("allocations"), "it is given back, as the context lives on for others")
		})
	}
}

// A call that frees is repeated if it could not begin, as no other call frees the memory.
func TestBugFreeDoesNotBegin(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	host, err := dev.AllocHost(64)
	require.NoError(t, err)
	before := k.Count("cuMemFreeHost")
	k.turn(t, "FAIL", "cuCtxGetCurrent=1:times=1")
	require.NoError(t, dev.FreeHost(host))
	assert.Equal(t, 1, k.Count("cuMemFreeHost")-before)
}

// If the driver does not answer about an engine's stream or memory, the call is refused.
func TestBugUnknownOfAdopted(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	b := gputest.Alloc(t, dev, 64)
	q, err := dev.AdoptStream(StreamOf(gputest.Queue(t, dev)))
	require.NoError(t, err)
	k.turn(t, "FAIL", "cuStreamIsCapturing=999")
	require.ErrorIs(t, fillOne(dev, q, b), device.ErrInvalid)
	k.turn(t, "FAIL", "cuPointerGetAttribute=999:after=4") // the context
	_, err = dev.AdoptHandle(handleOf(b), 64, nil)
	require.ErrorIs(t, err, device.ErrDriver)
	k.turn(t, "FAIL", "")
	require.NoError(t, fillOne(dev, q, b))
}

// A capture that the driver fails to end is ended even so: the stream runs work again.
func TestBugCaptureFails(t *testing.T) {
	k := simulated(t)
	for _, fail := range []string{"cuStreamEndCapture=999:times=1", "cuGraphInstantiateWithFlags=1:times=1", "cuGraphDestroy=1:times=1"} {
		t.Run(fail, func(t *testing.T) {
			dev := openTest(t)
			q, b := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
			execs := func() int { return k.Count("cuGraphInstantiateWithFlags") - k.Count("cuGraphExecDestroy") }
			before := execs()
			k.turn(t, "FAIL", fail)
			_, err := q.Capture(func() error { return fillOne(dev, q, b) })
			require.ErrorIs(t, err, device.ErrDriver)
			require.NoError(t, fillOne(dev, q, b))
			assert.EqualValues(t, 0x04030201, words(t, q, b)[15])
			assert.LessOrEqual(t, execs()-before, 1, "what failed made none")
			require.NoError(t, dev.Close())
		})
	}
}

// A wait returns when the work is over, even if the driver refuses to wait.
func TestBugWaitFails(t *testing.T) {
	k := simulated(t)
	for fail, gone := range map[string]bool{
		"cuStreamSynchronize=999": false, "cuStreamSynchronize=1:times=1": false, "cuStreamSynchronize=719:times=1": true,
		"cuStreamSynchronize=1,cuEventSynchronize=1": true, "cuThreadExchangeStreamCaptureMode=1:times=1": false,
	} {
		t.Run(fail, func(t *testing.T) {
			dev := openTest(t)
			q, _, over := slow(t, k, dev)
			k.turn(t, "FAIL", fail)
			require.ErrorIs(t, q.Wait(), device.ErrDriver)
			assert.True(t, over() || strings.Contains(fail, ","))
			k.turn(t, "FAIL", "")
			err := q.Wait()
			if gone {
				require.ErrorIs(t, err, ErrLost)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// A context that others destroyed is invalid: the device is lost, too. The same code from a
// call on another device's context has no effect.
func TestBugInvalidContextIsLost(t *testing.T) {
	k := simulated(t)
	dev := openTest(t)
	b := gputest.Alloc(t, dev, 64)
	q := gputest.Queue(t, dev)
	k.turn(t, "FAIL", "cuLaunchKernel=201")
	err := fillOne(dev, q, b)
	require.ErrorIs(t, err, device.ErrDriver)
	require.NotErrorIs(t, err, ErrLost)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, dev.driver.api.setCurrent(new(frame), 0))
	k.turn(t, "FAIL", "cuCtxSetCurrent=201")
	require.ErrorIs(t, fillOne(dev, q, b), ErrLost)
	k.turn(t, "FAIL", "")
	require.Error(t, dev.driver.gone())
}

// Memory of another context of the same GPU must not be adopted: the first kernel on it would
// destroy the context.
func TestBugAdoptMemoryOfAnotherContext(t *testing.T) {
	dev := openTest(t)
	e := newEngine(t)
	ctx, at := new(uintptr), new(uintptr)
	e.enter(0)
	e.call(0, "cuCtxCreate_v2", uintptr(unsafe.Pointer(ctx)), 0, 0)
	defer e.call(0, "cuCtxDestroy_v2", *ctx)
	e.call(0, "cuMemAlloc_v2", uintptr(unsafe.Pointer(at)), 256)
	_, err := dev.AdoptHandle(*at, 256, nil)
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "another context")

	// Memory of a pool belongs to the device, whichever context asked for it.
	e.call(0, "cuMemAllocAsync", uintptr(unsafe.Pointer(at)), 256, 0)
	e.call(0, "cuCtxSynchronize")
	b, err := dev.AdoptHandle(*at, 256, nil)
	require.NoError(t, err)
	q := gputest.Queue(t, dev)
	require.NoError(t, fillOne(dev, q, b))
	require.NoError(t, q.Wait())
}

// Work on an adopted stream must not become part of its owner's capture, nor a wait end that
// capture.
func TestBugAdoptedStreamUnderCapture(t *testing.T) {
	dev := openTest(t)
	e := newEngine(t)
	e.enter(dev.Handles().Context)
	stream, graph := new(uintptr), new(uintptr)
	b := gputest.Alloc(t, dev, 64)
	for _, flags := range []uintptr{nonBlockingStream, 0} { // the default stream may not wait for the latter
		e.call(0, "cuStreamCreate", uintptr(unsafe.Pointer(stream)), flags)
		handle := *stream
		if flags == 0 {
			handle = 0
		}
		q, err := dev.AdoptStream(handle)
		require.NoError(t, err)
		require.NoError(t, fillOne(dev, q, b))
		before := dev.Stats()
		e.call(0, "cuStreamBeginCapture_v2", *stream, captureThreadLocal)
		for name, f := range map[string]func() error{
			"Fill":    func() error { return fillOne(dev, q, b) },
			"Write":   func() error { return q.Write(b, 0, make([]byte, 4)) },
			"Read":    func() error { return q.Read(make([]byte, 4), b, 0) },
			"Wait":    q.Wait,
			"Record":  func() error { _, err := q.Record(); return err },
			"Capture": func() error { _, err := q.(device.Recorder).Capture(func() error { return nil }); return err },
			"Close":   q.Close,
		} {
			err := f()
			require.ErrorIs(t, err, device.ErrInvalid, name)
			assert.ErrorContains(t, err, "capturing", name)
		}
		require.ErrorIs(t, dev.Close(), device.ErrInvalid)
		gputest.Alloc(t, dev, 64)
		other := gputest.Queue(t, dev)
		require.NoError(t, fillOne(dev, other, b))
		require.NoError(t, other.Close())
		assert.Equal(t, before.Launches+1, dev.Stats().Launches)
		e.call(0, "cuStreamEndCapture", *stream, uintptr(unsafe.Pointer(graph)))
		e.call(0, "cuGraphDestroy", *graph)
		require.NoError(t, fillOne(dev, q, b))
		require.NoError(t, q.Wait())
		require.NoError(t, q.Close())
		e.call(0, "cuStreamDestroy_v2", *stream)
	}
	require.NoError(t, b.Free())
	require.NoError(t, dev.Close())
}

// The default pool returns all freed memory to the system at each wait, including an
// allocation's.
func TestBugPoolKeepsNothing(t *testing.T) {
	k := simulated(t)
	pools := k.Count("pools")
	for kept, grows := range map[int64]int{0: 0, 4 << 20: 0, 2 << 20: 10 * 2 << 20, -1: 10 * 4 << 20} {
		dev, err := OpenWith(0, Options{Kept: kept})
		require.NoError(t, err)
		require.Equal(t, pools+1, k.Count("pools"))
		used, err := dev.driver.Alloc(8 << 20)
		require.NoError(t, err)
		again := func() {
			m, err := dev.driver.Alloc(4 << 20)
			require.NoError(t, err)
			require.NoError(t, dev.driver.Free(m))
		}
		again()
		require.NoError(t, dev.driver.with(func(f *frame) error { return dev.driver.api.synchronize(f, dev.driver.side) }))
		before := k.Count("poolBytes")
		for range 10 {
			again()
			require.NoError(t, dev.driver.with(func(f *frame) error { return dev.driver.api.synchronize(f, dev.driver.side) }))
		}
		assert.Equal(t, grows, k.Count("poolBytes")-before, "%d bytes are kept", kept)
		dev.driver.Trim()
		before = k.Count("poolBytes")
		again()
		assert.Equal(t, 4<<20, k.Count("poolBytes")-before, "Trim gives it back")
		require.NoError(t, dev.driver.Free(used))
		require.NoError(t, dev.Close())
		require.Equal(t, pools, k.Count("pools"))
	}
	plain, err := OpenWith(0, Options{PlainMemory: true})
	require.NoError(t, err)
	require.Equal(t, pools, k.Count("pools"))
	require.NoError(t, plain.Close())
}
