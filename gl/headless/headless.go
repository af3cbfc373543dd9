// Package headless makes contexts of OpenGL without a window, by EGL: on a GPU that EGL
// reaches, otherwise on the processor, with Mesa's llvmpipe. It is for Linux (Debian, Ubuntu:
// apt install libegl1 libgl1-mesa-dri), finds EGL at run time, and needs neither cgo nor a
// build tag.
//
//	c, err := headless.New()
//	defer c.Close()
//	in, err := gl.New(stream, gl.Options{ProcAddress: c.ProcAddress})
package headless

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/internal/egl"
	"github.com/restride/restride/layout"
)

// Context is a context of OpenGL's core profile. It is current on one thread at a time; one
// goroutine at a time calls its methods.
type Context struct {
	egl     *egl.Context
	current bool
	closed  bool
}

// New makes a context of the newest available version and makes it current, like MakeCurrent.
// Without EGL, or a driver of it that makes contexts without a window, it is ErrNoDevice.
func New() (*Context, error) {
	runtime.LockOSThread()
	c, err := egl.New()
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("%w: %w", device.ErrNoDevice, err)
	}
	return &Context{egl: c, current: true}, nil
}

// MakeCurrent locks the goroutine to its thread (runtime.LockOSThread) and makes the context
// current there. It is ErrInvalid while the context is current: Detach comes first.
func (c *Context) MakeCurrent() error {
	const op = "MakeCurrent"
	switch {
	case c == nil || c.closed:
		return closed(op)
	case c.current:
		return layout.Errorf(device.ErrInvalid, op, "the context is current already: Detach comes first")
	}
	runtime.LockOSThread()
	if err := c.egl.MakeCurrent(); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	c.current = true
	return nil
}

// Detach makes the context current nowhere and unlocks the goroutine, which must be the one
// that called MakeCurrent or New.
func (c *Context) Detach() error {
	const op = "Detach"
	switch {
	case c == nil || c.closed:
		return closed(op)
	case !c.current:
		return layout.Errorf(device.ErrInvalid, op, "the context is not current")
	}
	if err := c.egl.Detach(); err != nil {
		return err
	}
	c.current = false
	runtime.UnlockOSThread()
	return nil
}

// Close detaches the context, if it is current, and ends it, with all its objects.
func (c *Context) Close() error {
	if c == nil || c.closed {
		return closed("Close")
	}
	var err error
	if c.current {
		err = c.Detach()
	}
	c.closed = true
	return errors.Join(err, c.egl.Close())
}

// ProcAddress returns the address of a GL or EGL function; nil: there is none. Even a function
// that the context lacks may have one.
func (c *Context) ProcAddress(name string) unsafe.Pointer { return dl.Pointer(c.egl.ProcAddress(name)) }

func closed(op string) error {
	return layout.Errorf(device.ErrClosed, op, "the context is nil, or was closed before")
}
