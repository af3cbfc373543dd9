//go:build linux && (amd64 || arm64)

package opencl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/faults"
	"github.com/restride/restride/internal/gpu/gputest"
)

// Failed work is reported by Wait of its event, otherwise by the queue's; also after a call of
// Done alone.
func TestBugFailedWork(t *testing.T) {
	dev := openTest(t, Options{})
	d := newFaultyDriver(t)
	s, other := gputest.Queue(t, dev).Stream(), gputest.Queue(t, dev).Stream()
	e, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, other.WaitFor(e))
	d.Fail(faults.Fault{Call: failedWork, Code: -9999})
	for !e.Done() {
	}
	d.Fail(faults.Fault{})
	require.ErrorIs(t, other.Finish(), device.ErrDriver, "its work came after")
	require.ErrorIs(t, s.Finish(), device.ErrDriver)
	require.ErrorIs(t, e.Wait(), device.ErrDriver)
	require.ErrorIs(t, other.WaitFor(e), device.ErrDriver)
	require.NoError(t, s.Finish())
	e.Release()

	e, err = s.Record()
	require.NoError(t, err)
	d.Fail(faults.Fault{Call: failedWork, Code: -5})
	require.ErrorIs(t, e.Wait(), device.ErrDriver)
	require.NoError(t, s.Finish(), "it was returned before")
}

// A wait that fails has an alternative. If nothing tells when work is over, every later call
// fails.
func TestBugWaitFails(t *testing.T) {
	dev := openTest(t, Options{})
	if dev.driver.properties.finishForgets {
		t.Skip("this driver's queues are waited for by events")
	}
	d := newFaultyDriver(t)
	q, b := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
	fill := func() error { return q.Fill(gputest.Words(b, 0, 16), []byte{1, 2, 3, 4}) }
	require.NoError(t, fill())
	d.Fail(faults.Fault{Call: "clFinish", Code: -36, Kind: faults.Always})
	require.ErrorIs(t, q.Wait(), device.ErrDriver)
	d.Fail(faults.Fault{Call: "clFinish", Code: 7})
	require.ErrorIs(t, q.Wait(), device.ErrDriver, "a code above 0 is an error, too")
	require.NoError(t, q.Wait())
	require.NoError(t, fill())

	d.Fail(faults.Fault{Call: "clFinish", Code: -36, Kind: faults.Lost})
	require.ErrorIs(t, q.Wait(), device.ErrDriver)
	d.Fail(faults.Fault{})
	for _, call := range []func() error{
		fill, q.Wait, func() error { return q.Write(b, 0, make([]byte, 64)) },
		func() error { return q.Read(make([]byte, 64), b, 0) },
		func() error { _, err := q.Record(); return err },
		func() error { _, err := dev.Alloc(1 << 20); return err },
		dev.Close,
	} {
		require.ErrorIs(t, call(), device.ErrDriver)
	}
}

// Errors of calls that query, and that release, are returned.
func TestBugErrorsDropped(t *testing.T) {
	dev := openTest(t, Options{})
	d := newFaultyDriver(t)
	d.Fail(faults.Fault{Call: "clGetKernelArgInfo", Code: -5})
	_, err := dev.Compile(userSource, "turned", "")
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	q, b := gputest.Queue(t, dev), gputest.Alloc(t, dev, 64)
	require.NoError(t, q.Fill(gputest.Words(b, 0, 16), []byte{1, 2, 3, 4}))
	d.Fail(faults.Fault{Call: "clReleaseKernel", Code: -48})
	require.ErrorIs(t, q.Close(), device.ErrDriver)
}

// An event is counted while a call waits for it: a failure to count must not release it too
// often.
func TestBugEventReleasedOnce(t *testing.T) {
	dev := openTest(t, Options{})
	if dev.driver.properties.finishForgets {
		t.Skip("this driver's queues are waited for by events")
	}
	d := newFaultyDriver(t)
	q, other := gputest.Queue(t, dev), gputest.Queue(t, dev)
	before := d.Calls()["clReleaseEvent"]
	e, err := q.Stream().Record()
	require.NoError(t, err)
	require.NoError(t, other.Stream().WaitFor(e))
	require.NoError(t, e.Wait())
	require.NoError(t, e.Wait())
	assert.Zero(t, d.Calls()["clReleaseEvent"]-before, "the other queue waits for it")
	e.Release()
	require.NoError(t, other.Wait())
	assert.Equal(t, 1, d.Calls()["clReleaseEvent"]-before)
}

// If a page's second slot cannot be made, the first one must be released.
func TestBugSlotsLeak(t *testing.T) {
	dev := openTest(t, Options{})
	d := newFaultyDriver(t)
	q := gputest.Queue(t, dev)
	dst, src, at := gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64), gputest.Alloc(t, dev, 64)
	require.NoError(t, q.Write(at, 0, make([]byte, 64)))
	to, from, indices, by := gputest.Take(dst, src, at)
	d.Fail(faults.Fault{Call: "clCreateSubBuffer", Code: -14, After: 1})
	before := d.Calls()["clReleaseMemObject"]
	require.ErrorIs(t, q.Take(to, from, indices, by), device.ErrDriver)
	released := d.Calls()["clReleaseMemObject"] - before
	assert.GreaterOrEqual(t, released, 2, "the page and its slot")
	require.NoError(t, q.Take(to, from, indices, by))
	require.NoError(t, q.Wait())
}
