package glcontext_test

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/glcontext"
)

// A context of GLX, on a display without a screen.
func TestGLX(t *testing.T) {
	server, err := exec.LookPath("Xvfb")
	devicetest.Require(t, "gl", err)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x11, err := dl.Open("libX11.so.6")
	require.NoError(t, err)
	glx, err := dl.Open("libGL.so.1")
	require.NoError(t, err)
	name := append([]byte(startX(t, server)), 0)
	display := call(t, x11, "XOpenDisplay", uintptr(unsafe.Pointer(&name[0])))
	require.NotZero(t, display)
	defer call(t, x11, "XCloseDisplay", display)

	wanted, n := &[5]int32{drawableType, pbuffer, renderType, rgba}, new(int32)
	configs := call(t, glx, "glXChooseFBConfig", display, 0, uintptr(unsafe.Pointer(wanted)), uintptr(unsafe.Pointer(n)))
	require.NotZero(t, configs)
	config := *(*uintptr)(dl.Pointer(configs))
	size := &[5]int32{pbufferWidth, 16, pbufferHeight, 16}
	surface := call(t, glx, "glXCreatePbuffer", display, config, uintptr(unsafe.Pointer(size)))
	handle := call(t, glx, "glXCreateNewContext", display, config, rgbaType, 0, 1)
	require.NotZero(t, handle)
	call(t, glx, "glXMakeContextCurrent", display, surface, surface, handle)
	defer call(t, glx, "glXMakeContextCurrent", display, 0, 0, 0)

	c, err := glcontext.Current()
	require.NoError(t, err)
	assert.Equal(t, glcontext.Context{System: glcontext.GLX, Display: display, Handle: handle}, c)
	f, err := c.Functions()
	require.NoError(t, err)
	buffer := new(uint32)
	gl := func(name string, args ...uintptr) {
		at, err := c.Lookup(name)
		require.NoError(t, err)
		dl.Call(at, args...)
	}
	gl("glGenBuffers", 1, uintptr(unsafe.Pointer(buffer)))
	_, is := f.Buffer(*buffer)
	assert.False(t, is, "it is a name only")
	gl("glBindBuffer", arrayBuffer, uintptr(*buffer))
	gl("glBufferData", arrayBuffer, 4096, 0, dynamicCopy)
	b, is := f.Buffer(*buffer)
	assert.True(t, is)
	assert.Equal(t, glcontext.Buffer{Bytes: 4096}, b)
}

// The constants of GLX and GL in use.
const (
	drawableType, pbuffer       = 0x8010, 4
	renderType, rgba, rgbaType  = 0x8011, 1, 0x8014
	pbufferWidth, pbufferHeight = 0x8041, 0x8040
	arrayBuffer, dynamicCopy    = 0x8892, 0x88EA
)

//go:uintptrescapes
func call(t *testing.T, lib *dl.Library, name string, args ...uintptr) uintptr {
	at, err := lib.Lookup(name)
	require.NoError(t, err)
	return dl.Call(at, args...)
}

// startX starts a server, which ends with the test, and returns the name of its display.
func startX(t *testing.T, server string) string {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	cmd := exec.Command(server, "-displayfd", "3", "-screen", "0", "640x480x24", "-nolisten", "tcp")
	cmd.ExtraFiles = []*os.File{write}
	require.NoError(t, cmd.Start())
	require.NoError(t, write.Close())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	number, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	return ":" + strings.TrimSpace(number)
}
