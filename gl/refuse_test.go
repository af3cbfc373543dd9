//go:build gogl

package gl

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-gl/gl/v4.3-core/gl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/gl/headless"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

func TestRefusals(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		for _, c := range []struct {
			use  device.GLUse
			t    layout.DType
			dims []int64
		}{
			{9, layout.Uint8, []int64{4}}, {0, layout.String, []int64{4}}, {0, 0, []int64{4}}, {0, 99, []int64{4}},
			{0, layout.Uint8, []int64{-1}}, {0, layout.Float32, []int64{1 << 40, 1 << 40}}, {0, layout.Uint8, []int64{1<<63 - 1}},
		} {
			_, err := in.NewBuffer(c.use, c.t, c.dims...)
			require.ErrorIs(t, err, device.ErrInvalid)
		}
		dense, err := layout.Contiguous(16)
		require.NoError(t, err)
		_, err = in.Buffer(12345, layout.Uint8, dense, device.GLRead)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "no buffer 12345")
		_, err = in.Buffer(0, layout.Uint8, dense, device.GLRead)
		require.ErrorIs(t, err, device.ErrInvalid)

		b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 4)
		_, err = in.Buffer(b.Name(), layout.Float64, dense, device.GLRead)
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "beyond")
		require.ErrorIs(t, b.Release(), device.ErrInvalid)
		x := acquire(t, b)
		_, err = b.Acquire()
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "Release comes first")
		require.ErrorIs(t, b.Close(), device.ErrInvalid)
		view, err := x.Slice(0, 0, 2, 1)
		require.NoError(t, err)
		require.NoError(t, b.Release())
		require.ErrorIs(t, b.Release(), device.ErrInvalid)
		_, err = view.Clone() // of a view that outlives Release
		require.ErrorIs(t, err, device.ErrClosed)
		require.NoError(t, view.Release())
		name := b.Name()
		require.NoError(t, b.Close())
		require.False(t, gl.IsBuffer(name))
		for _, call := range []func() error{b.Release, b.Close, func() error { _, err := b.Acquire(); return err }} {
			require.ErrorIs(t, call(), device.ErrInvalid)
		}
		require.ErrorIs(t, b.Close(), device.ErrClosed)
	})
}

// No elements are valid.
func TestNoElements(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		b := newBuffer(t, in, device.GLReadWrite, layout.Float32, 0, 3)
		assert.Zero(t, acquire(t, b).Count())
		require.NoError(t, b.Release())
	})
}

// A buffer that others deleted, unmapped or resized.
func TestBufferGone(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 1024)
		name := b.Name()
		gl.DeleteBuffers(1, &name)
		_, err := b.Acquire()
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "deleted")
		if in.Way() == Mapped {
			c := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 1024)
			bound(gl.COPY_READ_BUFFER, c.Name(), func() { gl.UnmapBuffer(gl.COPY_READ_BUFFER) })
			_, err = c.Acquire()
			require.ErrorIs(t, err, device.ErrInvalid)
			require.ErrorContains(t, err, "unmapped")
			require.NoError(t, c.Close())
			return
		}
		c := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 1024)
		bound(gl.COPY_READ_BUFFER, c.Name(), func() { gl.BufferData(gl.COPY_READ_BUFFER, 512, nil, gl.STATIC_DRAW) })
		_, err = c.Acquire()
		require.ErrorIs(t, err, device.ErrInvalid)
		require.ErrorContains(t, err, "512")
	})
}

// Storage that cannot stay mapped, and a buffer that is mapped already.
func TestMappedRefusals(t *testing.T) {
	current(t)
	in, err := New(open(t, "cpu"), Options{Require: Mapped})
	require.NoError(t, err)
	dense, err := layout.Contiguous(16)
	require.NoError(t, err)
	var names [2]uint32
	gl.GenBuffers(2, &names[0])
	defer gl.DeleteBuffers(2, &names[0])
	bound(gl.COPY_READ_BUFFER, names[0], func() { gl.BufferData(gl.COPY_READ_BUFFER, 64, nil, gl.STATIC_DRAW) })
	_, err = in.Buffer(names[0], layout.Uint8, dense, device.GLRead)
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "glBufferStorage")
	bound(gl.COPY_READ_BUFFER, names[1], func() { gl.BufferStorage(gl.COPY_READ_BUFFER, 64, nil, mappable) })
	b, err := in.Buffer(names[1], layout.Uint8, dense, device.GLRead)
	require.NoError(t, err)
	_, err = in.Buffer(names[1], layout.Uint8, dense, device.GLRead)
	require.ErrorIs(t, err, device.ErrInvalid)
	require.ErrorContains(t, err, "mapped already")
	require.NoError(t, b.Close())
	f, err := in.factsOf("the test", names[1]) // which still belongs to the program, and is unmapped
	require.NoError(t, err)
	assert.Zero(t, f.mapped)
}

// Another thread, another context, none: errors, and nothing happens.
func TestThreads(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 4, 8, 4)
		picture := texture(t, gl.RGBA8, 8, 4, 1)
		dense, err := layout.Contiguous(16)
		require.NoError(t, err)
		calls := map[string]func() error{
			"Acquire": func() error { _, err := b.Acquire(); return err }, "Release": b.Release, "Close": b.Close,
			"FromTexture": func() error { return b.FromTexture(picture, 0) }, "ToTexture": func() error { return b.ToTexture(picture, 0) },
			"NewBuffer": func() error { _, err := in.NewBuffer(0, layout.Uint8, 4); return err },
			"Buffer":    func() error { _, err := in.Buffer(b.Name(), layout.Uint8, dense, 0); return err },
		}
		wrong := func(words string, calls map[string]func() error) {
			for name, call := range calls {
				err := call()
				assert.ErrorIs(t, err, device.ErrInvalid, name)
				assert.ErrorContains(t, err, words, name)
			}
		}
		acquire(t, b)
		elsewhere := make(chan struct{})
		go func() {
			defer close(elsewhere)
			wrong("LockOSThread", calls)
			wrong("LockOSThread", map[string]func() error{"New": func() error { _, err := New(in.stream, Options{}); return err }})
		}()
		<-elsewhere
		other := make(chan struct{})
		go func() {
			defer close(other)
			c, err := headless.New()
			if assert.NoError(t, err) {
				wrong("New found", calls)
				assert.NoError(t, c.Close())
			}
		}()
		<-other
		require.NoError(t, b.Release())
		require.NoError(t, b.FromTexture(picture, 0))
	})
}

// A GL error of the program's call is returned once, and is not attributed to another call.
func TestEarlierError(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 16)
		gl.Enable(gl.TEXTURE_BINDING_2D) // is nothing to enable
		_, err := b.Acquire()
		require.ErrorIs(t, err, device.ErrDriver)
		require.ErrorContains(t, err, "earlier call")
		require.ErrorContains(t, err, "GL_INVALID_ENUM")
		acquire(t, b)
		gl.Enable(gl.TEXTURE_BINDING_2D)
		require.ErrorIs(t, b.Release(), device.ErrDriver)
		require.ErrorIs(t, b.Release(), device.ErrInvalid) // it is released even so
	})
}

func TestNew(t *testing.T) {
	_, err := New(nil, Options{})
	require.ErrorIs(t, err, device.ErrInvalid)
	current(t)
	s := open(t, "cpu")
	_, err = New(s, Options{Require: 9})
	require.ErrorIs(t, err, device.ErrInvalid)
	_, err = New(s, Options{Require: Shared})
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "shared: ")
	in, err := New(s, Options{})
	require.NoError(t, err)
	assert.Equal(t, Mapped, in.Way())
	require.ErrorContains(t, in.Why(), "shared: ")
	_, err = (*Interop)(nil).NewBuffer(0, layout.Uint8, 4)
	require.ErrorIs(t, err, device.ErrInvalid)
	require.Error(t, (*Buffer)(nil).Close())
	require.Error(t, (*Buffer)(nil).Release())
	_, err = (*Buffer)(nil).Acquire()
	require.Error(t, err)
	assert.Equal(t, []string{"shared", "mapped", "staged", "Way(7)"}, []string{Shared.String(), Mapped.String(), Staged.String(), Way(7).String()})
}

// More memory than GL has.
func TestOutOfMemory(t *testing.T) {
	eachWay(t, func(t *testing.T, in *Interop) {
		_, err := in.NewBuffer(0, layout.Uint8, 1<<46)
		require.ErrorIs(t, err, device.ErrOutOfMemory)
	})
}

// With drivers that lack functions newer than OpenGL 4.3, no missing function is called.
func TestOldDrivers(t *testing.T) {
	if os.Getenv("RESTRIDE_TEST_OLD") != "" {
		current(t)
		in, err := New(open(t, "cpu"), Options{})
		if errors.Is(err, device.ErrUnsupported) {
			t.Log("unsupported:", err)
			return
		}
		require.NoError(t, err)
		t.Log("way:", in.Way(), in.Why())
		b := newBuffer(t, in, device.GLReadWrite, layout.Uint8, 16)
		acquire(t, b)
		require.NoError(t, b.Release())
		return
	}
	current(t)
	if version := gl.GoStr(gl.GetString(gl.VERSION)); !strings.Contains(version, "Mesa") {
		t.Skip("the driver takes no orders: ", version)
	}
	for version, want := range map[string]string{"4.3": "way: staged", "3.3": "unsupported: New: OpenGL 4.3 is needed; the context has 3.3"} {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestOldDrivers$")
		cmd.Env = append(os.Environ(), "RESTRIDE_TEST_OLD=1", "MESA_GL_VERSION_OVERRIDE="+version, "MESA_EXTENSION_OVERRIDE=-GL_ARB_buffer_storage")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), want)
	}
}

// The stream and the device are closed first: GL still gets its buffer back.
func TestClosedStream(t *testing.T) {
	for _, name := range devices {
		for way := Shared; way <= Staged; way++ {
			for _, acquired := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/%v", name, way, acquired), func(t *testing.T) {
					current(t)
					opened := device.Open
					if way == Shared {
						opened = openShared
					}
					dev, err := opened(name)
					if err != nil {
						t.Skip(err)
					}
					s, err := tensor.NewStream(dev)
					require.NoError(t, err)
					in, err := New(s, Options{Require: way})
					if err != nil {
						require.NoError(t, errors.Join(s.Close(), dev.Close()))
						t.Skip(err)
					}
					b, err := in.NewBuffer(device.GLReadWrite, layout.Uint8, 64)
					require.NoError(t, err)
					if acquired {
						_, err = b.Acquire()
						require.NoError(t, err)
					}
					require.NoError(t, errors.Join(s.Close(), dev.Close()))
					if !acquired { // the host's own memory is available even so
						_, err = b.Acquire()
						acquired = err == nil
					}
					if acquired {
						err = b.Release()
					}
					require.ErrorIs(t, err, device.ErrClosed)
					t.Log(b.Close())
					assert.False(t, gl.IsBuffer(b.Name()))
				})
			}
		}
	}
}

// A driver that claims to share, and then does not.
func TestSharingFails(t *testing.T) {
	const child = "RESTRIDE_TEST_NOT_SHARED"
	if os.Getenv(child) != "" {
		current(t)
		in, err := New(open(t, "cuda:0"), Options{})
		require.NoError(t, err)
		assert.Equal(t, Staged, in.Way())
		assert.ErrorContains(t, in.Why(), os.Getenv(child))
		return
	}
	if os.Getenv("RESTRIDE_LIBCUDA") == "" {
		t.Skip("there is no simulated driver")
	}
	current(t)
	for _, call := range []string{"cuGraphicsGLRegisterBuffer", "cuGraphicsMapResources"} {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestSharingFails$")
		cmd.Env = append(os.Environ(), child+"="+call, "RESTRIDE_SIM_FAIL="+call+"=304")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// A size that a device refuses is reported immediately, and the buffer is not left mapped.
func TestOddSize(t *testing.T) {
	current(t)
	in, err := New(open(t, "opencl:0"), Options{Require: Mapped})
	if errors.Is(err, device.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	var name uint32
	gl.GenBuffers(1, &name)
	defer gl.DeleteBuffers(1, &name)
	bound(gl.COPY_READ_BUFFER, name, func() { gl.BufferStorage(gl.COPY_READ_BUFFER, 62, nil, mappable) })
	dense, err := layout.Contiguous(16)
	require.NoError(t, err)
	_, err = in.Buffer(name, layout.Uint8, dense, device.GLRead)
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, "multiple")
	f, err := in.factsOf("the test", name)
	require.NoError(t, err)
	assert.Zero(t, f.mapped)
}
