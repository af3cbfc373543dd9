package tensor

import (
	"encoding/binary"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/budget"
	"github.com/restride/restride/layout"
)

// FromHost returns a contiguous tensor on Host over the caller's own slice. Nothing is copied
// (except strings), so the slice must not be changed while the tensor or a view of it is in use.
// Without dims it has one axis.
func FromHost[T layout.Element](data []T, dims ...int64) (*Tensor, error) {
	t := layout.TypeOf[T]()
	if t == layout.String {
		return fromSlice(Host(), "FromHost", data, dims)
	}
	if dims == nil {
		dims = []int64{int64(len(data))}
	}
	return published(wrap("FromHost", t, bytesOfSlice(data), int64(len(data)), dims, true))
}

// FromHostBytes is FromHost for any type but String, over the caller's packed little-endian
// bytes. Without dims it is a scalar. To sends it to another stream. Copies are fastest from
// memory that begins on a multiple of 16 bytes.
func FromHostBytes(t layout.DType, data []byte, dims ...int64) (*Tensor, error) {
	const op = "FromHostBytes"
	if err := checkBytes(op, t, dims, int64(len(data))); err != nil {
		return nil, err
	}
	l, err := layout.Contiguous(dims...)
	if err != nil {
		return nil, named(op, t, err)
	}
	return own(Host(), &memory{buffer: cpu.Wrap(data), borrowed: true}, t, l).publish(), nil
}

// wrap returns a tensor over memory of n elements; borrowed memory stays the caller's.
func wrap(op string, t layout.DType, data []byte, n int64, dims []int64, borrowed bool) (*Tensor, error) {
	if err := checkCount(op, t, dims, n); err != nil {
		return nil, err
	}
	l, err := layout.Contiguous(dims...)
	if err != nil {
		return nil, err
	}
	return own(Host(), &memory{buffer: cpu.Wrap(data), borrowed: borrowed}, t, l), nil
}

// Extents returns the extents of axes [from, to) as an int64 tensor of one axis on Host. It
// neither reads the elements nor waits for the stream.
func (t *Tensor) Extents(from, to int) (*Tensor, error) {
	const op = "Extents"
	if t == nil {
		return nil, nilTensor(op)
	}
	if t.released.Load() {
		return nil, t.fail(op, ErrReleased)
	}
	if from < 0 || to < from || to > t.Rank() {
		return nil, t.fail(op, layout.Errorf(device.ErrInvalid, op, "axes %d to %d of %d", from, to, t.Rank()))
	}
	dims := t.layout.AppendDims(make([]int64, 0, t.Rank()))[from:to]
	out, err := wrap(op, layout.Int64, bytesOfSlice(dims), int64(len(dims)), []int64{int64(len(dims))}, false)
	if err != nil {
		return nil, err
	}
	t.stream.report(op, Verdict{}, t.dtype, &t.layout, &out.layout)
	return out.publish(), nil
}

// maxInts bounds the result of AppendInts: a tensor that repeats one element could exceed any
// memory.
const maxInts = 1 << 24

// AppendInts appends the elements of an Int64 or Int32 tensor of rank 0 or 1 to dst. It waits for
// the stream. Host memory is read in place; elsewhere it is a transfer.
func (t *Tensor) AppendInts(dst []int64) ([]int64, error) {
	const op = "AppendInts"
	if err := t.hold(op); err != nil {
		return dst, err
	}
	defer t.memory.drop()
	if t.dtype != layout.Int64 && t.dtype != layout.Int32 || t.Rank() > 1 {
		return dst, t.fail(op, layout.Errorf(device.ErrInvalid, op, "the tensor must be int64 or int32 and of rank 0 or 1"))
	}
	if t.Count() > maxInts {
		return dst, t.fail(op, layout.Errorf(device.ErrUnsupported, op, "more than %d elements", maxInts))
	}
	n, at, step := t.Count(), t.layout.Offset(), int64(1)
	if t.Rank() == 1 {
		step = t.layout.Stride(0)
	}
	raw, ok := t.hostBytes()
	if !ok {
		var err error
		if raw, err = t.bytes(op); err != nil {
			return dst, err
		}
		at, step = 0, 1
	}
	if int64(cap(dst)-len(dst)) < n {
		room, err := budget.Make[int64](budget.Process(), op, int64(len(dst))+n)
		if err != nil {
			return dst, err
		}
		dst = room[:copy(room, dst)]
	}
	for ; n > 0; n, at = n-1, at+step {
		if t.dtype == layout.Int64 {
			dst = append(dst, int64(binary.LittleEndian.Uint64(raw[8*at:])))
		} else {
			dst = append(dst, int64(int32(binary.LittleEndian.Uint32(raw[4*at:]))))
		}
	}
	return dst, nil
}
