package glcontext

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/restride/restride/internal/dl"
)

// library is a system's library.
type library struct {
	system                           System
	library                          *dl.Library
	context, display, getProcAddress uintptr
}

// systems are the systems that this operating system may have.
var systems = func() []func() (*library, error) {
	if runtime.GOOS == "windows" {
		return []func() (*library, error){
			system(WGL, "wglGetCurrentContext", "wglGetCurrentDC", "wglGetProcAddress", "opengl32.dll"),
		}
	}
	return []func() (*library, error){
		system(EGL, "eglGetCurrentContext", "eglGetCurrentDisplay", "eglGetProcAddress", "libEGL.so.1", "libEGL.so"),
		system(GLX, "glXGetCurrentContext", "glXGetCurrentDisplay", "glXGetProcAddressARB", "libGL.so.1", "libGL.so", "libGLX.so.0"),
	}
}()

// system finds the library of a system, once.
func system(s System, context, display, getProcAddress string, names ...string) func() (*library, error) {
	return sync.OnceValues(func() (*library, error) {
		lib, err := dl.Open(names...)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", s, err)
		}
		l := &library{system: s, library: lib}
		for name, at := range map[string]*uintptr{context: &l.context, display: &l.display, getProcAddress: &l.getProcAddress} {
			if *at, err = lib.Lookup(name); err != nil {
				return nil, err
			}
		}
		return l, nil
	})
}

func (l *library) current() Context {
	c := Context{System: l.system, Handle: dl.Call(l.context)}
	if c.Handle != 0 {
		c.Display = dl.Call(l.display)
	}
	return c
}

// lookup returns the address of a function of GL. WGL returns only functions newer than GL 1.1;
// the others are exported by the library.
func (l *library) lookup(name string) (uintptr, error) {
	z := append([]byte(name), 0)
	if at := dl.Call(l.getProcAddress, uintptr(unsafe.Pointer(&z[0]))); at != 0 {
		return at, nil
	}
	return l.library.Lookup(name)
}
