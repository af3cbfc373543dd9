package pipeline

import (
	"unsafe"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// An Array is elements in host memory, in row-major order, packed and
// little-endian (see package device).
type Array struct {
	dtype  layout.DType
	dims   layout.Shape
	bytes  int64  // that the elements take
	mem    []byte // at least as many
	pinned bool   // mem is from AllocHost
	lent   bool   // mem belongs to a result
}

// Type returns the element type.
func (a *Array) Type() layout.DType { return a.dtype }

// Dims returns the extents.
func (a *Array) Dims() []int64 { return a.dims.Clone() }

// Bytes returns the memory of the elements.
func (a *Array) Bytes() []byte { return a.mem[:a.bytes:a.bytes] }

// Resize changes the extents of an array that Source fills; the elements must fit in its bytes.
// The elements are then undefined.
func (a *Array) Resize(dims ...int64) error {
	const op = "Array.Resize"
	if a == nil {
		return layout.Errorf(device.ErrInvalid, op, "the array is nil")
	}
	n, err := layout.Shape(dims).Bytes(a.dtype)
	if err == nil && n > int64(len(a.mem)) {
		err = layout.Errorf(device.ErrInvalid, op, "%v%v takes %d bytes; the input has room for %d", a.dtype, layout.Shape(dims).Clone(), n, len(a.mem))
	}
	if err != nil {
		return layout.Named(op, err)
	}
	a.dims, a.bytes = append(a.dims[:0], dims...), n
	return nil
}

// Elements returns the elements as a slice over the same memory.
func Elements[T layout.Element](a *Array) ([]T, error) {
	const op = "pipeline.Elements"
	if a == nil {
		return nil, layout.Errorf(device.ErrInvalid, op, "the array is nil")
	}
	if of := layout.TypeOf[T](); of != a.dtype {
		return nil, layout.Errorf(device.ErrInvalid, op, "the elements are of type %v, not %v", a.dtype, of)
	}
	if a.dtype == layout.Bool {
		for i, b := range a.Bytes() {
			a.mem[i] = min(b, 1) // a Go bool must not be another byte
		}
	}
	if a.bytes == 0 {
		return nil, nil
	}
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(a.mem))), a.bytes/int64(unsafe.Sizeof(zero))), nil
}

// trim clears the unused bits in the last byte of packed elements.
func (a *Array) trim() {
	n, _ := a.dims.Count() // no error: they have a size in bytes
	if used := n % 8 * int64(a.dtype.Bits()) % 8; used != 0 {
		a.mem[a.bytes-1] &= 1<<used - 1
	}
}
