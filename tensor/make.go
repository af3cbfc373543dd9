package tensor

import (
	"errors"
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// New returns a contiguous tensor of zeros (of empty strings).
func New(s *Stream, t layout.DType, dims ...int64) (*Tensor, error) {
	const op = "New"
	x, err := allocate(s, op, t, dims)
	if err != nil || t == layout.String || x.Count() == 0 {
		return published(x, err) // AllocStrings gives empty strings
	}
	if err := s.queue.Fill(x.Operand(), make([]byte, (t.Bits()+7)/8)); err != nil {
		return nil, x.fail(op, errors.Join(err, x.Release()))
	}
	x.note(op, move{verdict: Verdict{Kind: Copy, Bytes: bytesOf(t, x.Count()), Class: "fill"}}, x)
	return x.publish(), nil
}

// Empty returns a contiguous tensor whose elements are undefined, to be filled with CopyFrom, the
// stream's queue or the caller's own kernels.
func Empty(s *Stream, t layout.DType, dims ...int64) (*Tensor, error) {
	return published(allocate(s, "Empty", t, dims))
}

// FromSlice returns a contiguous tensor with the elements of data in row-major
// order: one transfer to the device. Without dims it has one axis.
func FromSlice[T layout.Element](s *Stream, data []T, dims ...int64) (*Tensor, error) {
	return fromSlice(s, "FromSlice", data, dims)
}

func fromSlice[T layout.Element](s *Stream, op string, data []T, dims []int64) (*Tensor, error) {
	if dims == nil {
		dims = []int64{int64(len(data))}
	}
	t := layout.TypeOf[T]()
	if err := checkCount(op, t, dims, int64(len(data))); err != nil {
		return nil, err
	}
	x, err := allocate(s, op, t, dims)
	if err != nil {
		return nil, err
	}
	if strs, ok := layout.Plain(data).([]string); ok {
		return x.upload(op, func() error { return s.words.WriteStrings(x.memory.buffer, 0, strs) })
	}
	return x.upload(op, func() error { return s.queue.Write(x.memory.buffer, 0, bytesOfSlice(data)) })
}

// FromBytes returns a contiguous tensor of any type but String from its packed
// little-endian bytes (see package device). Without dims it is a scalar.
func FromBytes(s *Stream, t layout.DType, data []byte, dims ...int64) (*Tensor, error) {
	const op = "FromBytes"
	if err := checkBytes(op, t, dims, int64(len(data))); err != nil {
		return nil, err
	}
	x, err := allocate(s, op, t, dims)
	if err != nil {
		return nil, err
	}
	return x.upload(op, func() error { return s.queue.Write(x.memory.buffer, 0, data) })
}

// upload fills a new tensor with a transfer.
func (t *Tensor) upload(op string, write func() error) (*Tensor, error) {
	if err := write(); err != nil {
		return nil, t.fail(op, errors.Join(err, t.Release()))
	}
	t.note(op, move{verdict: Verdict{Kind: Transfer, Bytes: bytesOf(t.dtype, t.Count())}}, t)
	return t.publish(), nil
}

// checkBytes checks that n is the size in bytes of elements of the extents.
func checkBytes(op string, t layout.DType, dims []int64, n int64) error {
	size, err := layout.Shape(dims).Bytes(t)
	if err == nil && size != n {
		err = layout.Errorf(device.ErrInvalid, op, "%d bytes are given; %v takes %d", n, layout.Shape(dims).Clone(), size)
	}
	if err != nil {
		return named(op, t, err)
	}
	return nil
}

// checkCount checks that n elements fill the extents, before anything is allocated.
func checkCount(op string, t layout.DType, dims []int64, n int64) error {
	want, err := layout.Shape(dims).Count()
	if err == nil && want != n {
		err = layout.Errorf(device.ErrInvalid, op, "%d elements are given; %v has %d", n, layout.Shape(dims).Clone(), want)
	}
	if err != nil {
		return named(op, t, err)
	}
	return nil
}

// bytesOfSlice returns the memory of a slice of fixed-size elements.
func bytesOfSlice[T any](data []T) []byte {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), len(data)*int(unsafe.Sizeof(data[0])))
}
