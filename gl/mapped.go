//go:build gogl

package gl

import (
	"errors"
	"unsafe"

	"github.com/go-gl/gl/v4.3-core/gl"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// mappable are the flags of storage that stays mapped while GL uses it.
const mappable = gl.MAP_READ_BIT | gl.MAP_WRITE_BIT | gl.MAP_PERSISTENT_BIT | gl.MAP_COHERENT_BIT

// mapped is a GL buffer that stays in the host's memory. Its Buffer keeps the order of calls.
type mapped struct {
	in     *Interop
	name   uint32
	bytes  int64
	at     unsafe.Pointer
	buffer device.Buffer // while it is acquired
	done   chan struct{} // closed when the device no longer uses the memory
}

// checkMapped returns why Mapped is unavailable, by trying it.
func (i *Interop) checkMapped(op string) error {
	if !i.storage {
		return layout.Errorf(device.ErrUnsupported, op, "buffers stay mapped with OpenGL 4.4 or GL_ARB_buffer_storage; the context has neither")
	}
	memory := make([]byte, 2*unit)
	b, err := i.wrap(op, memory[-uintptr(unsafe.Pointer(&memory[0]))%unit:][:unit], nil)
	if err != nil {
		return err
	}
	return b.Free()
}

// wrap makes a buffer of host memory that the device works on in place, until done.
func (i *Interop) wrap(op string, memory []byte, done func()) (device.Buffer, error) {
	dev := i.stream.Device()
	if adopter, ok := device.As[device.HostAdopter](dev); ok {
		return adopter.AdoptHost(memory, done)
	}
	return nil, layout.Errorf(device.ErrUnsupported, op, "device %s does not work in the host's memory", dev.Info().ID())
}

// mapBuffer maps a buffer until Close.
func (i *Interop) mapBuffer(op string, name uint32) (*mapped, error) {
	f, err := i.factsOf(op, name)
	switch {
	case err != nil:
		return nil, err
	case f.flags&mappable != mappable:
		return nil, layout.Errorf(device.ErrUnsupported, op, "buffer %d cannot stay mapped: its storage has the flags %#x; glBufferStorage makes it with %#x", name, f.flags, mappable)
	case f.mapped != gl.FALSE:
		return nil, layout.Errorf(device.ErrInvalid, op, "buffer %d is mapped already", name)
	}
	m := &mapped{in: i, name: name, bytes: f.bytes}
	bound(gl.COPY_READ_BUFFER, name, func() { m.at = gl.MapBufferRange(gl.COPY_READ_BUFFER, 0, int(f.bytes), mappable) })
	if m.at == nil {
		return nil, unlessFailed("glMapBufferRange", "no memory")
	}
	b, err := i.wrap(op, m.memory(), nil) // a trial, as a device may require other sizes
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, b.Free()
}

func (m *mapped) memory() []byte { return unsafe.Slice((*byte)(m.at), m.bytes) }

func (m *mapped) Bytes() int64 { return m.bytes }

func (m *mapped) Acquire(device.Queue) (device.Buffer, error) {
	const op = "Acquire"
	f, err := m.in.factsOf(op, m.name)
	if err != nil {
		return nil, err
	}
	if f.at != m.at || f.bytes != m.bytes {
		return nil, layout.Errorf(device.ErrInvalid, op, "buffer %d is not mapped any more: others have unmapped or deleted it", m.name)
	}
	if err := finish(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	m.buffer, err = m.in.wrap(op, m.memory(), func() { close(done) })
	m.done = done
	return m.buffer, err
}

// Release waits for the work of all queues on the memory.
func (m *mapped) Release(q device.Queue) error {
	b := m.buffer
	m.buffer = nil
	err := errors.Join(q.Wait(), b.Free())
	if !errors.Is(err, device.ErrClosed) { // the work of a closed device is over
		<-m.done
	}
	return err
}

func (m *mapped) Close() error {
	if f, err := m.in.factsOf("Close", m.name); err != nil || f.at != m.at {
		return nil // it is unmapped
	}
	bound(gl.COPY_READ_BUFFER, m.name, func() { gl.UnmapBuffer(gl.COPY_READ_BUFFER) })
	return failed("glUnmapBuffer")
}
