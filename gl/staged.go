//go:build gogl

package gl

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// staged is a GL buffer with a copy of it on the device, and an intermediate GL buffer that the
// host maps: GL's drivers copy between buffers, and need not move the program's into
// host-visible memory. Its Buffer keeps the order of calls.
type staged struct {
	in            *Interop
	name, between uint32
	bytes         int64
	use           device.GLUse
	buffer        device.Buffer // while it is acquired
}

// stage makes the intermediate buffer, for the first bytes of a buffer.
func (i *Interop) stage(name uint32, use device.GLUse, bytes int64) (*staged, error) {
	s := &staged{in: i, name: name, bytes: bytes, use: use}
	if bytes == 0 {
		return s, nil
	}
	gl.GenBuffers(1, &s.between)
	bound(gl.COPY_WRITE_BUFFER, s.between, func() { gl.BufferData(gl.COPY_WRITE_BUFFER, int(bytes), nil, gl.STREAM_COPY) })
	if err := failed("glBufferData"); err != nil {
		gl.DeleteBuffers(1, &s.between)
		return nil, fmt.Errorf("%d bytes: %w", bytes, err)
	}
	return s, nil
}

func (s *staged) Bytes() int64 { return s.bytes }

func (s *staged) Acquire(q device.Queue) (device.Buffer, error) {
	if err := s.check("Acquire"); err != nil {
		return nil, err
	}
	b, err := s.in.stream.Device().Alloc(s.bytes)
	if err != nil {
		return nil, err
	}
	if s.bytes > 0 && s.use != device.GLWrite {
		if err = s.copy(s.name, s.between); err == nil {
			err = s.access(gl.MAP_READ_BIT, func(host []byte) error { return q.Write(b, 0, host) })
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.Free())
	}
	s.buffer = b
	return b, nil
}

func (s *staged) Release(q device.Queue) error {
	b := s.buffer
	s.buffer = nil
	var err error
	if s.bytes > 0 && s.use != device.GLRead {
		if err = s.check("Release"); err == nil {
			err = s.access(gl.MAP_WRITE_BIT|gl.MAP_INVALIDATE_BUFFER_BIT, func(host []byte) error { return q.Read(host, b, 0) })
		}
		if err == nil {
			err = s.copy(s.between, s.name)
		}
	}
	return errors.Join(err, b.Free())
}

// check checks that GL still has the buffer, with room for the elements, and unmapped.
func (s *staged) check(op string) error {
	f, err := s.in.factsOf(op, s.name)
	switch {
	case err != nil:
		return err
	case f.bytes < s.bytes:
		return layout.Errorf(device.ErrInvalid, op, "buffer %d has %d bytes now; the tensor takes %d", s.name, f.bytes, s.bytes)
	case f.mapped != gl.FALSE && f.flags&gl.MAP_PERSISTENT_BIT == 0:
		return layout.Errorf(device.ErrInvalid, op, "buffer %d is mapped", s.name)
	}
	return nil
}

// copy copies from buffer to buffer, on GL's side.
func (s *staged) copy(from, to uint32) error {
	bound(gl.COPY_READ_BUFFER, from, func() {
		bound(gl.COPY_WRITE_BUFFER, to, func() {
			gl.CopyBufferSubData(gl.COPY_READ_BUFFER, gl.COPY_WRITE_BUFFER, 0, 0, int(s.bytes))
		})
	})
	return failed("glCopyBufferSubData")
}

// access calls f with the memory of the intermediate buffer, when GL's work on it is done.
func (s *staged) access(how uint32, f func(host []byte) error) (err error) {
	bound(gl.COPY_READ_BUFFER, s.between, func() {
		at := gl.MapBufferRange(gl.COPY_READ_BUFFER, 0, int(s.bytes), how)
		if at == nil {
			err = unlessFailed("glMapBufferRange", "no memory")
			return
		}
		err = f(unsafe.Slice((*byte)(at), s.bytes))
		if !gl.UnmapBuffer(gl.COPY_READ_BUFFER) {
			err = errors.Join(err, unlessFailed("glUnmapBuffer", "GL lost the contents"))
		}
	})
	return err
}

func (s *staged) Close() error {
	if s.between != 0 {
		gl.DeleteBuffers(1, &s.between)
	}
	return nil
}
