package gomlx

import (
	"reflect"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
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
	g compute.Buffer
}

// release releases the tensor; the garbage collector owns the Go backend's memory.
func (d *datum) release() {
	_ = d.t.Release() // a finalized backend reports it elsewhere
	*d = datum{}
}

// target describes an array to be made, in both libraries' terms.
type target struct {
	shape shapes.Shape
	dtype layout.DType
	dims  []int64
}

func newTarget(shape shapes.Shape) target {
	return target{shape, types[shape.DType], dimensions(shape.Dimensions)}
}

func dimensions(of []int) []int64 {
	dims := make([]int64, len(of))
	for i, n := range of {
		dims[i] = int64(n)
	}
	return dims
}

// memory returns new memory of the Go backend. Without memory that would end the program, so
// the budget is checked first.
func (b *Backend) memory(to target) (compute.Buffer, error) {
	bytes, err := layout.Shape(to.dims).Bytes(to.dtype)
	if err == nil {
		err = budget.Process().Take("GoMLX", bytes)
	}
	if err != nil {
		return nil, errors.WithMessagef(err, "restride: a buffer of shape %s", to.shape)
	}
	defer budget.Process().Give(bytes)
	g, _, err := b.inner.NewSharedBuffer(0, to.shape)
	return g, err
}

// over returns a tensor over a buffer of the Go backend, on a device whose memory is the
// host's.
func (b *Backend) over(g compute.Buffer, to target) (*tensor.Tensor, error) {
	flat, err := g.Data()
	if err != nil {
		return nil, err
	}
	l, err := layout.Contiguous(to.dims...)
	if err != nil {
		return nil, err
	}
	return tensor.BorrowBuffer(b.stream, b.host.WrapHost(bytesOf(flat)), to.dtype, l)
}

// needTensor makes the tensor of a datum that lacks one.
func (b *Backend) needTensor(d *datum, to target) (err error) {
	switch {
	case d.t != nil:
		return nil
	case b.host != nil:
		d.t, err = b.over(d.g, to)
		return err
	}
	flat, err := d.g.Data()
	if err == nil {
		raw := bytesOf(flat)
		b.toDevice.Add(int64(len(raw)))
		d.t, err = tensor.FromBytes(b.stream, to.dtype, raw, to.dims...)
	}
	return err
}

// needGo makes the Go backend's buffer of a datum that lacks one, in memory from spare, if
// given.
func (b *Backend) needGo(d *datum, to target, spare func() (compute.Buffer, error)) error {
	if d.g != nil {
		return nil
	}
	if spare == nil {
		spare = func() (compute.Buffer, error) { return b.memory(to) }
	}
	g, err := spare()
	if err != nil {
		return err
	}
	if b.host == nil {
		flat, err := g.Data()
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

// checkFlat checks that flat is a slice of exactly the elements of a shape, in GoMLX's form:
// packed ones in bytes.
func checkFlat(flat any, shape shapes.Shape) error {
	if _, ok := types[shape.DType]; !ok {
		return errors.Wrapf(compute.ErrNotImplemented, "restride: elements of type %s", shape.DType)
	}
	if shape.IsDynamic() {
		return errors.Errorf("restride: data of shape %s, which has open dimensions", shape)
	}
	v := reflect.ValueOf(flat)
	if v.Kind() != reflect.Slice {
		return errors.Errorf("restride: data of shape %s in a %T; a slice is wanted", shape, flat)
	}
	want, got := shape.DType, dtypes.FromGoType(v.Type().Elem())
	if want.IsPacked() {
		want = dtypes.Uint8
	}
	if got != want {
		return errors.Errorf("restride: data of shape %s in a %T", shape, flat)
	}
	n := shape.Size()
	if shape.DType.IsPacked() {
		n = shape.DType.SizeForDimensions(n)
	}
	if v.Len() != n {
		return errors.Errorf("restride: data of shape %s in a slice of %d; %d are wanted", shape, v.Len(), n)
	}
	return nil
}
