package opencl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/gpu/gputest"
)

// shimPath builds glshim, once: no CPU driver shares with GL by itself.
var shimPath = sync.OnceValues(func() (string, error) {
	for _, tool := range []string{"make", "g++"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("glshim cannot be built: %w", err)
		}
	}
	if _, err := os.Stat("glshim/glshim.cpp"); err != nil { // a test binary on another machine
		return "", fmt.Errorf("glshim cannot be built: %w", err)
	}
	cmd := exec.Command("make", "gl-shim")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make gl-shim: %w\n%s", err, out)
	}
	return filepath.Abs("../build/glshim/libOpenCL.so")
})

// onShim tells a test that it runs in a process of its own, with glshim as the library.
const onShim = "RESTRIDE_TEST_GLSHIM"

// underShim runs a test again on glshim, with more variables, and returns its output.
func underShim(t *testing.T, test string, env ...string) (string, error) {
	t.Helper()
	path, err := shimPath()
	devicetest.Require(t, "compilers", err)
	cmd := exec.Command(os.Args[0], "-test.run="+test, "-test.v", "-test.short", "-test.timeout=300s")
	cmd.Env = append(append(os.Environ(), onShim+"=1", "RESTRIDE_LIBOPENCL="+path), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// need skips a test without GL, or without OpenCL.
func need(t *testing.T) {
	t.Helper()
	_, err := gputest.NewGL(t)
	devicetest.Require(t, "gl", err)
	require.NoError(t, openTest(t, Options{}).Close())
}

// openGL makes a GL context current, and opens a device for sharing with it.
func openGL(t *testing.T) (*gputest.GL, *Device) {
	gl, err := gputest.NewGL(t)
	devicetest.Require(t, "gl", err)
	current, err := CurrentGL()
	require.NoError(t, err)
	return gl, openTest(t, Options{GL: current})
}

// TestShareGL runs the tests of sharing with drivers that order its work themselves, and
// with others.
func TestShareGL(t *testing.T) {
	if os.Getenv(onShim) != "" {
		gputest.ShareGL(t, func(t *testing.T) (*gputest.GL, device.Device) {
			gl, dev := openGL(t)
			assert.Equal(t, os.Getenv("RESTRIDE_GLSHIM_EVENT") == "1", dev.driver.glOrdered)
			return gl, dev
		})
		return
	}
	need(t)
	for name, event := range map[string]string{"Waits": "0", "Events": "1"} {
		t.Run(name, func(t *testing.T) {
			out, err := underShim(t, "^TestShareGL$", "RESTRIDE_GLSHIM_EVENT="+event)
			require.NoError(t, err, "%s", out)
			assert.Contains(t, out, "--- PASS: TestShareGL/Queues ")
			assert.NotContains(t, out, "glshim:", "it found wrong use")
		})
	}
}

// Drivers that do not share with GL, or not with this context.
func TestGLElsewhere(t *testing.T) {
	if os.Getenv(onShim) != "" {
		_, err := gputest.NewGL(t)
		require.NoError(t, err)
		current, err := CurrentGL()
		require.NoError(t, err)
		_, err = OpenWith(0, Options{GL: current})
		require.ErrorIs(t, err, device.ErrUnsupported)
		t.Log("refused:", err)
		return
	}
	need(t)
	for variable, word := range map[string]string{
		"RESTRIDE_GLSHIM_DEVICE=none": "is not the device of the EGL context",
		"RESTRIDE_GLSHIM_DEVICE=late": "makes no context that shares with the EGL context",
	} {
		out, err := underShim(t, "^TestGLElsewhere$", variable)
		require.NoError(t, err, "%s", out)
		assert.Contains(t, out, "refused:")
		assert.Contains(t, out, word)
	}

	gl, err := gputest.NewGL(t)
	require.NoError(t, err)
	plain := openTest(t, Options{})
	_, err = plain.ShareGL(gl.Buffer(t, make([]byte, 64)), device.GLRead)
	for _, err := range []error{err, plain.CheckGL()} {
		require.ErrorIs(t, err, device.ErrUnsupported)
		assert.ErrorContains(t, err, "Options.GL")
	}
	current, err := CurrentGL()
	require.NoError(t, err)
	if plain.driver.properties.has("cl_khr_gl_sharing") {
		return
	}
	_, err = OpenWith(0, Options{GL: current})
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "cl_khr_gl_sharing")
	_, err = Adopt(plain.Handles(), Options{GL: current})
	require.ErrorIs(t, err, device.ErrUnsupported)
	gputest.Elsewhere(func() {
		_, err := CurrentGL()
		assert.ErrorIs(t, err, device.ErrInvalid)
	})
}

// An engine's context that was made for sharing, and one that was not.
func TestAdoptGL(t *testing.T) {
	if os.Getenv(onShim) == "" {
		need(t)
		out, err := underShim(t, "^TestAdoptGL$")
		require.NoError(t, err, "%s", out)
		return
	}
	gl, engine := openGL(t)
	current, err := CurrentGL()
	require.NoError(t, err)
	dev, err := Adopt(engine.Handles(), Options{GL: current})
	require.NoError(t, err)
	b, err := dev.ShareGL(gl.Buffer(t, make([]byte, 64)), device.GLReadWrite)
	require.NoError(t, err)
	require.NoError(t, b.Close())
	_, err = dev.driver.ShareGL(gl.Buffer(t, make([]byte, 64)), 60, device.GLReadWrite)
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "has 60 bytes; its cl_mem has 64")
	require.NoError(t, dev.Close())

	_, err = Adopt(openTest(t, Options{}).Handles(), Options{GL: current})
	require.ErrorIs(t, err, device.ErrInvalid)
	assert.ErrorContains(t, err, "was not made for sharing")

	// A GL context that is not the device's.
	other, err := gputest.NewGL(t)
	require.NoError(t, err)
	_, err = engine.ShareGL(other.Buffer(t, make([]byte, 64)), device.GLRead)
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "was made for sharing with")
	_, err = OpenWith(0, Options{GL: current})
	require.ErrorIs(t, err, device.ErrUnsupported)
	assert.ErrorContains(t, err, "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR")
	require.NoError(t, other.Context.Detach())
	require.NoError(t, gl.Context.MakeCurrent())
}

// Errors that glshim must detect, by its messages.
var glFaults = map[string]struct {
	commit func(*testing.T, *gputest.GL, *Device) error
	word   string
}{
	"NoFinishOfGL":  {noFinishOfGL, "what is acquired is still in use by GL"},
	"NoFinish":      {noFinish, "GL cannot use what is not finished"},
	"WriteAfter":    {writeAfter, "a buffer was written while it was GL's"},
	"WriteToRead":   {writeToRead, "a buffer was written that is shared to be read"},
	"Twice":         {twice, "what is acquired was acquired before"},
	"NotAcquired":   {notAcquired, "what is released was not acquired"},
	"WrongThread":   {wrongThread, "the GL context is not current on the calling thread"},
	"CloseAcquired": {closeAcquired, "the last reference to what is acquired was released"},
	"Deleted":       {deleted, "a GL buffer was deleted, or unmapped, while it was acquired"},
}

func TestGLFaults(t *testing.T) {
	if name := os.Getenv("RESTRIDE_TEST_FAULT"); name != "" {
		gl, dev := openGL(t)
		err := glFaults[name].commit(t, gl, dev)
		require.Error(t, err)
		t.Log("found:", err)
		return
	}
	need(t)
	for name, fault := range glFaults {
		t.Run(name, func(t *testing.T) {
			out, err := underShim(t, "^TestGLFaults$", "RESTRIDE_TEST_FAULT="+name)
			require.NoError(t, err, "%s", out)
			assert.Contains(t, out, "found:")
			assert.Contains(t, out, fault.word)
		})
	}
}

// mem is a GL buffer of 64 bytes, below the device's checks.
func mem(t *testing.T, gl *gputest.GL, dev *Device, use device.GLUse) (uint32, *glMem, *stream) {
	name := gl.Buffer(t, make([]byte, 64))
	m, err := dev.driver.ShareGL(name, 64, use)
	require.NoError(t, err)
	return name, m.(*glMem), gputest.Queue(t, dev).Stream().(*stream)
}

// write makes OpenCL change the first bytes.
func write(t *testing.T, s *stream, m *glMem) {
	data := []byte{1, 2, 3, 4}
	require.NoError(t, clEnqueueWriteBuffer.call(s.handle, m.handle, yes, 0, 4, uintptr(unsafe.Pointer(&data[0])), 0, 0, 0))
}

// The driver does not order the work, although the device expects it.
func noFinishOfGL(t *testing.T, gl *gputest.GL, dev *Device) error {
	lib, err := dl.Open(os.Getenv("RESTRIDE_LIBOPENCL"))
	require.NoError(t, err)
	expect, err := lib.Lookup("restrideGLShimExpect")
	require.NoError(t, err)
	q := gputest.Queue(t, dev)
	acquire := func() error {
		b, err := dev.ShareGL(gl.Buffer(t, make([]byte, 64)), device.GLReadWrite)
		require.NoError(t, err)
		dl.Call(expect, gl.Busy(t))
		_, err = b.Acquire(q)
		return err
	}
	require.NoError(t, acquire())
	dev.driver.glOrdered = true
	return acquire()
}

func noFinish(t *testing.T, gl *gputest.GL, dev *Device) error {
	q := gputest.Queue(t, dev)
	release := func() uint32 {
		name := gl.Buffer(t, make([]byte, 64))
		b, err := dev.ShareGL(name, device.GLReadWrite)
		require.NoError(t, err)
		_, err = b.Acquire(q)
		require.NoError(t, err)
		require.NoError(t, b.Release(q))
		return gl.TryBytes(name, 64)
	}
	require.Zero(t, release())
	dev.driver.glOrdered = true
	if code := release(); code != 0 {
		return fmt.Errorf("GL cannot use what is not finished: error %#x", code)
	}
	return nil
}

func writeAfter(t *testing.T, gl *gputest.GL, dev *Device) error {
	_, m, s := mem(t, gl, dev, device.GLReadWrite)
	_, err := m.Acquire(s)
	require.NoError(t, err)
	require.NoError(t, m.Release(s))
	write(t, s, m)
	_, err = m.Acquire(s)
	return err
}

func writeToRead(t *testing.T, gl *gputest.GL, dev *Device) error {
	_, m, s := mem(t, gl, dev, device.GLRead)
	_, err := m.Acquire(s)
	require.NoError(t, err)
	write(t, s, m)
	return m.Release(s)
}

func twice(t *testing.T, gl *gputest.GL, dev *Device) error {
	_, m, s := mem(t, gl, dev, device.GLRead)
	_, err := m.Acquire(s)
	require.NoError(t, err)
	_, err = m.Acquire(s)
	return err
}

func notAcquired(t *testing.T, gl *gputest.GL, dev *Device) error {
	_, m, s := mem(t, gl, dev, device.GLRead)
	return m.Release(s)
}

func wrongThread(t *testing.T, gl *gputest.GL, dev *Device) (err error) {
	_, m, s := mem(t, gl, dev, device.GLRead)
	gputest.Elsewhere(func() { _, err = m.Acquire(s) })
	return err
}

func closeAcquired(t *testing.T, gl *gputest.GL, dev *Device) error {
	_, m, s := mem(t, gl, dev, device.GLRead)
	_, err := m.Acquire(s)
	require.NoError(t, err)
	return m.Close()
}

func deleted(t *testing.T, gl *gputest.GL, dev *Device) error {
	name, m, s := mem(t, gl, dev, device.GLRead)
	_, err := m.Acquire(s)
	require.NoError(t, err)
	gl.Delete(t, name)
	return m.Release(s)
}
