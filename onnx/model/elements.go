package model

import (
	"encoding/binary"
	"slices"

	"github.com/restride/restride/layout"
)

// Element is a Go type that is an ONNX element type. The types that Go lacks
// (float16, int4 and so on) are built from bytes: see Tensor.Data.
type Element interface {
	bool | string | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 |
		float32 | float64 | complex64 | complex128
}

// NewTensor returns a tensor with these elements; no dims make a scalar.
func NewTensor[T Element](name string, values []T, dims ...int64) (Tensor, error) {
	t := Tensor{Name: name, Type: elementType[T](), Dims: shapeOf(slices.Clone(dims))}
	if strs, ok := any(values).([]string); ok {
		t.Strings = nonNil(slices.Clone(strs))
	} else {
		b, err := binary.Append([]byte{}, binary.LittleEndian, values)
		if err != nil {
			return Tensor{}, named("NewTensor", invalidf("%v", err))
		}
		t.Data = b
	}
	if err := t.check(); err != nil {
		return Tensor{}, named("NewTensor", within(err, "tensor %s", quote(name)))
	}
	return t, nil
}

// Elements returns a copy of the tensor's elements, reading external data if
// that is where they are. T must be the tensor's type.
func Elements[T Element](t *Tensor) ([]T, error) {
	values, err := elements[T](t)
	return values, named("Elements", within(err, "tensor %s", quote(t.Name)))
}

func elements[T Element](t *Tensor) ([]T, error) {
	if want := elementType[T](); t.Type != want {
		return nil, invalidf("its type is %v, want %v", t.Type, want)
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.Type == layout.String {
		return any(slices.Clone(t.Strings)).([]T), nil
	}
	b, err := t.bytes()
	if err != nil {
		return nil, err
	}
	count, err := t.Dims.Count()
	if err != nil {
		return nil, err
	}
	values := make([]T, count)
	if _, err := binary.Decode(b, binary.LittleEndian, values); err != nil {
		return nil, invalidf("%v", err)
	}
	return values, nil
}

func elementType[T Element]() layout.DType {
	var zero T
	switch any(zero).(type) {
	case bool:
		return layout.Bool
	case string:
		return layout.String
	case int8:
		return layout.Int8
	case int16:
		return layout.Int16
	case int32:
		return layout.Int32
	case int64:
		return layout.Int64
	case uint8:
		return layout.Uint8
	case uint16:
		return layout.Uint16
	case uint32:
		return layout.Uint32
	case uint64:
		return layout.Uint64
	case float32:
		return layout.Float32
	case float64:
		return layout.Float64
	case complex64:
		return layout.Complex64
	}
	return layout.Complex128
}
