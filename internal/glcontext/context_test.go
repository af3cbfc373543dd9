package glcontext_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/glcontext"
	"github.com/restride/restride/internal/gpu/gputest"
)

func TestCurrent(t *testing.T) {
	gl, err := gputest.NewGL(t)
	devicetest.Require(t, "gl", err)
	c, err := glcontext.Current()
	require.NoError(t, err)
	assert.Equal(t, glcontext.EGL, c.System)
	assert.NotZero(t, c.Display)
	assert.NotZero(t, c.Handle)

	gputest.Elsewhere(func() {
		_, err := glcontext.Current()
		assert.ErrorIs(t, err, glcontext.ErrNone)
	})
	require.NoError(t, gl.Context.Detach())
	_, err = glcontext.Current()
	require.ErrorIs(t, err, glcontext.ErrNone)
	require.NoError(t, gl.Context.MakeCurrent())
	again, err := glcontext.Current()
	require.NoError(t, err)
	assert.True(t, c.Same(again))

	other, err := gputest.NewGL(t)
	require.NoError(t, err)
	now, err := glcontext.Current()
	require.NoError(t, err)
	assert.False(t, c.Same(now))
	assert.NotEqual(t, c.String(), now.String())
	require.NoError(t, other.Context.Detach())
	require.NoError(t, gl.Context.MakeCurrent())
}

func TestBuffer(t *testing.T) {
	gl, err := gputest.NewGL(t)
	devicetest.Require(t, "gl", err)
	c, err := glcontext.Current()
	require.NoError(t, err)
	f, err := c.Functions()
	require.NoError(t, err)

	name := gl.Name(t)
	b, is := f.Buffer(name)
	require.True(t, is)
	assert.Zero(t, b)
	gl.Store(t, name, make([]byte, 4096))
	b, is = f.Buffer(name)
	require.True(t, is)
	assert.Equal(t, glcontext.Buffer{Bytes: 4096}, b)
	gl.Map(t, name, 4096)
	b, _ = f.Buffer(name)
	assert.Equal(t, glcontext.Buffer{Bytes: 4096, Mapped: true}, b)
	gl.Unmap(t, name)
	b, _ = f.Buffer(name)
	assert.False(t, b.Mapped)

	// Bindings are preserved.
	const copyRead = 0x8F36
	gl.Call(t, "glBindBuffer", copyRead, uintptr(name))
	_, is = f.Buffer(gl.Buffer(t, make([]byte, 16)))
	require.True(t, is)
	integer, err := c.Lookup("glGetIntegerv")
	require.NoError(t, err)
	bound := new(int32)
	dl.Call(integer, copyRead, uintptr(unsafe.Pointer(bound)))
	assert.EqualValues(t, name, *bound)

	gl.Delete(t, name)
	for _, none := range []uint32{0, name, 12345} {
		_, is = f.Buffer(none)
		assert.False(t, is, none)
	}
	assert.Zero(t, gl.Error())
	f.Finish()
}
