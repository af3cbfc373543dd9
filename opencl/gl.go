package opencl

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/glcontext"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// GL is a GL context, for Options.GL. The zero GL is none.
type GL struct{ context glcontext.Context }

// CurrentGL returns the GL context that is current on the calling thread, by EGL, GLX or
// WGL. Without one, the error is device.ErrInvalid.
func CurrentGL() (GL, error) {
	c, err := glcontext.Current()
	if err != nil {
		return GL{}, layout.Errorf(device.ErrInvalid, "CurrentGL", "%v", err)
	}
	return GL{c}, nil
}

func (g GL) none() bool { return g.context.Handle == 0 }

// Functions of cl_khr_gl_sharing, which some libraries lack.
var (
	clGetGLContextInfo        = bindOptional("clGetGLContextInfoKHR")
	clCreateFromGLBuffer      = bindOptional("clCreateFromGLBuffer")
	clEnqueueAcquireGLObjects = bindOptional("clEnqueueAcquireGLObjects")
	clEnqueueReleaseGLObjects = bindOptional("clEnqueueReleaseGLObjects")
)

// displayProperty is the context property for the display.
var displayProperty = map[glcontext.System]uintptr{glcontext.EGL: 0x2009, glcontext.GLX: 0x200A, glcontext.WGL: 0x200B}

// contextProperties are the properties of a context that shares with GL.
func (g GL) contextProperties(platform uintptr) *[7]uintptr {
	return &[7]uintptr{
		contextPlatform, platform, glContext, g.context.Handle, displayProperty[g.context.System], g.context.Display, 0,
	}
}

// newContext makes a context of a device, for sharing with GL if there is a GL context.
func (g GL) newContext(p properties) (uintptr, error) {
	if g.none() {
		return clCreateContext.create(0, 1, uintptr(unsafe.Pointer(&p.id)), 0, 0)
	}
	if err := g.check(p); err != nil {
		return 0, err
	}
	list := g.contextProperties(p.platform)
	context, err := clCreateContext.create(uintptr(unsafe.Pointer(list)), 1, uintptr(unsafe.Pointer(&p.id)), 0, 0)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", g.refuse(p, "makes no context that shares with the %v", g.context), err)
	}
	return context, nil
}

// refuse is the error of a device that cannot share with GL.
func (g GL) refuse(p properties, format string, args ...any) error {
	return layout.Errorf(device.ErrUnsupported, "Open", "%s, %s, %s", p.info.ID(), p.info.Name, fmt.Sprintf(format, args...))
}

// check returns why a device cannot share with a GL context, if the driver tells.
func (g GL) check(p properties) error {
	if !p.has("cl_khr_gl_sharing") {
		return g.refuse(p, "shares nothing with GL: it has no cl_khr_gl_sharing")
	}
	for _, f := range []*fn{clCreateFromGLBuffer, clEnqueueAcquireGLObjects, clEnqueueReleaseGLObjects} {
		if f.addr == 0 {
			return g.refuse(p, "shares nothing with GL: the library has no %s", f.name)
		}
	}
	if clGetGLContextInfo.addr == 0 {
		return nil // clCreateContext will report it
	}
	list := g.contextProperties(p.platform)
	on, err := clGetGLContextInfo.bytes(address(list), devicesForGL)
	runtime.KeepAlive(list)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", g.refuse(p, "shares nothing with the %v", g.context), err)
	case !slices.Contains(handles(on), p.id):
		return g.refuse(p, "is not the device of the %v", g.context)
	}
	return nil
}

// has reports whether a device, or its platform, has an extension.
func (p properties) has(extension string) bool {
	of, _ := clGetDeviceInfo.text(p.id, deviceExtensions)
	all, _ := clGetPlatformInfo.text(p.platform, platformExtensions)
	return slices.Contains(strings.Fields(of+" "+all), extension)
}

// checkAdopted returns an error if an engine's context was not made for sharing.
func (g GL) checkAdopted(context uintptr, p properties) error {
	if g.none() {
		return nil
	}
	if err := g.check(p); err != nil {
		return err
	}
	list, err := clGetContextInfo.bytes(context, contextProperties)
	if err != nil {
		return err
	}
	all := handles(list)
	for i := 0; i+1 < len(all) && all[i] != 0; i += 2 {
		if all[i] == glContext && all[i+1] == g.context.Handle {
			return nil
		}
	}
	return layout.Errorf(device.ErrInvalid, "Adopt", "the context was not made for sharing with the %v", g.context)
}

// CheckGL checks whether the GL context is the one for which the device's context was made.
func (d *driver) CheckGL(c glcontext.Context) error {
	const op = "CheckGL"
	id := d.properties.info.ID()
	switch of := d.gl; {
	case of.Handle == 0:
		return layout.Errorf(device.ErrUnsupported, op, "the context of %s is not for sharing: CurrentGL has what Options.GL takes", id)
	case !of.Same(c):
		return layout.Errorf(device.ErrUnsupported, op, "the context of %s was made for sharing with the %v; the %v is current", id, of, c)
	}
	return nil
}

// ShareGL makes a cl_mem of a buffer. A write-only buffer is readable, too: where elements do
// not fill a word, kernels keep the word's other bits.
func (d *driver) ShareGL(name uint32, bytes int64, use device.GLUse) (gpu.GLMem, error) {
	flags := uintptr(memReadWrite)
	if use == device.GLRead {
		flags = memReadOnly
	}
	handle, err := clCreateFromGLBuffer.create(d.context, flags, uintptr(name))
	if err != nil {
		return nil, err
	}
	m := &glMem{driver: d, name: name, bytes: bytes, handle: handle}
	if err := m.check("ShareGL"); err != nil {
		_ = m.Close()
		return nil, err
	}
	return m, nil
}

// glMem is the cl_mem of a GL buffer.
type glMem struct {
	driver *driver
	name   uint32
	bytes  int64
	handle uintptr
}

// Ordered: with cl_khr_gl_event, acquiring and releasing order the work of both.
func (m *glMem) Ordered() bool { return m.driver.glOrdered }

// check refuses a cl_mem of another size.
func (m *glMem) check(op string) error {
	size, err := clGetMemObjectInfo.number(m.handle, memSize)
	if err == nil && int64(size) != m.bytes {
		err = layout.Errorf(device.ErrInvalid, op, "GL buffer %d has %d bytes; its cl_mem has %d", m.name, m.bytes, size)
	}
	return err
}

func (m *glMem) Acquire(on gpu.Stream) (gpu.Mem, error) {
	if err := m.enqueue(clEnqueueAcquireGLObjects, on); err != nil {
		return nil, err
	}
	return &memory{handle: m.handle}, nil
}

// Release flushes: GL, which waits for the work, does not start it.
func (m *glMem) Release(on gpu.Stream) error {
	if err := m.enqueue(clEnqueueReleaseGLObjects, on); err != nil {
		return err
	}
	return clFlush.call(on.(*stream).handle)
}

func (m *glMem) enqueue(f *fn, on gpu.Stream) error {
	return f.call(on.(*stream).handle, 1, uintptr(unsafe.Pointer(&m.handle)), 0, 0, 0)
}

func (m *glMem) Close() error { return clReleaseMemObject.call(m.handle) }

var _ gpu.GLDriver = (*driver)(nil)
