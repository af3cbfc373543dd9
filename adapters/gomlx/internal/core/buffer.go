package core

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"github.com/pkg/errors"
	"github.com/restride/restride/tensor"
)

// Held is an array of the user's: contiguous, as GoMLX passes it to and from computations.
type Held struct {
	b       *Backend
	of      Array
	mu      sync.Mutex
	data    *datum // nil: finalized, or donated
	lent    bool   // Data has exposed the tensor's memory
	uses    int    // executions that it is an input of
	guarded bool   // cleanup is set
	cleanup runtime.Cleanup
}

// hold takes ownership of d. GoMLX may leave arrays to the garbage collector.
func (b *Backend) hold(of Array, d datum) *Held {
	x := &Held{b: b, of: of, data: &d}
	x.guard()
	return x
}

// guard makes the garbage collector release the tensor, once there is one.
func (x *Held) guard() {
	if x.data.t != nil && !x.guarded {
		x.cleanup, x.guarded = runtime.AddCleanup(x, (*datum).release, x.data), true
	}
}

// FromFlat copies the elements of a slice to the device.
func (b *Backend) FromFlat(num int, flat any, of Array) (*Held, error) {
	if err := b.Check(num); err != nil {
		return nil, err
	}
	if err := b.checkFlat(flat, of); err != nil {
		return nil, err
	}
	if b.host != nil {
		x, own, err := b.NewShared(num, of)
		if err == nil {
			copy(bytesOf(own), bytesOf(flat))
		}
		return x, err
	}
	t, err := tensor.FromBytes(b.Stream, of.DType, bytesOf(flat), of.Dims...)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	return b.hold(of, datum{t: t}), nil
}

// NewShared returns an array and its memory, on a device whose memory is the host's.
func (b *Backend) NewShared(num int, of Array) (*Held, any, error) {
	if err := b.Check(num); err != nil {
		return nil, nil, err
	}
	if b.host == nil {
		return nil, nil, b.lacks("shared buffers on %s", b.Stream.Device().Info().ID())
	}
	if err := b.checkArray("a buffer", of); err != nil {
		return nil, nil, err
	}
	g, err := b.memory(of)
	if err != nil {
		return nil, nil, err
	}
	flat, err := b.Flat(g)
	if err != nil {
		return nil, nil, err
	}
	return b.hold(of, datum{g: g}), flat, nil
}

// lock locks a live array.
func (x *Held) lock() error {
	if err := x.b.Check(0); err != nil {
		return err
	}
	x.mu.Lock()
	if x.data == nil {
		x.mu.Unlock()
		return errors.Errorf("restride: the buffer of shape %s was finalized or donated", x.of.Shape)
	}
	return nil
}

// Finalize frees the memory; a second time it does nothing.
func (x *Held) Finalize() {
	x.drop(!x.b.Finalized())
}

// drop releases the memory, and may give it back to the Go backend.
func (x *Held) drop(recycle bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.data == nil {
		return
	}
	if x.guarded {
		x.cleanup.Stop()
	}
	if g := x.data.g; recycle && g != nil && x.data.t == nil && x.uses == 0 {
		x.b.Recycle(g)
	}
	x.data.release()
	x.data = nil
}

// used ends a use by an execution.
func (x *Held) used() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.uses--
}

// Describe describes a live array.
func (x *Held) Describe() (Array, error) {
	if err := x.lock(); err != nil {
		return Array{}, err
	}
	defer x.mu.Unlock()
	return x.of, nil
}

// Read copies the elements to a slice.
func (x *Held) Read(flat any) error {
	if err := x.b.checkFlat(flat, x.of); err != nil {
		return err
	}
	if err := x.lock(); err != nil {
		return err
	}
	defer x.mu.Unlock()
	if x.data.g == nil {
		if bools, ok := flat.([]bool); ok {
			return x.data.t.ReadInto(bools)
		}
		return x.data.t.ReadInto(bytesOf(flat))
	}
	from, err := x.b.Flat(x.data.g)
	copy(bytesOf(flat), bytesOf(from))
	return err
}

// Data returns the memory itself, on a device whose memory is the host's. It is valid
// until the buffer is finalized, or collected.
func (x *Held) Data() (any, error) {
	if err := x.lock(); err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	switch {
	case x.b.host == nil:
		return nil, x.b.lacks("the memory of %s", x.b.Stream.Device().Info().ID())
	case x.data.g != nil:
		return x.b.Flat(x.data.g)
	}
	n := x.of.length()
	if n == 0 {
		return makeFlat(x.of), nil
	}
	if err := x.b.Stream.Wait(); err != nil {
		return nil, err
	}
	raw, ok := x.b.host.HostBytes(x.data.t.Buffer())
	if !ok {
		return nil, errors.Errorf("restride: the memory of the buffer of shape %s was freed", x.of.Shape)
	}
	x.lent = true
	l := x.data.t.Layout()
	raw = raw[l.Offset()*int64(x.of.DType.Bits())/8:]
	return reflect.SliceAt(x.of.Elem, unsafe.Pointer(unsafe.SliceData(raw)), n).Interface(), nil
}

// Copy is an array of the same elements.
func (x *Held) Copy(num int) (*Held, error) {
	if err := x.b.Check(num); err != nil {
		return nil, err
	}
	if err := x.lock(); err != nil {
		return nil, err
	}
	defer x.mu.Unlock()
	if err := x.b.needTensor(x.data, x.of); err != nil {
		return nil, err
	}
	x.guard()
	t, err := x.data.t.Clone()
	if err != nil {
		return nil, errors.WithStack(err)
	}
	return x.b.hold(x.of, datum{t: t}), nil
}

// use returns the forms of a buffer that an execution needs; its tensor is a separate
// reference. New forms are kept for the next time.
func (x *Held) use(inTensor, inGo bool) (d datum, err error) {
	if err := x.lock(); err != nil {
		return d, err
	}
	defer x.mu.Unlock()
	x.uses++
	defer func() {
		if err != nil {
			x.uses--
		}
	}()
	if inGo {
		if d.g, err = x.inGo(); err != nil {
			return d, err
		}
	}
	if inTensor {
		if err := x.b.needTensor(x.data, x.of); err != nil {
			return d, err
		}
		x.guard()
		d.t, err = x.data.t.Alias()
	}
	return d, err
}

// inGo returns the Go backend's form, and keeps it. On the host the tensor moves to its memory,
// to avoid a second copy. If Data has exposed the memory, whose elements may change, the form
// is a copy for one use.
func (x *Held) inGo() (Buffer, error) {
	if x.data.g != nil {
		return x.data.g, nil
	}
	copied := datum{t: x.data.t}
	if err := x.b.needGo(&copied, x.of, nil); err != nil || x.lent {
		return copied.g, err
	}
	if x.b.host != nil {
		t, err := x.b.over(copied.g, x.of)
		if err != nil {
			return nil, err
		}
		_ = copied.t.Release()
		x.data.t = t
	}
	x.data.g = copied.g
	return copied.g, nil
}
