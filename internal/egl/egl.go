// Package egl makes GL contexts without a window, in pure Go: by EGL, on a GPU or, with
// Mesa's llvmpipe, on the processor.
package egl

import (
	"errors"
	"fmt"

	"github.com/restride/restride/internal/dl"
)

// Context is a GL context of a core profile, without a window. Its methods are called by
// goroutines that are locked to their thread.
type Context struct {
	lib     *library
	display uintptr
	handle  uintptr
	place   string
}

// New makes a context and makes it current on the calling thread: on a GPU, or on the processor
// if EGL reaches no GPU.
func New() (*Context, error) {
	l, err := load()
	if err != nil {
		return nil, err
	}
	var reasons []error
	for _, d := range l.displays() {
		c, err := l.open(d)
		if err == nil {
			return c, nil
		}
		reasons = append(reasons, fmt.Errorf("%s: %w", d.place, err))
	}
	return nil, fmt.Errorf("EGL makes no GL context: %w", errors.Join(reasons...))
}

// open makes a context of a display current.
func (l *library) open(d display) (*Context, error) {
	at := l.platformDisplay(d)
	if at == 0 {
		return nil, l.failed("eglGetPlatformDisplay")
	}
	if dl.Call(l.initialize, at, 0, 0)&yes == 0 {
		return nil, l.failed("eglInitialize")
	}
	if dl.Call(l.bindAPI, openGL)&yes == 0 {
		return nil, l.failed("eglBindAPI")
	}
	handle, err := l.newContext(at)
	if err != nil {
		return nil, err
	}
	c := &Context{lib: l, display: at, handle: handle, place: d.place}
	if err := c.MakeCurrent(); err != nil {
		dl.Call(l.destroyContext, at, handle)
		return nil, err
	}
	return c, nil
}

// Place names the EGL device or platform of the context.
func (c *Context) Place() string { return c.place }

// ProcAddress returns the address of a GL or EGL function; 0: there is none.
func (c *Context) ProcAddress(name string) uintptr { return c.lib.extension(name) }

// MakeCurrent makes the context current on the calling thread. It must not be current on
// another.
func (c *Context) MakeCurrent() error { return c.set(c.handle) }

// Detach makes no context current on the calling thread.
func (c *Context) Detach() error { return c.set(0) }

func (c *Context) set(handle uintptr) error {
	if dl.Call(c.lib.bindAPI, openGL)&yes == 0 { // of the thread
		return c.lib.failed("eglBindAPI")
	}
	if dl.Call(c.lib.makeCurrent, c.display, 0, 0, handle)&yes == 0 {
		return c.lib.failed("eglMakeCurrent")
	}
	return nil
}

// Close ends the context, which survives while it is current somewhere. The display stays:
// others may use it.
func (c *Context) Close() error {
	if dl.Call(c.lib.destroyContext, c.display, c.handle)&yes == 0 {
		return c.lib.failed("eglDestroyContext")
	}
	return nil
}
