//go:build gogl

package gl

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/glcontext"
	"github.com/restride/restride/layout"
)

// do makes a call on the thread of the context: f, unless GL has an error from an earlier call.
func (i *Interop) do(op string, f func() error) error {
	return i.onThread(op, func() error {
		if err := pending(op); err != nil {
			return err
		}
		return f()
	})
}

// end is do for calls that release something, even if GL has an earlier error.
func (i *Interop) end(op string, f func() error) error {
	return i.onThread(op, func() error {
		err := pending(op)
		return errors.Join(err, f())
	})
}

// onThread calls f where the context is current. Meanwhile the goroutine is locked to the
// thread, so that callers that have not locked it get an error, and not a crash of the driver.
func (i *Interop) onThread(op string, f func() error) error {
	if i == nil {
		return layout.Errorf(device.ErrInvalid, op, "there is no Interop")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := glcontext.Current()
	switch {
	case err != nil:
		return layout.Errorf(device.ErrInvalid, op, "%v: its goroutine calls runtime.LockOSThread first, then makes the context current", err)
	case !here.Same(i.context):
		return layout.Errorf(device.ErrInvalid, op, "the %v is current on this thread; New found the %v", here, i.context)
	}
	return f()
}

// ready loads GL's functions, once: they are the same for all contexts.
var ready struct {
	sync.Mutex
	done bool
}

func initialize(address func(name string) unsafe.Pointer) error {
	ready.Lock()
	defer ready.Unlock()
	if ready.done {
		return nil
	}
	load := gl.Init
	if address != nil {
		load = func() error { return gl.InitWithProcAddrFunc(address) }
	}
	if err := load(); err != nil {
		return layout.Errorf(device.ErrUnsupported, "New", "OpenGL 4.3 is needed: %v", err)
	}
	ready.done = true
	return nil
}

// version returns the context's version of OpenGL, such as 43 for 4.3.
func version() int {
	var major, minor int32
	gl.GetIntegerv(gl.MAJOR_VERSION, &major)
	gl.GetIntegerv(gl.MINOR_VERSION, &minor)
	return int(10*major + minor)
}

// hasExtension reports whether the context has an extension. The address of a function is no
// proof: loaders return one for any name.
func hasExtension(name string) bool {
	var n int32
	gl.GetIntegerv(gl.NUM_EXTENSIONS, &n)
	for i := range uint32(n) {
		if gl.GoStr(gl.GetStringi(gl.EXTENSIONS, i)) == name {
			return true
		}
	}
	return false
}

// hasBufferStorage reports whether buffers can stay mapped while GL uses them.
func hasBufferStorage() bool { return version() >= 44 || hasExtension("GL_ARB_buffer_storage") }

// mostErrors bounds the number of errors that are read: a lost context has one forever.
const mostErrors = 16

// pending reads the errors of calls before op.
func pending(op string) error {
	if err := taken(); err != nil {
		return fmt.Errorf("%s: GL has an error of an earlier call: %w", op, err)
	}
	return nil
}

// failed reads the errors of op's calls.
func failed(call string) error {
	err := taken()
	if err != nil {
		err.Call = call
		if err.Code == gl.OUT_OF_MEMORY {
			return fmt.Errorf("%w: %w", device.ErrOutOfMemory, err)
		}
		return err
	}
	return nil
}

// unlessFailed is failed for a call whose result tells whether it failed.
func unlessFailed(call, result string) error {
	if err := failed(call); err != nil {
		return err
	}
	return &device.DriverError{Call: call, Name: result}
}

// taken returns the first GL error, and clears all.
func taken() *device.DriverError {
	var first *device.DriverError
	for range mostErrors {
		code := gl.GetError()
		if code == gl.NO_ERROR {
			break
		}
		if first == nil {
			first = &device.DriverError{Call: "glGetError", Code: int64(code), Name: errorName(code)}
		}
	}
	return first
}

func errorName(code uint32) string {
	switch code {
	case gl.INVALID_ENUM:
		return "GL_INVALID_ENUM"
	case gl.INVALID_VALUE:
		return "GL_INVALID_VALUE"
	case gl.INVALID_OPERATION:
		return "GL_INVALID_OPERATION"
	case gl.INVALID_FRAMEBUFFER_OPERATION:
		return "GL_INVALID_FRAMEBUFFER_OPERATION"
	case gl.OUT_OF_MEMORY:
		return "GL_OUT_OF_MEMORY"
	case gl.STACK_UNDERFLOW:
		return "GL_STACK_UNDERFLOW"
	case gl.STACK_OVERFLOW:
		return "GL_STACK_OVERFLOW"
	case gl.CONTEXT_LOST:
		return "GL_CONTEXT_LOST"
	}
	return "an unknown error"
}

// finish waits until all writes given to GL are visible to the host.
func finish() error {
	fence := gl.FenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0)
	if fence == 0 {
		return unlessFailed("glFenceSync", "no fence")
	}
	defer gl.DeleteSync(fence)
	for {
		switch gl.ClientWaitSync(fence, gl.SYNC_FLUSH_COMMANDS_BIT, uint64(time.Second)) {
		case gl.ALREADY_SIGNALED, gl.CONDITION_SATISFIED:
			return nil
		case gl.WAIT_FAILED:
			return unlessFailed("glClientWaitSync", "GL_WAIT_FAILED")
		}
	}
}

// bound calls f with a buffer bound to a target, and restores the previous binding.
func bound(target uint32, name uint32, f func()) {
	before := bindings[target]
	var old int32
	gl.GetIntegerv(before, &old)
	gl.BindBuffer(target, name)
	f()
	gl.BindBuffer(target, uint32(old))
}

// bindings are GL's names for the binding of a target.
var bindings = map[uint32]uint32{
	gl.COPY_READ_BUFFER:    gl.COPY_READ_BUFFER_BINDING,
	gl.COPY_WRITE_BUFFER:   gl.COPY_WRITE_BUFFER_BINDING,
	gl.PIXEL_PACK_BUFFER:   gl.PIXEL_PACK_BUFFER_BINDING,
	gl.PIXEL_UNPACK_BUFFER: gl.PIXEL_UNPACK_BUFFER_BINDING,
}

// facts are GL's parameters of a buffer object.
type facts struct {
	bytes, mapped, flags int64
	at                   unsafe.Pointer // its mapped address
}

// factsOf queries GL about a buffer.
func (i *Interop) factsOf(op string, name uint32) (facts, error) {
	if name == 0 || !gl.IsBuffer(name) {
		return facts{}, layout.Errorf(device.ErrInvalid, op, "GL has no buffer %d: it was deleted, or never bound", name)
	}
	var f facts
	bound(gl.COPY_READ_BUFFER, name, func() {
		gl.GetBufferParameteri64v(gl.COPY_READ_BUFFER, gl.BUFFER_SIZE, &f.bytes)
		gl.GetBufferParameteri64v(gl.COPY_READ_BUFFER, gl.BUFFER_MAPPED, &f.mapped)
		gl.GetBufferPointerv(gl.COPY_READ_BUFFER, gl.BUFFER_MAP_POINTER, &f.at)
		if i.storage {
			gl.GetBufferParameteri64v(gl.COPY_READ_BUFFER, gl.BUFFER_STORAGE_FLAGS, &f.flags)
		}
	})
	return f, failed("glGetBufferParameteri64v")
}
