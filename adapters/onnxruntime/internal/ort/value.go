package ort

import (
	"unsafe"

	"github.com/restride/restride/internal/dl"
	"github.com/restride/restride/layout"
)

// Value is one of ONNX Runtime's values.
type Value struct {
	handle uintptr
	memory []byte // of a tensor over memory of this program
}

// room is the address of tensors without elements.
var room [16]byte

// NewTensor returns a tensor over memory, which must not be Go memory that moves: slices
// from the heap do not.
func NewTensor(memory []byte, t layout.DType, dims []int64) (*Value, error) {
	v := &Value{memory: memory}
	data := unsafe.SliceData(memory)
	if len(memory) == 0 {
		data = &room[0]
	}
	err := status(createTensor, api.cpu, uintptr(unsafe.Pointer(data)), uintptr(len(memory)),
		uintptr(unsafe.Pointer(unsafe.SliceData(dims))), uintptr(len(dims)), uintptr(t), uintptr(unsafe.Pointer(&v.handle)))
	return v, err
}

// Release frees the value, but not memory of this program.
func (v *Value) Release() {
	call(releaseValue, v.handle)
	v.handle, v.memory = 0, nil
}

const tensorKind = 1

// kind returns ONNX Runtime's number of the value's kind.
func (v *Value) kind() (int, error) {
	var kind int32
	err := status(valueType, v.handle, uintptr(unsafe.Pointer(&kind)))
	return int(kind), err
}

// tensor returns the type and extents of a tensor.
func (v *Value) tensor() (layout.DType, []int64, error) {
	var info uintptr
	if err := status(typeAndShape, v.handle, uintptr(unsafe.Pointer(&info))); err != nil {
		return 0, nil, err
	}
	defer call(releaseTypeAndShape, info)
	return describe(info)
}

// describe returns a tensor's type, in ONNX's numbers, and its extents.
func describe(info uintptr) (layout.DType, []int64, error) {
	var of int32
	var rank uintptr
	if err := status(elementType, info, uintptr(unsafe.Pointer(&of))); err != nil {
		return 0, nil, err
	}
	if err := status(dimensionsCount, info, uintptr(unsafe.Pointer(&rank))); err != nil {
		return 0, nil, err
	}
	dims := make([]int64, rank)
	err := status(dimensions, info, uintptr(unsafe.Pointer(unsafe.SliceData(dims))), rank)
	return layout.DType(of), dims, err
}

// bytes returns the n bytes of a tensor's memory, until its release.
func (v *Value) bytes(n int64) ([]byte, error) {
	var data uintptr
	if err := status(getTensorData, v.handle, uintptr(unsafe.Pointer(&data))); err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*byte)(dl.Pointer(data)), n), nil
}
