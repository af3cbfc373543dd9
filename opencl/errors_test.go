//go:build linux && (amd64 || arm64)

package opencl

import (
	"sync/atomic"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu/gputest"
)

// fault makes a function of the driver fail with a code in its next few calls.
type fault struct{ code, left atomic.Int64 }

func (f *fault) next(code int32, times int64) {
	f.code.Store(int64(code))
	f.left.Store(times)
}

// inject puts a fault into a function until the test ends. Such a test must not run in parallel
// with others.
func inject(t *testing.T, f *fn) *fault {
	t.Helper()
	require.NoError(t, load())
	real := f.addr
	var fake uintptr
	it := new(fault)
	pass := func(args ...uintptr) uintptr {
		if it.left.Add(-1) >= 0 {
			return uintptr(uint32(it.code.Load()))
		}
		return dl.Call(real, args...)
	}
	switch f {
	case clEnqueueNDRangeKernel, clEnqueueWriteBuffer, clEnqueueReadBuffer:
		fake = purego.NewCallback(func(a, b, c, d, e, f, g, h, i uintptr) uintptr { return pass(a, b, c, d, e, f, g, h, i) })
	case clFinish:
		fake = purego.NewCallback(func(a uintptr) uintptr { return pass(a) })
	default:
		t.Fatalf("no fake for %s", f.name)
	}
	f.addr = fake
	t.Cleanup(func() { f.addr = real })
	return it
}

// Drivers that allocate late run out of memory when work is queued. Idle memory of the pool is
// released, and the work is queued again.
func TestLateOutOfMemory(t *testing.T) {
	for _, f := range []*fn{clEnqueueNDRangeKernel, clEnqueueWriteBuffer, clEnqueueReadBuffer} {
		t.Run(f.name, func(t *testing.T) {
			dev := openTest(t, Options{})
			q := gputest.Queue(t, dev)
			x := gputest.Alloc(t, dev, 1<<16)
			idle := gputest.Alloc(t, dev, 1<<20)
			require.NoError(t, idle.Free())
			require.Greater(t, dev.Stats().Reserved, int64(1<<20))

			work := func() error {
				switch f {
				case clEnqueueWriteBuffer:
					return q.Write(x, 0, []byte{1, 1, 1, 1})
				case clEnqueueReadBuffer:
					return q.Read(make([]byte, 4), x, 0)
				}
				return q.Fill(gputest.Bytes(x, 1<<16), []byte{1})
			}
			require.NoError(t, q.Write(x, 0, []byte{1, 1, 1, 1}))
			require.NoError(t, work())
			before := dev.Stats()
			fault := inject(t, f)
			fault.next(memObjectAllocationFailure, 1)
			require.NoError(t, work(), "it is tried again")
			assert.Negative(t, fault.left.Load())
			assert.LessOrEqual(t, dev.Stats().Reserved, int64(1<<16), "the idle block was given back")

			fault.next(memObjectAllocationFailure, 2)
			err := work()
			require.ErrorIs(t, err, device.ErrOutOfMemory)
			require.ErrorIs(t, err, device.ErrDriver)
			assert.ErrorContains(t, err, f.name)
			assert.ErrorContains(t, err, "CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)")
			assert.Regexp(t, `\d+ bytes.* of \d+ are held`, err.Error())
			after := dev.Stats()
			assert.Equal(t, before.Launches+before.Uploads+before.Downloads+1, after.Launches+after.Uploads+after.Downloads, "what failed does not count")

			fault.next(-38, 1)
			err = work()
			require.ErrorIs(t, err, device.ErrDriver)
			require.NotErrorIs(t, err, device.ErrOutOfMemory)
			assert.ErrorContains(t, err, "CL_INVALID_MEM_OBJECT (-38)")
			assert.Less(t, fault.left.Load(), int64(1), "another error is not tried again")

			require.NoError(t, work())
			got := make([]byte, 4)
			require.NoError(t, q.Read(got, x, 0))
			assert.Equal(t, []byte{1, 1, 1, 1}, got)
		})
	}
}

// An error that the driver reports at the end is returned once, by Wait.
func TestWaitReturnsTheError(t *testing.T) {
	dev := openTest(t, Options{})
	q := gputest.Queue(t, dev)
	fault := inject(t, clFinish)
	fault.next(outOfHostMemory, 1)
	require.ErrorIs(t, q.Wait(), device.ErrOutOfMemory)
	fault.next(outOfResources, 1) // the code of NVIDIA's driver for a kernel that failed
	err := q.Wait()
	require.ErrorIs(t, err, device.ErrDriver)
	require.NotErrorIs(t, err, device.ErrOutOfMemory)
	require.NoError(t, q.Wait())
	fault.next(-36, 1)
	require.ErrorIs(t, q.Close(), device.ErrDriver)
	require.ErrorIs(t, q.Close(), device.ErrClosed)
}
