package cuda

import (
	"errors"
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/glcontext"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/layout"
)

// cuResource is a CUgraphicsResource.
type cuResource uintptr

// glAPI is the part of an api for memory shared with GL. Calls are made on the thread of a GL
// context.
type glAPI interface {
	// hasGL reports whether the driver has the functions.
	hasGL() bool
	// onGL reports whether the GL context is on a device.
	onGL(ordinal int) (bool, error)
	registerGL(name, flags uint32) (cuResource, error)
	unregister(cuResource) error
	mapResource(cuResource, cuStream) error
	mapped(cuResource) (cuDevicePtr, int64, error)
	unmapResource(cuResource, cuStream) error
}

// Flags of cuGraphicsGLRegisterBuffer.
var registerFlags = map[device.GLUse]uint32{device.GLReadWrite: 0, device.GLRead: 1, device.GLWrite: 2}

// allDevices is a CUGLDeviceList: all devices of a GL context, not only those of a frame.
const allDevices = 1

// mostGLDevices exceeds the number of GPUs of one GL context.
const mostGLDevices = 16

// CheckGL asks the driver for the devices of the current GL context.
func (d *driver) CheckGL(c glcontext.Context) error {
	const op = "CheckGL"
	if !d.api.hasGL() {
		return layout.Errorf(device.ErrUnsupported, op, "this driver shares no memory with GL")
	}
	on := false
	err := d.with(func(*frame) error {
		var err error
		on, err = d.api.onGL(d.ordinal)
		return err
	})
	switch {
	case errors.Is(err, ErrLost):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", layout.Errorf(device.ErrUnsupported, op, "the %v is on no GPU of CUDA's", c), err)
	case !on:
		return layout.Errorf(device.ErrUnsupported, op, "the %v is not on %s, but on another GPU", c, d.info.ID())
	}
	return nil
}

// ShareGL registers a buffer.
func (d *driver) ShareGL(name uint32, bytes int64, use device.GLUse) (gpu.GLMem, error) {
	m := &glMem{driver: d, name: name, bytes: bytes}
	err := d.with(func(*frame) error {
		var err error
		m.resource, err = d.api.registerGL(name, registerFlags[use])
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// glMem is a registered buffer, which is memory while it is mapped.
type glMem struct {
	driver   *driver
	name     uint32
	bytes    int64
	resource cuResource
}

// Ordered: cuGraphicsMapResources and cuGraphicsUnmapResources order the work of the stream and
// of GL.
func (m *glMem) Ordered() bool { return true }

func (m *glMem) Acquire(on gpu.Stream) (gpu.Mem, error) {
	d, s := m.driver, on.(*stream)
	var at cuDevicePtr
	err := d.with(func(*frame) error {
		if err := d.api.mapResource(m.resource, s.handle); err != nil {
			return err
		}
		var bytes int64
		var err error
		if at, bytes, err = d.api.mapped(m.resource); err == nil {
			err = m.check(at, bytes)
		}
		if err != nil {
			err = errors.Join(err, d.api.unmapResource(m.resource, s.handle))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &memory{at: at}, nil
}

// check refuses memory that differs from the shared buffer, or that kernels cannot access.
func (m *glMem) check(at cuDevicePtr, bytes int64) error {
	const op = "Acquire"
	switch {
	case bytes != m.bytes:
		return layout.Errorf(device.ErrInvalid, op, "GL buffer %d has %d bytes, and had %d when it was shared", m.name, bytes, m.bytes)
	case at%16 != 0:
		return layout.Errorf(device.ErrUnsupported, op, "GL buffer %d is at address %#x: kernels access vectors of 16 bytes", m.name, at)
	}
	return nil
}

func (m *glMem) Release(on gpu.Stream) error {
	return m.driver.giveBack(func(*frame) error { return m.driver.api.unmapResource(m.resource, on.(*stream).handle) })
}

func (m *glMem) Close() error {
	return m.driver.giveBack(func(*frame) error { return m.driver.api.unregister(m.resource) })
}

var _ gpu.GLDriver = (*driver)(nil)
