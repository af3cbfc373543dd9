package device

// GLUse says what work on a GL buffer does with it.
type GLUse uint8

// The uses of a GL buffer.
const (
	GLReadWrite GLUse = iota
	// GLRead: work only reads it.
	GLRead
	// GLWrite: work writes it, all that anybody will read: what GL had there before
	// Acquire is gone.
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

// GLSharer is implemented by devices that can have memory in common with OpenGL, where
// the driver of both is the same.
//
// A GL context belongs to an OS thread. All calls here, and those of a GLBuffer but Bytes,
// are made on the thread on which the context is current, by a goroutine that is locked to
// it (runtime.LockOSThread), and GLBuffer's with the context of ShareGL. Anywhere else
// they are ErrInvalid, and do nothing. The device's other calls come from any goroutine, as
// always.
type GLSharer interface {
	// CheckGL returns nil if the device and the GL context have a way to share, and
	// otherwise why not: ErrUnsupported, or ErrInvalid where no context is current.
	CheckGL() error
	// ShareGL makes a GL buffer object known to the device, by its name in GL; it is not
	// memory yet. Its size is a multiple of 4 bytes. The object, and its storage, stay as
	// they are until Close.
	ShareGL(name uint32, use GLUse) (GLBuffer, error)
}

// GLBuffer is a GL buffer object that a device knows. It is GL's and, between Acquire and
// Release, the device's: then GL may not use it. Neither Free of a Buffer nor the garbage
// collector ends anything of it; Close of the device does, as far as the calling thread
// can.
type GLBuffer interface {
	// Bytes returns the buffer's size.
	Bytes() int64
	// Acquire makes it memory of the device: work that the queue gets from now on comes
	// after all that GL was given before. Other queues wait for an event of this one. The
	// Buffer counts in no Stats, may be written only if the use says so, and can be no part
	// of a capture, as its address may be another one each time. It is ErrInvalid to acquire
	// what is acquired, and what GL has mapped, deleted, or given another size.
	Acquire(Queue) (Buffer, error)
	// Release makes it GL's again: what GL is given from now on comes after all work on the
	// Buffer, that of other queues, too. The Buffer is freed: later use of it is ErrClosed,
	// and its address, where others have that, is no longer one. Where the driver refuses,
	// this holds, too, and Release can be called again.
	Release(Queue) error
	// Close makes the device forget it. It is ErrInvalid, and changes nothing, while it is
	// acquired. A second Close is ErrClosed.
	Close() error
}
