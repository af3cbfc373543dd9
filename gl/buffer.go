//go:build gogl

package gl

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-gl/gl/v4.3-core/gl"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// Buffer is a GL buffer object, seen as elements of a type through a layout. It belongs to GL
// and, between Acquire and Release, to the stream.
type Buffer struct {
	in     *Interop
	name   uint32
	own    bool // made here
	dtype  layout.DType
	layout layout.Layout
	shared device.GLBuffer
	tensor *tensor.Tensor // while it is acquired
	closed bool
}

// NewBuffer makes a buffer object for contiguous, undefined elements, and names it: Close
// deletes it. use is the tensors' access to it. The error is ErrOutOfMemory if GL has no memory
// for it.
func (i *Interop) NewBuffer(use device.GLUse, t layout.DType, dims ...int64) (*Buffer, error) {
	const op = "NewBuffer"
	l, err := layout.Contiguous(dims...)
	if err != nil {
		return nil, layout.Named(fmt.Sprintf("%s of %v", op, t), err)
	}
	if err := checkType(op, t, use); err != nil {
		return nil, err
	}
	bytes, err := l.Shape().Bytes(t)
	if err != nil {
		return nil, layout.Named(fmt.Sprintf("%s of %v", op, t), err)
	}
	if bytes > math.MaxInt-unit {
		return nil, layout.Errorf(device.ErrInvalid, op, "%v%v is too large for a buffer", t, l.Shape())
	}
	b := &Buffer{in: i, own: true, dtype: t, layout: l}
	err = i.do(op, func() error {
		if b.name, err = i.newStorage(op, max(bytes+unit-1, unit)&^(unit-1)); err != nil {
			return err
		}
		if b.shared, err = i.share(op, b.name, use, bytes); err != nil {
			gl.DeleteBuffers(1, &b.name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s of %v%v: %w", op, t, l.Shape(), err)
	}
	return b, nil
}

// unit divides the sizes of new buffers: kernels access 16 bytes.
const unit = 16

// newStorage makes a buffer object of the given number of bytes.
func (i *Interop) newStorage(op string, bytes int64) (name uint32, err error) {
	gl.GenBuffers(1, &name)
	bound(gl.COPY_WRITE_BUFFER, name, func() {
		if i.way == Mapped {
			gl.BufferStorage(gl.COPY_WRITE_BUFFER, int(bytes), nil, mappable|gl.DYNAMIC_STORAGE_BIT|gl.CLIENT_STORAGE_BIT)
		} else {
			gl.BufferData(gl.COPY_WRITE_BUFFER, int(bytes), nil, gl.DYNAMIC_COPY)
		}
	})
	if err := failed("glBufferStorage"); err != nil {
		gl.DeleteBuffers(1, &name)
		return 0, fmt.Errorf("%s: %d bytes: %w", op, bytes, err)
	}
	return name, nil
}

// Buffer registers a buffer object of the program, which holds elements of a type in a layout.
// The program owns the object, and must keep it, and its storage, until Close. Its size is a
// multiple of 4 bytes, unless the way is Staged, or the device is the cpu. If the way is
// Mapped, its storage was made by glBufferStorage with the flags GL_MAP_READ_BIT,
// GL_MAP_WRITE_BIT, GL_MAP_PERSISTENT_BIT and GL_MAP_COHERENT_BIT, and the program has not
// mapped it: Close unmaps it.
func (i *Interop) Buffer(name uint32, t layout.DType, l layout.Layout, use device.GLUse) (*Buffer, error) {
	const op = "Buffer"
	if err := checkType(op, t, use); err != nil {
		return nil, err
	}
	b := &Buffer{in: i, name: name, dtype: t, layout: l}
	err := i.do(op, func() error {
		f, err := i.factsOf(op, name)
		if err != nil {
			return err
		}
		bytes, err := b.span(op, f.bytes)
		if err != nil {
			return err
		}
		b.shared, err = i.share(op, name, use, bytes)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

func checkType(op string, t layout.DType, use device.GLUse) error {
	switch {
	case !t.Storable() || t == layout.String:
		return layout.Errorf(device.ErrInvalid, op, "a buffer of GL's has no elements of the type %v", t)
	case use > device.GLWrite:
		return layout.Errorf(device.ErrInvalid, op, "%v", use)
	}
	return nil
}

// span returns the number of bytes, from the beginning of a buffer of a size, that the elements
// span.
func (b *Buffer) span(op string, size int64) (int64, error) {
	if err := backend.CheckOperand(op, "the tensor", &device.Operand{Buffer: sized(size), Layout: b.layout, Type: b.dtype}); err != nil {
		return 0, err
	}
	_, last, some := b.layout.Extent()
	if !some {
		return 0, nil
	}
	bytes, _ := layout.PackedBytes(last+1, b.dtype.Bits()) // it is not more than the size
	return bytes, nil
}

// sized is a device.Buffer with only a size.
type sized int64

func (s sized) Size() int64 { return int64(s) }
func (sized) Free() error   { return nil }

// Name returns GL's name of the buffer object.
func (b *Buffer) Name() uint32 { return b.name }

// Acquire transfers the buffer to the stream, and returns a tensor of it: work on the stream
// follows all work given to GL so far. GL must not use the buffer until Release.
func (b *Buffer) Acquire() (*tensor.Tensor, error) {
	const op = "Acquire"
	if b == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "the buffer is nil")
	}
	err := b.in.do(op, func() error {
		if err := b.idle(op); err != nil {
			return err
		}
		gl.MemoryBarrier(gl.ALL_BARRIER_BITS) // includes writes of shaders
		q := b.in.stream.Queue()
		mem, err := b.shared.Acquire(q)
		if err != nil {
			return err
		}
		if b.tensor, err = tensor.BorrowBuffer(b.in.stream, mem, b.dtype, b.layout); err != nil {
			return errors.Join(err, b.shared.Release(q))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.tensor, nil
}

// Release returns the buffer to GL: later GL work follows the stream's work. The tensor is
// released, and views of it that are not are device.ErrClosed when they are used. After an
// error, writes to the tensor may be lost; if the way is Shared, the buffer is still acquired,
// and may be released again.
func (b *Buffer) Release() error {
	const op = "Release"
	if b == nil {
		return layout.Errorf(device.ErrInvalid, op, "the buffer is nil")
	}
	return b.in.end(op, func() error {
		if b.tensor == nil {
			return layout.Errorf(device.ErrInvalid, op, "buffer %d is not acquired", b.name)
		}
		err := b.shared.Release(b.in.stream.Queue())
		if b.in.way == Shared && err != nil && !errors.Is(err, device.ErrClosed) {
			return err // the driver still has it, unless the device was closed
		}
		x := b.tensor
		b.tensor = nil
		return errors.Join(err, x.Release())
	})
}

// Close unregisters the buffer from the device, and deletes the object that NewBuffer made. It
// is ErrInvalid, and changes nothing, while the buffer is acquired. A second Close is
// ErrClosed.
func (b *Buffer) Close() error {
	const op = "Close"
	if b == nil {
		return layout.Errorf(device.ErrInvalid, op, "the buffer is nil")
	}
	return b.in.end(op, func() error {
		if err := b.idle(op); err != nil {
			return err
		}
		b.closed = true
		err := b.shared.Close()
		if b.own {
			gl.DeleteBuffers(1, &b.name)
		}
		return err
	})
}

// idle checks that the buffer belongs to GL.
func (b *Buffer) idle(op string) error {
	switch {
	case b.closed:
		return layout.Errorf(device.ErrClosed, op, "buffer %d was closed before", b.name)
	case b.tensor != nil:
		return layout.Errorf(device.ErrInvalid, op, "buffer %d is acquired: Release comes first", b.name)
	}
	return nil
}
