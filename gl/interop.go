//go:build gogl

package gl

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/glcontext"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Way is a way in which a device and GL share a buffer.
type Way uint8

// The ways, the best first.
const (
	// Shared: the driver shares the buffer between both (device.GLSharer).
	Shared Way = iota + 1
	// Mapped: the buffer lies in the host's memory, where the device works on it in place: the
	// cpu device, and OpenCL devices that are the host's processor. It needs OpenGL 4.4 or
	// GL_ARB_buffer_storage.
	Mapped
	// Staged: the host copies from GL to the device and back, through a GL buffer that it maps.
	// Stats counts these transfers.
	Staged
)

var ways = [...]string{Shared: "shared", Mapped: "mapped", Staged: "staged"}

func (w Way) String() string {
	if w >= Shared && w <= Staged {
		return ways[w]
	}
	return fmt.Sprintf("Way(%d)", uint8(w))
}

// Options are options of New.
type Options struct {
	// Require is the required way; 0: the best available.
	Require Way
	// ProcAddress finds GL's functions, such as glfw's or SDL's GetProcAddress; nil: from the
	// window system that go-gl was built for. Only the first New of the process uses it.
	ProcAddress func(name string) unsafe.Pointer
}

// Interop connects a stream of tensors and a GL context. Its methods are called on the thread
// of the context (see the package's documentation).
type Interop struct {
	stream  *tensor.Stream
	context glcontext.Context
	way     Way
	why     error
	storage bool // buffers can stay mapped
}

// New finds the best way between a stream's device and the context that is current on this
// thread. If the required way is unavailable, it is ErrUnsupported with the reason.
func New(s *tensor.Stream, o Options) (*Interop, error) {
	const op = "New"
	if s == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "the stream is nil")
	}
	if o.Require > Staged {
		return nil, layout.Errorf(device.ErrInvalid, op, "%v is required, which is none of %v", o.Require, ways[Shared:])
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	i := &Interop{stream: s}
	i.context, _ = glcontext.Current() // onThread reports a missing one
	err := i.onThread(op, func() error { return initialize(o.ProcAddress) })
	if err == nil {
		err = i.do(op, func() error { return i.begin(op, o) })
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

// begin finds the way. It is called on the thread of a context.
func (i *Interop) begin(op string, o Options) error {
	if v := version(); v < 43 {
		return layout.Errorf(device.ErrUnsupported, op, "OpenGL 4.3 is needed; the context has %d.%d", v/10, v%10)
	}
	i.storage = hasBufferStorage()
	var reasons []error
	for way := Shared; way <= Staged; way++ {
		if o.Require != 0 && o.Require != way {
			continue
		}
		err := i.check(op, way)
		if err == nil {
			i.way, i.why = way, errors.Join(reasons...)
			return nil
		}
		reasons = append(reasons, fmt.Errorf("%v: %w", way, err))
	}
	return errors.Join(reasons...)
}

// check returns why a way is unavailable.
func (i *Interop) check(op string, way Way) error {
	dev := i.stream.Device()
	switch way {
	case Shared:
		if sharer, ok := device.As[device.GLSharer](dev); ok {
			return i.checkShared(op, sharer)
		}
		return layout.Errorf(device.ErrUnsupported, op, "device %s has no memory in common with GL", dev.Info().ID())
	case Mapped:
		return i.checkMapped(op)
	}
	return nil
}

// checkShared returns why Shared is unavailable, by trying it: some drivers report it only
// then.
func (i *Interop) checkShared(op string, sharer device.GLSharer) error {
	if err := sharer.CheckGL(); err != nil {
		return err
	}
	name, err := i.newStorage(op, unit)
	if err != nil {
		return err
	}
	defer gl.DeleteBuffers(1, &name)
	b, err := sharer.ShareGL(name, device.GLReadWrite)
	if err != nil {
		return err
	}
	q := i.stream.Queue()
	if _, err = b.Acquire(q); err == nil {
		err = b.Release(q)
	}
	return errors.Join(err, b.Close())
}

// Way returns the way in use.
func (i *Interop) Way() Way { return i.way }

// Why returns why no better way is available; nil if there is none better.
func (i *Interop) Why() error { return i.why }

// share registers a GL buffer with the device.
func (i *Interop) share(op string, name uint32, use device.GLUse, bytes int64) (device.GLBuffer, error) {
	switch i.way {
	case Shared:
		sharer, _ := device.As[device.GLSharer](i.stream.Device())
		return sharer.ShareGL(name, use)
	case Mapped:
		return i.mapBuffer(op, name)
	}
	return i.stage(name, use, bytes)
}
