package gomlx

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/pkg/errors"
	"github.com/restride/restride/tensor"
)

// buffer is a compute.Buffer: a contiguous array, passed to or from the user.
type buffer struct {
	b       *Backend
	to      target
	mu      sync.Mutex
	data    *datum // nil: finalized, or donated
	lent    bool   // Data has exposed the tensor's memory
	cleanup runtime.Cleanup
}

// newBuffer takes ownership of d. GoMLX may leave buffers to the garbage collector, which then
// releases the tensor.
func newBuffer(b *Backend, to target, d datum) *buffer {
	x := &buffer{b: b, to: to, data: &d}
	x.cleanup = runtime.AddCleanup(x, (*datum).release, x.data)
	return x
}

// BufferFromFlatData copies the elements of a slice to the device.
func (b *Backend) BufferFromFlatData(num compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	if err := b.check(num); err != nil {
		return nil, err
	}
	if err := checkFlat(flat, shape); err != nil {
		return nil, err
	}
	to := newTarget(shape.Clone())
	if b.host != nil {
		g, err := b.memory(to)
		if err != nil {
			return nil, err
		}
		own, err := g.Data()
		if err != nil {
			return nil, err
		}
		copy(bytesOf(own), bytesOf(flat))
		return newBuffer(b, to, datum{g: g}), nil
	}
	t, err := tensor.FromBytes(b.stream, to.dtype, bytesOf(flat), to.dims...)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	return newBuffer(b, to, datum{t: t}), nil
}

// HasSharedBuffers reports whether the device's memory is the host's.
func (b *Backend) HasSharedBuffers() bool { return b.host != nil }

// NewSharedBuffer returns a buffer and its memory, on a device whose memory is the host's;
// elsewhere it is compute.ErrNotImplemented.
func (b *Backend) NewSharedBuffer(num compute.DeviceNum, shape shapes.Shape) (compute.Buffer, any, error) {
	if err := b.check(num); err != nil {
		return nil, nil, err
	}
	if b.host == nil {
		return nil, nil, errors.Wrapf(compute.ErrNotImplemented, "restride: shared buffers on %s", b.stream.Device().Info().ID())
	}
	if _, ok := types[shape.DType]; !ok {
		return nil, nil, errors.Wrapf(compute.ErrNotImplemented, "restride: elements of type %s", shape.DType)
	}
	if shape.IsDynamic() {
		return nil, nil, errors.Errorf("restride: a buffer of shape %s, which has open dimensions", shape)
	}
	to := newTarget(shape.Clone())
	g, err := b.memory(to)
	if err != nil {
		return nil, nil, err
	}
	flat, err := g.Data()
	if err != nil {
		return nil, nil, err
	}
	return newBuffer(b, to, datum{g: g}), flat, nil
}

// hold locks a live buffer.
func (x *buffer) hold() error {
	if err := x.b.check(0); err != nil {
		return err
	}
	x.mu.Lock()
	if x.data == nil {
		x.mu.Unlock()
		return errors.Errorf("restride: the buffer of shape %s was finalized or donated", x.to.shape)
	}
	return nil
}

func (x *buffer) Backend() compute.Backend { return x.b }

// Finalize frees the memory; a second time it does nothing.
func (x *buffer) Finalize() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.data != nil {
		x.cleanup.Stop()
		x.data.release()
		x.data = nil
	}
	return nil
}

func (x *buffer) Shape() (shapes.Shape, error) {
	if err := x.hold(); err != nil {
		return shapes.Invalid(), err
	}
	defer x.mu.Unlock()
	return x.to.shape, nil
}

func (x *buffer) DeviceNum() (compute.DeviceNum, error) { return 0, nil }

func (x *buffer) ToFlatData(flat any) error {
	if err := checkFlat(flat, x.to.shape); err != nil {
		return err
	}
	if err := x.hold(); err != nil {
		return err
	}
	defer x.mu.Unlock()
	if x.data.g == nil {
		if bools, ok := flat.([]bool); ok {
			return x.data.t.ReadInto(bools)
		}
		return x.data.t.ReadInto(bytesOf(flat))
	}
	from, err := x.data.g.Data()
	copy(bytesOf(flat), bytesOf(from))
	return err
}

// Data returns the memory itself, on a device whose memory is the host's. It is valid
// until the buffer is finalized, or collected.
func (x *buffer) Data() (any, error) {
	if err := x.hold(); err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	switch {
	case x.b.host == nil:
		return nil, errors.Wrapf(compute.ErrNotImplemented, "restride: the memory of %s", x.b.stream.Device().Info().ID())
	case x.data.g != nil:
		return x.data.g.Data()
	}
	n := x.to.shape.Size()
	if n == 0 {
		return dtypes.MakeAnySlice(x.to.shape.DType, 0), nil
	}
	if err := x.b.stream.Wait(); err != nil {
		return nil, err
	}
	raw, ok := x.b.host.HostBytes(x.data.t.Buffer())
	if !ok {
		return nil, errors.Errorf("restride: the memory of the buffer of shape %s was freed", x.to.shape)
	}
	x.lent = true
	l := x.data.t.Layout()
	raw = raw[l.Offset()*int64(x.to.dtype.Bits())/8:]
	return dtypes.UnsafeAnySliceFromBytes(unsafe.Pointer(unsafe.SliceData(raw)), x.to.shape.DType, n), nil
}

func (x *buffer) CopyToDevice(num compute.DeviceNum) (compute.Buffer, error) {
	if err := x.b.check(num); err != nil {
		return nil, err
	}
	if err := x.hold(); err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	if err := x.b.needTensor(x.data, x.to); err != nil {
		return nil, err
	}
	t, err := x.data.t.Clone()
	if err != nil {
		return nil, errors.WithStack(err)
	}
	return newBuffer(x.b, x.to, datum{t: t}), nil
}

// use returns the forms of a buffer that an execution needs; its tensor is a separate
// reference. New forms are kept for the next time.
func (x *buffer) use(inTensor, inGo bool) (d datum, err error) {
	if err := x.hold(); err != nil {
		return d, err
	}
	defer x.mu.Unlock()
	if inGo {
		if d.g, err = x.inGo(); err != nil {
			return d, err
		}
	}
	if inTensor {
		if err := x.b.needTensor(x.data, x.to); err != nil {
			return d, err
		}
		d.t, err = x.data.t.Alias()
	}
	return d, err
}

// inGo returns the Go backend's form, and keeps it. On the host the tensor moves to its memory,
// to avoid a second copy. If Data has exposed the memory, whose elements may change, the form
// is a copy for one use.
func (x *buffer) inGo() (compute.Buffer, error) {
	if x.data.g != nil {
		return x.data.g, nil
	}
	copied := datum{t: x.data.t}
	if err := x.b.needGo(&copied, x.to, nil); err != nil || x.lent {
		return copied.g, err
	}
	if x.b.host != nil {
		t, err := x.b.over(copied.g, x.to)
		if err != nil {
			return nil, err
		}
		_ = copied.t.Release()
		x.data.t = t
	}
	x.data.g = copied.g
	return copied.g, nil
}
