package gputest

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/egl"
	"github.com/restride/restride/internal/glcontext"
)

// GL is a GL context without a window, which is current on the thread of a test.
type GL struct {
	Context *egl.Context
	at      map[string]uintptr // functions
}

// NewGL makes a context, and locks the test's goroutine to its thread. Where there is no GL,
// the error is device.ErrNoDevice.
func NewGL(tb testing.TB) (*GL, error) {
	runtime.LockOSThread()
	tb.Cleanup(runtime.UnlockOSThread)
	c, err := egl.New()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", device.ErrNoDevice, err)
	}
	tb.Cleanup(func() {
		require.NoError(tb, c.Detach())
		require.NoError(tb, c.Close())
	})
	current, err := glcontext.Current()
	require.NoError(tb, err)
	g := &GL{c, map[string]uintptr{}}
	for _, name := range []string{
		"glGenBuffers", "glBindBuffer", "glBufferData", "glBufferSubData", "glGetBufferSubData", "glCopyBufferSubData", "glDeleteBuffers",
		"glMapBufferRange", "glUnmapBuffer", "glGetError", "glFenceSync", "glEnable", "glScissor", "glClear",
		"glGenRenderbuffers", "glBindRenderbuffer", "glRenderbufferStorage", "glGenFramebuffers", "glBindFramebuffer", "glFramebufferRenderbuffer",
	} {
		g.at[name], err = current.Lookup(name)
		require.NoError(tb, err)
	}
	return g, nil
}

// Call calls a function of GL, which must not fail.
//
//go:uintptrescapes
func (g *GL) Call(tb testing.TB, name string, args ...uintptr) uintptr {
	tb.Helper()
	result := dl.Call(g.at[name], args...)
	require.Zero(tb, g.Error(), name)
	return result
}

// Error is the code of the last error.
func (g *GL) Error() uint32 { return uint32(dl.Call(g.at["glGetError"])) }

// The targets that buffers are bound to.
const (
	arrayBuffer = 0x8892
	copyWrite   = 0x8F37
	dynamicCopy = 0x88EA
)

func (g *GL) bind(tb testing.TB, target uintptr, name uint32) {
	tb.Helper()
	g.Call(tb, "glBindBuffer", target, uintptr(name))
}

// Name makes a buffer object without storage.
func (g *GL) Name(tb testing.TB) uint32 {
	tb.Helper()
	name := new(uint32)
	g.Call(tb, "glGenBuffers", 1, uintptr(unsafe.Pointer(name)))
	g.bind(tb, arrayBuffer, *name)
	return *name
}

// Buffer makes a buffer object that holds data.
func (g *GL) Buffer(tb testing.TB, data []byte) uint32 {
	tb.Helper()
	name := g.Name(tb)
	g.Store(tb, name, data)
	return name
}

// Store gives a buffer object new storage.
func (g *GL) Store(tb testing.TB, name uint32, data []byte) {
	tb.Helper()
	g.bind(tb, arrayBuffer, name)
	g.Call(tb, "glBufferData", arrayBuffer, uintptr(len(data)), uintptr(unsafe.Pointer(unsafe.SliceData(data))), dynamicCopy)
}

// Write replaces a buffer's content, by a copy from another one within GL.
func (g *GL) Write(tb testing.TB, name uint32, data []byte) {
	tb.Helper()
	other := g.Buffer(tb, data)
	g.bind(tb, arrayBuffer, other)
	g.bind(tb, copyWrite, name)
	g.Call(tb, "glCopyBufferSubData", arrayBuffer, copyWrite, 0, 0, uintptr(len(data)))
	g.Delete(tb, other)
}

// Bytes returns a buffer's content.
func (g *GL) Bytes(tb testing.TB, name uint32, n int) []byte {
	tb.Helper()
	data := make([]byte, n)
	g.bind(tb, arrayBuffer, name)
	g.Call(tb, "glGetBufferSubData", arrayBuffer, 0, uintptr(n), uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	return data
}

// TryBytes is Bytes where failure is expected: it returns GL's error.
func (g *GL) TryBytes(name uint32, n int) uint32 {
	dl.Call(g.at["glBindBuffer"], arrayBuffer, uintptr(name))
	data := make([]byte, n)
	dl.Call(g.at["glGetBufferSubData"], arrayBuffer, 0, uintptr(n), uintptr(unsafe.Pointer(unsafe.SliceData(data))))
	return g.Error()
}

// Map maps a buffer.
func (g *GL) Map(tb testing.TB, name uint32, n int) {
	tb.Helper()
	g.bind(tb, arrayBuffer, name)
	g.Call(tb, "glMapBufferRange", arrayBuffer, 0, uintptr(n), 1) // to read
}

// Unmap ends Map.
func (g *GL) Unmap(tb testing.TB, name uint32) {
	tb.Helper()
	g.bind(tb, arrayBuffer, name)
	g.Call(tb, "glUnmapBuffer", arrayBuffer)
}

// Delete deletes a buffer object.
func (g *GL) Delete(tb testing.TB, name uint32) {
	tb.Helper()
	g.Call(tb, "glDeleteBuffers", 1, uintptr(unsafe.Pointer(&name)))
}

// Busy keeps GL working for some time, and returns a GLsync for the end of that work.
func (g *GL) Busy(tb testing.TB) uintptr {
	tb.Helper()
	const (
		framebuffer, renderbuffer, color = 0x8D40, 0x8D41, 0x8CE0
		rgba8, side                      = 0x8058, 4096
		scissor, colors, complete        = 0x0C11, 0x4000, 0x9117
	)
	name := new(uint32)
	g.Call(tb, "glGenRenderbuffers", 1, uintptr(unsafe.Pointer(name)))
	g.Call(tb, "glBindRenderbuffer", renderbuffer, uintptr(*name))
	g.Call(tb, "glRenderbufferStorage", renderbuffer, rgba8, side, side)
	frame := new(uint32)
	g.Call(tb, "glGenFramebuffers", 1, uintptr(unsafe.Pointer(frame)))
	g.Call(tb, "glBindFramebuffer", framebuffer, uintptr(*frame))
	g.Call(tb, "glFramebufferRenderbuffer", framebuffer, color, renderbuffer, uintptr(*name))
	g.Call(tb, "glEnable", scissor) // so that each clear renders
	for i := range uintptr(20) {
		g.Call(tb, "glScissor", i, i, side-2*i, side-2*i)
		g.Call(tb, "glClear", colors)
	}
	return g.Call(tb, "glFenceSync", complete, 0)
}

// Elsewhere calls f on another thread, on which no context is current.
func Elsewhere(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked, so the thread ends
		f()
	}()
	<-done
}
