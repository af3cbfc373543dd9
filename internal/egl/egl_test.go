package egl

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/dl"
)

func TestContext(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := New()
	if err != nil {
		err = fmt.Errorf("%w: %w", device.ErrNoDevice, err)
	}
	devicetest.Require(t, "gl", err)
	t.Log(c.Place())
	lib, err := dl.Open("libEGL.so.1")
	require.NoError(t, err)
	current, err := lib.Lookup("eglGetCurrentContext")
	require.NoError(t, err)
	assert.Equal(t, c.handle, dl.Call(current))
	require.NoError(t, c.Detach())
	assert.Zero(t, dl.Call(current))
	require.NoError(t, c.MakeCurrent())
	require.NoError(t, c.Detach())
	require.NoError(t, c.Close())
}
