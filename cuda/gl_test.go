package cuda

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/gpu/gputest"
)

// openGL makes a GL context current, and opens a device.
func openGL(t *testing.T) (*gputest.GL, *Device) {
	gl, err := gputest.NewGL(t)
	devicetest.Require(t, "gl", err)
	dev := openTest(t)
	if err := dev.CheckGL(); err != nil { // a GPU whose driver has no EGL installed
		t.Skip(err)
	}
	return gl, dev
}

func TestShareGL(t *testing.T) {
	gputest.ShareGL(t, func(t *testing.T) (*gputest.GL, device.Device) { return openGL(t) })
}

// TestShareGLSlowly runs it again where the device is slow at random; and without waits for
// events, which it must detect.
func TestShareGLSlowly(t *testing.T) {
	if os.Getenv(child) != "" {
		t.Skip("in a process of its own")
	}
	_, err := gputest.NewGL(t)
	devicetest.Require(t, "gl", err)
	out, err := inChild(t, "^TestShareGL$", "RESTRIDE_SIM_DELAY=150", "RESTRIDE_SIM_SEED=8")
	require.NoError(t, err, "%s", out)
	require.Contains(t, out, "--- PASS: TestShareGL/Queues ")

	// Delays far beyond the duration of the host's calls, on any load.
	out, err = inChild(t, "^TestShareGL$/^(Order|Queues)$", "RESTRIDE_SIM_DELAY=3000", "RESTRIDE_SIM_PLANT=skipwait")
	require.Error(t, err, "%s", out)
	assert.Contains(t, out, "--- PASS: TestShareGL/Order ")
	assert.Contains(t, out, "--- FAIL: TestShareGL/Queues ")
	assert.NotContains(t, out, "panic:")
}

// A GL context of another GPU, of none, and drivers that cannot tell.
func TestGLElsewhere(t *testing.T) {
	if os.Getenv(child) == "" {
		out, err := inChild(t, "^TestGLElsewhere$", "RESTRIDE_SIM_DEVICES=2")
		require.NoError(t, err, "%s", out)
		return
	}
	k := simulated(t)
	gl, dev := openGL(t)
	name := gl.Buffer(t, make([]byte, 64))
	for of, word := range map[string]string{"1": "is not on cuda:0, but on another GPU", "7": "on no GPU of CUDA's"} {
		k.turn(t, "GL_DEVICE", of)
		_, err := dev.ShareGL(name, device.GLRead)
		for _, err := range []error{err, dev.CheckGL()} {
			require.ErrorIs(t, err, device.ErrUnsupported)
			assert.ErrorContains(t, err, word)
		}
	}
	k.turn(t, "GL_DEVICE", "1")
	other, err := OpenWith(1, Options{})
	require.NoError(t, err)
	b, err := other.ShareGL(name, device.GLRead)
	require.NoError(t, err)
	_, err = b.Acquire(gputest.Queue(t, dev))
	require.ErrorIs(t, err, device.ErrInvalid)
	require.NoError(t, b.Close())
	require.NoError(t, other.Close())
}

// If the first call of a queue runs out of memory, its later work must not count as done.
func TestBugAcquireWithoutMemory(t *testing.T) {
	k := simulated(t)
	gl, dev := openGL(t)
	b, err := dev.ShareGL(gl.Buffer(t, make([]byte, 64)), device.GLReadWrite)
	require.NoError(t, err)
	q := gputest.Queue(t, dev)
	k.turn(t, "FAIL", "cuGraphicsMapResources=2")
	_, err = b.Acquire(q)
	require.ErrorIs(t, err, device.ErrOutOfMemory)
	k.turn(t, "FAIL", "")
	own := gputest.Alloc(t, dev, 64)
	gputest.Fill(t, q, own, 1)
	require.NoError(t, q.Wait())
	k.turn(t, "DELAY", "20000")
	for range 50 { // half a second
		gputest.Fill(t, q, own, 1)
	}
	e, err := q.Record()
	require.NoError(t, err)
	assert.False(t, e.Done())
	require.NoError(t, q.Wait())
	assert.True(t, e.Done())
}

// Memory that differs from the shared buffer, and memory that kernels cannot access.
func TestGLMemory(t *testing.T) {
	m := &glMem{name: 3, bytes: 64}
	require.NoError(t, m.check(4096, 64))
	err := m.check(4096, 60)
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "GL buffer 3 has 60 bytes, and had 64 when it was shared")
	err = m.check(4096+8, 64)
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "GL buffer 3 is at address 0x1008")
}

// After a refusal of the driver, nothing is left half done.
func TestGLFailures(t *testing.T) {
	k := simulated(t)
	gl, dev := openGL(t)
	name := gl.Buffer(t, make([]byte, 64))
	q := gputest.Queue(t, dev)
	before := k.Count("resources")
	failing := func(what string, f func() error) {
		t.Helper()
		k.turn(t, "FAIL", what)
		err := f()
		k.turn(t, "FAIL", "")
		require.ErrorIs(t, err, device.ErrDriver)
	}
	failing("cuGraphicsGLRegisterBuffer=999", func() error {
		_, err := dev.ShareGL(name, device.GLReadWrite)
		return err
	})
	b, err := dev.ShareGL(name, device.GLReadWrite)
	require.NoError(t, err)
	acquire := func() error {
		_, err := b.Acquire(q)
		return err
	}
	failing("cuGraphicsMapResources=999", acquire)
	failing("cuGraphicsResourceGetMappedPointer=999", acquire) // and is unmapped
	k.turn(t, "FAIL", "cuGraphicsMapResources=2")
	require.ErrorIs(t, acquire(), device.ErrOutOfMemory)
	k.turn(t, "FAIL", "")
	for i := range byte(2) {
		m, err := b.Acquire(q)
		require.NoError(t, err)
		gputest.Fill(t, q, m, i)
		failing("cuGraphicsUnmapResources=999", func() error { return b.Release(q) })
		require.ErrorIs(t, q.Fill(gputest.Words(m, 0, 1), make([]byte, 4)), device.ErrClosed)
		require.NoError(t, b.Release(q))
		assert.Equal(t, i, gl.Bytes(t, name, 64)[63])
	}
	failing("cuGraphicsUnregisterResource=999", b.Close)
	require.NoError(t, b.Close())
	assert.Equal(t, before, k.Count("resources"))

	// Close of the device where the context is not current: it reports what it left.
	lost, err := dev.ShareGL(name, device.GLReadWrite)
	require.NoError(t, err)
	gputest.Elsewhere(func() { err = dev.Close() })
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "GL buffer")
	require.ErrorIs(t, lost.Close(), device.ErrClosed)
}
