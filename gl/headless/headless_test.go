package headless

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/glcontext"
)

func TestContext(t *testing.T) {
	c, err := New()
	devicetest.Require(t, "gl", err)
	t.Log(c.egl.Place())
	here, err := glcontext.Current()
	require.NoError(t, err)

	// Its functions work: GL_VERSION.
	version := dl.Call(uintptr(c.ProcAddress("glGetString")), 0x1F02)
	require.NotZero(t, version)
	assert.Equal(t, "4.", string(unsafe.Slice((*byte)(dl.Pointer(version)), 2)))

	require.ErrorIs(t, c.MakeCurrent(), device.ErrInvalid)
	require.NoError(t, c.Detach())
	_, err = glcontext.Current()
	require.ErrorIs(t, err, glcontext.ErrNone)
	require.ErrorIs(t, c.Detach(), device.ErrInvalid)
	require.NoError(t, c.MakeCurrent())
	again, err := glcontext.Current()
	require.NoError(t, err)
	assert.True(t, here.Same(again))

	require.NoError(t, c.Close())
	_, err = glcontext.Current()
	require.ErrorIs(t, err, glcontext.ErrNone)
	for _, call := range []func() error{c.MakeCurrent, c.Detach, c.Close} {
		require.ErrorIs(t, call(), device.ErrClosed)
	}
}

// Contexts of several threads are distinct, and close in any order.
func TestContexts(t *testing.T) {
	first, err := New()
	devicetest.Require(t, "gl", err)
	here, err := glcontext.Current()
	require.NoError(t, err)
	done := make(chan error)
	go func() {
		second, err := New()
		if err == nil {
			there, _ := glcontext.Current()
			assert.False(t, here.Same(there))
			err = second.Close()
		}
		done <- err
	}()
	require.NoError(t, <-done)
	again, err := glcontext.Current()
	require.NoError(t, err)
	assert.True(t, here.Same(again))
	require.NoError(t, first.Close())
}
