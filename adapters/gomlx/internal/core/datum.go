package core

import (
	"reflect"
	"unsafe"

	"github.com/pkg/errors"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// datum is an array in one or both of its forms: a tensor on the device, and a contiguous
// buffer of the Go backend. Where the device's memory is the host's, a tensor that was made
// from a buffer shares its memory.
type datum struct {
	t *tensor.Tensor
	g Buffer
}

// release releases the tensor; the garbage collector owns the Go backend's memory.
func (d *datum) release() {
	_ = d.t.Release() // a finalized backend reports it elsewhere
	*d = datum{}
}

// memory returns new memory of the Go backend. Without memory that would end the program, so
// the budget is checked first.
func (b *Backend) memory(to Array) (Buffer, error) {
	bytes, err := layout.Shape(to.Dims).Bytes(to.DType)
	if err == nil {
		err = budget.Process().Take("GoMLX", bytes)
	}
	if err != nil {
		return nil, errors.WithMessagef(err, "restride: a buffer of shape %s", to.Shape)
	}
	defer budget.Process().Give(bytes)
	return b.Memory(to)
}

// over returns a tensor over a buffer of the Go backend, on a device whose memory is the
// host's.
func (b *Backend) over(g Buffer, to Array) (*tensor.Tensor, error) {
	flat, err := b.Flat(g)
	if err != nil {
		return nil, err
	}
	l, err := layout.Contiguous(to.Dims...)
	if err != nil {
		return nil, err
	}
	return tensor.BorrowBuffer(b.Stream, b.host.WrapHost(bytesOf(flat)), to.DType, l)
}

// needTensor makes the tensor of a datum that lacks one.
func (b *Backend) needTensor(d *datum, to Array) (err error) {
	switch {
	case d.t != nil:
		return nil
	case b.host != nil:
		d.t, err = b.over(d.g, to)
		return err
	}
	flat, err := b.Flat(d.g)
	if err == nil {
		raw := bytesOf(flat)
		b.toDevice.Add(int64(len(raw)))
		d.t, err = tensor.FromBytes(b.Stream, to.DType, raw, to.Dims...)
	}
	return err
}

// needGo makes the Go backend's buffer of a datum that lacks one, in memory from spare, if
// given.
func (b *Backend) needGo(d *datum, to Array, spare func() (Buffer, error)) error {
	if d.g != nil {
		return nil
	}
	if spare == nil {
		spare = func() (Buffer, error) { return b.memory(to) }
	}
	g, err := spare()
	if err != nil {
		return err
	}
	if b.host == nil {
		flat, err := b.Flat(g)
		if err != nil {
			return err
		}
		raw := bytesOf(flat)
		b.toHost.Add(int64(len(raw)))
		if err := d.t.ReadInto(raw); err != nil {
			return err
		}
	} else {
		t, err := b.over(g, to)
		if err != nil {
			return err
		}
		defer t.Release()
		if err := t.CopyFrom(d.t); err != nil {
			return err
		}
	}
	d.g = g
	return nil
}

// bytesOf returns the memory of a slice of numbers.
func bytesOf(flat any) []byte {
	v := reflect.ValueOf(flat)
	if !v.IsValid() || v.Len() == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size()))
}

// makeFlat makes a slice for the elements of an array.
func makeFlat(of Array) any {
	return reflect.MakeSlice(reflect.SliceOf(of.Elem), of.length(), of.length()).Interface()
}

// checkFlat checks that flat is a slice of exactly the elements of an array.
func (b *Backend) checkFlat(flat any, of Array) error {
	if err := b.checkArray("data", of); err != nil {
		return err
	}
	t := reflect.TypeOf(flat)
	if t == nil || t.Kind() != reflect.Slice {
		return errors.Errorf("restride: data of shape %s in a %T; a slice is wanted", of.Shape, flat)
	}
	if t.Elem() != of.Elem {
		return errors.Errorf("restride: data of shape %s in a %T", of.Shape, flat)
	}
	if n := reflect.ValueOf(flat).Len(); n != of.length() {
		return errors.Errorf("restride: data of shape %s in a slice of %d; %d are wanted", of.Shape, n, of.length())
	}
	return nil
}

// checkArray refuses arrays that cannot exist here.
func (b *Backend) checkArray(what string, of Array) error {
	if of.DType == 0 {
		return b.lacks("%s of shape %s, whose type Restride lacks", what, of.Shape)
	}
	if of.Open() {
		return errors.Errorf("restride: %s of shape %s, which has open dimensions", what, of.Shape)
	}
	return nil
}
