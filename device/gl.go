package device

// GLUse says how the device uses a GL buffer.
type GLUse uint8

// The uses of a GL buffer.
const (
	GLReadWrite GLUse = iota
	// GLRead: work only reads it.
	GLRead
	// GLWrite: work writes everything that is read later; what GL had in the buffer before
	// Acquire is lost.
	GLWrite
)

func (u GLUse) String() string {
	switch u {
	case GLReadWrite:
		return "read and write"
	case GLRead:
		return "read"
	case GLWrite:
		return "write"
	}
	return "an unknown use"
}

// GLSharer is implemented by devices that can share memory with OpenGL, if one driver serves
// both.
//
// A GL context belongs to an OS thread. Calls here, and of a GLBuffer except Bytes, must come
// from a goroutine that is locked (runtime.LockOSThread) to the thread on which the context is
// current; a GLBuffer's calls need the context of its ShareGL. Anywhere else they are ErrInvalid,
// and do nothing. The device's other calls may come from any goroutine, as always.
type GLSharer interface {
	// CheckGL returns nil if the device and the GL context can share memory. Otherwise the error
	// says why not: ErrUnsupported, or ErrInvalid if no context is current.
	CheckGL() error
	// ShareGL registers a GL buffer object with the device, by its GL name; Acquire makes it
	// memory. Its size is a multiple of 4 bytes. The object and its storage must not be replaced
	// until Close.
	ShareGL(name uint32, use GLUse) (GLBuffer, error)
}

// GLBuffer is a GL buffer object that is registered with a device. It belongs to GL, except
// between Acquire and Release: then it belongs to the device, and GL must not use it. Neither
// Free of a Buffer nor the garbage collector unregisters it; Close of the device does, as far as
// the calling thread can.
type GLBuffer interface {
	// Bytes returns the buffer's size.
	Bytes() int64
	// Acquire makes it memory of the device: later work of the queue runs after all earlier GL
	// work. Other queues must wait for an event of this one. The Buffer does not count in Stats,
	// may be written only if the use allows it, and cannot be part of a capture, as its address
	// may change each time. ErrInvalid: it is acquired already, or GL has mapped, deleted or
	// resized it.
	Acquire(Queue) (Buffer, error)
	// Release returns it to GL: later GL work runs after all work on the Buffer, including work
	// of other queues. The Buffer is freed: later use of it is ErrClosed, and its address, if
	// others have that, is invalid. All this holds even if the driver refuses; then Release can
	// be called again.
	Release(Queue) error
	// Close unregisters it. While it is acquired, Close is ErrInvalid and changes nothing. A
	// second Close is ErrClosed.
	Close() error
}
