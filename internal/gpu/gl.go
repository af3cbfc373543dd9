package gpu

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/glcontext"
	"github.com/restride/restride/layout"
)

// GLDriver is implemented by drivers that share memory with GL. Its methods, and those of its
// results, are called on the thread on which the context is current.
type GLDriver interface {
	// CheckGL returns the reason if memory cannot be shared with a context.
	CheckGL(glcontext.Context) error
	// ShareGL registers a buffer of the given size.
	ShareGL(name uint32, bytes int64, use device.GLUse) (GLMem, error)
}

// GLMem is a GL buffer that is registered with a driver.
type GLMem interface {
	// Acquire makes it memory for later work of a stream. It fails if the driver knows another
	// size.
	Acquire(Stream) (Mem, error)
	// Release returns it to GL, after the work of a stream.
	Release(Stream) error
	// Ordered reports whether the driver itself orders Acquire after GL's earlier work, and
	// GL's later work after Release. Otherwise both are waited for.
	Ordered() bool
	// Close is the last call. GL owns the buffer.
	Close() error
}

// glBuffer is a device.GLBuffer.
type glBuffer struct {
	dev     *Device
	name    uint32
	use     device.GLUse
	bytes   int64
	context glcontext.Context
	gl      *glcontext.Functions
	mem     GLMem

	mu     sync.Mutex // calls come one at a time
	buffer *Buffer    // while it is acquired
	closed bool
}

// CheckGL returns nil if the device shares memory with the GL context that is current on
// the calling thread.
func (d *Device) CheckGL() error {
	const op = "CheckGL"
	return d.withGL(op, func(GLDriver, glcontext.Context) error { return nil })
}

// withGL calls f with the context that is current on the calling thread.
func (d *Device) withGL(op string, f func(GLDriver, glcontext.Context) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return While(d, op, func() error {
		g, ok := d.driver.(GLDriver)
		if !ok {
			return layout.Errorf(device.ErrUnsupported, op, "%s shares no memory with GL", d.Info().ID())
		}
		c, err := glcontext.Current()
		if err != nil {
			return layout.Errorf(device.ErrInvalid, op, "%v", err)
		}
		if err := g.CheckGL(c); err != nil {
			return err
		}
		return f(g, c)
	})
}

// ShareGL registers a GL buffer object with the device.
func (d *Device) ShareGL(name uint32, use device.GLUse) (device.GLBuffer, error) {
	const op = "ShareGL"
	b := &glBuffer{dev: d, name: name, use: use}
	err := d.withGL(op, func(g GLDriver, c glcontext.Context) error {
		if use > device.GLWrite {
			return layout.Errorf(device.ErrInvalid, op, "%v: the use is read, write, or both", use)
		}
		var err error
		if b.gl, err = c.Functions(); err != nil {
			return layout.Errorf(device.ErrUnsupported, op, "%v", err)
		}
		now, is := b.gl.Buffer(name)
		switch {
		case !is:
			return layout.Errorf(device.ErrInvalid, op, "GL has no buffer %d in the context that is current", name)
		case now.Bytes <= 0:
			return layout.Errorf(device.ErrInvalid, op, "GL buffer %d has no storage yet", name)
		}
		if err := CheckWords(op, now.Bytes); err != nil {
			return err
		}
		b.context, b.bytes = c, now.Bytes
		if b.mem, err = g.ShareGL(name, now.Bytes, use); err == nil {
			d.registerGL(b)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// registerGL lists a GL buffer that is not acquired.
func (d *Device) registerGL(b *glBuffer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gl == nil {
		d.gl = map[*glBuffer]bool{}
	}
	d.gl[b] = false
}

// Bytes returns the size.
func (b *glBuffer) Bytes() int64 { return b.bytes }

// begin starts a call on the context's thread. Every begin without an error needs an end.
func (b *glBuffer) begin(op string) error {
	runtime.LockOSThread()
	err := b.dev.begin(op)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	b.mu.Lock()
	switch c, none := glcontext.Current(); {
	case b.closed:
		err = b.refuse(device.ErrClosed, op, "is closed")
	case none != nil:
		err = b.refuse(device.ErrInvalid, op, "is of the %v: %v", b.context, none)
	case !c.Same(b.context):
		err = b.refuse(device.ErrInvalid, op, "is of the %v; on the calling thread, the %v is current", b.context, c)
	}
	if err != nil {
		b.end()
	}
	return err
}

func (b *glBuffer) end() {
	b.mu.Unlock()
	b.dev.end()
	runtime.UnlockOSThread()
}

func (b *glBuffer) refuse(kind error, op, format string, args ...any) error {
	return layout.Errorf(kind, op, "GL buffer %d %s", b.name, fmt.Sprintf(format, args...))
}

// Acquire makes the buffer memory of the device.
func (b *glBuffer) Acquire(on device.Queue) (device.Buffer, error) {
	const op = "Acquire"
	if err := b.begin(op); err != nil {
		return nil, err
	}
	defer b.end()
	if b.buffer != nil {
		return nil, b.refuse(device.ErrInvalid, op, "is acquired already")
	}
	q, err := b.dev.ownQueue(op, on)
	if err != nil {
		return nil, err
	}
	if err := q.begin(op); err != nil {
		return nil, err
	}
	defer q.mu.Unlock()
	if !b.dev.lendGL(b) {
		return nil, b.refuse(device.ErrInvalid, op, "is acquired already: it was shared twice")
	}
	q.seq++
	m, err := b.acquire(q)
	if err != nil {
		b.dev.returnGL(b)
		return nil, err
	}
	b.buffer = Adopt(b.dev, m, b.bytes, func() error { return nil }, nil) // Release ends it
	b.buffer.gl = b
	b.buffer.touch(use{&q.timeline, q.seq}, true)
	return b.buffer, nil
}

// acquire is Acquire in the driver.
func (b *glBuffer) acquire(q *Queue) (Mem, error) {
	if err := b.check("Acquire"); err != nil {
		return nil, err
	}
	if !b.mem.Ordered() {
		b.gl.Finish()
	}
	return q.withRoom(func() (Mem, error) { return b.mem.Acquire(q.stream) })
}

// check compares the buffer with its state in GL.
func (b *glBuffer) check(op string) error {
	switch now, is := b.gl.Buffer(b.name); {
	case !is:
		return b.refuse(device.ErrInvalid, op, "was deleted")
	case now.Bytes != b.bytes:
		return b.refuse(device.ErrInvalid, op, "has %d bytes now, and had %d when it was shared", now.Bytes, b.bytes)
	case now.Mapped:
		return b.refuse(device.ErrInvalid, op, "is mapped by GL")
	}
	return nil
}

// Release returns the buffer to GL.
func (b *glBuffer) Release(on device.Queue) error {
	const op = "Release"
	if err := b.begin(op); err != nil {
		return err
	}
	defer b.end()
	if b.buffer == nil {
		return b.refuse(device.ErrInvalid, op, "is not acquired")
	}
	q, err := b.dev.ownQueue(op, on)
	if err != nil {
		return err
	}
	uses := b.buffer.revoke()
	if _, is := b.gl.Buffer(b.name); !is {
		b.forget()
		return b.refuse(device.ErrInvalid, op, "was deleted while it was acquired: it is closed, and the driver keeps what it has of it")
	}
	if err := uses.follow(q); err != nil {
		return err
	}
	if err := q.begin(op); err != nil {
		return err
	}
	defer q.mu.Unlock()
	q.seq++
	if err := b.mem.Release(q.stream); err != nil {
		return err
	}
	suspects := b.buffer.suspects(0, b.bytes, nil)
	if !b.mem.Ordered() || len(suspects) > 0 {
		q.drain(q.seq)
	}
	b.buffer = nil
	b.dev.returnGL(b)
	return anyFailed(suspects)
}

// Close unregisters the buffer.
func (b *glBuffer) Close() error {
	const op = "Close"
	if err := b.begin(op); err != nil {
		return err
	}
	defer b.end()
	if b.buffer != nil {
		return b.refuse(device.ErrInvalid, op, "is acquired: Release comes before")
	}
	if err := b.mem.Close(); err != nil {
		return err
	}
	b.forget()
	return nil
}

// forget unregisters the buffer, which is locked.
func (b *glBuffer) forget() {
	b.closed, b.buffer = true, nil
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	delete(b.dev.gl, b)
}

// lendGL records that a GL buffer is acquired. It returns false if another glBuffer has
// acquired it.
func (d *Device) lendGL(b *glBuffer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for other, acquired := range d.gl {
		if acquired && other.name == b.name && other.context.Same(b.context) {
			return false
		}
	}
	d.gl[b] = true
	return true
}

func (d *Device) returnGL(b *glBuffer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gl[b] = false
}

// closeGL returns to GL what is still shared, where the context is current on the calling
// thread. The driver keeps the rest for as long as its context lives.
func (d *Device) closeGL() error {
	d.mu.Lock()
	all := make([]*glBuffer, 0, len(d.gl))
	for b := range d.gl {
		all = append(all, b)
	}
	d.mu.Unlock()
	var errs []error
	for _, b := range all {
		errs = append(errs, b.giveUp(), b.Close())
	}
	return errors.Join(errs...)
}

// giveUp is Release on a queue of its own, if the buffer is acquired.
func (b *glBuffer) giveUp() error {
	b.mu.Lock()
	acquired := b.buffer != nil
	b.mu.Unlock()
	if !acquired {
		return nil
	}
	q, err := b.dev.NewQueue()
	if err != nil {
		return err
	}
	return errors.Join(b.Release(q), q.Close())
}

// uses are the uses of a buffer by queued work.
type uses []use

// revoke frees the buffer of a glBuffer, unless it is free, and returns its uses.
func (b *Buffer) revoke() uses {
	d := b.dev
	b.mu.Lock()
	defer b.mu.Unlock()
	b.freed = true
	d.mu.Lock()
	delete(d.buffers, b)
	d.mu.Unlock()
	return b.uses
}

// follow makes later work of a queue wait for uses by other queues.
func (all uses) follow(q *Queue) error {
	for _, u := range all {
		if u.q == &q.timeline || !u.pending() {
			continue
		}
		e, err := u.q.Record()
		if errors.Is(err, device.ErrClosed) {
			continue // Close has waited
		}
		if err != nil {
			return err
		}
		if err := q.WaitFor(e); err != nil {
			return err
		}
	}
	return nil
}

// checkUse refuses operations that are not allowed on the memory of a glBuffer.
func (b *glBuffer) checkUse(op, role string, writes, captured bool) error {
	switch {
	case captured:
		return layout.Errorf(device.ErrInvalid, op, "%s is GL buffer %d, whose address may be another one after Acquire: it can be no part of a capture", role, b.name)
	case writes && b.use == device.GLRead:
		return layout.Errorf(device.ErrInvalid, op, "%s is GL buffer %d, which is shared to be read", role, b.name)
	}
	return nil
}
