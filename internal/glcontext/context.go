// Package glcontext finds the GL context that is current on the calling thread, and queries GL
// about buffers. It loads the libraries of EGL, GLX and WGL at run time, without cgo.
//
// Callers must be locked to their thread as long as they use the results.
package glcontext

import (
	"errors"
	"fmt"
	"strings"
)

// System is a window system's binding of GL.
type System uint8

// The systems.
const (
	EGL System = iota + 1
	GLX
	WGL
)

func (s System) String() string { return [...]string{"no system", "EGL", "GLX", "WGL"}[s] }

// Context is a GL context.
type Context struct {
	System  System
	Display uintptr // an EGLDisplay, a Display of X11's, or an HDC
	Handle  uintptr // an EGLContext, a GLXContext, or an HGLRC
}

// Same reports whether two are one context. Displays are not compared: an HDC belongs to a
// window.
func (c Context) Same(other Context) bool {
	return c.System == other.System && c.Handle == other.Handle
}

func (c Context) String() string { return fmt.Sprintf("%v context %#x", c.System, c.Handle) }

// ErrNone says that no context is current on the calling thread.
var ErrNone = errors.New("no GL context is current on the calling thread")

// Current returns the context that is current on the calling thread.
func Current() (Context, error) {
	var missing []string
	for _, open := range systems {
		l, err := open()
		if err != nil {
			missing = append(missing, err.Error())
			continue
		}
		if c := l.current(); c.Handle != 0 {
			return c, nil
		}
	}
	if len(missing) > 0 {
		return Context{}, fmt.Errorf("%w (not asked: %s)", ErrNone, strings.Join(missing, "; "))
	}
	return Context{}, ErrNone
}
