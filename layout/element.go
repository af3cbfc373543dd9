package layout

import (
	"reflect"
	"strconv"
	"unsafe"
)

// Element is a Go type that corresponds to an ONNX element type, or has such an underlying type:
// int is Int64 (on 32-bit machines Int32). Elements of the other types (float16, float8, int4,
// ...) can only be given as packed bytes.
type Element interface {
	~bool | ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128 | ~string
}

// TypeOf returns the element type of a Go type.
func TypeOf[T Element]() DType { return TypeOfKind(reflect.TypeFor[T]().Kind()) }

// TypeOfKind returns the element type of a kind of Go type; Invalid if it has none.
func TypeOfKind(k reflect.Kind) DType {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return Invalid
}

var kinds = [...]DType{
	reflect.Bool: Bool, reflect.Int: map[int]DType{32: Int32, 64: Int64}[strconv.IntSize],
	reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Float32: Float32, reflect.Float64: Float64, reflect.Complex64: Complex64, reflect.Complex128: Complex128,
	reflect.String: String,
}

// Plain returns the same memory as a slice of T's built-in type, such as []float32 or []string;
// for int it is []int64 (on 32-bit machines []int32).
func Plain[T Element](values []T) any {
	switch TypeOf[T]() {
	case Bool:
		return plain[bool](values)
	case Int8:
		return plain[int8](values)
	case Int16:
		return plain[int16](values)
	case Int32:
		return plain[int32](values)
	case Int64:
		return plain[int64](values)
	case Uint8:
		return plain[uint8](values)
	case Uint16:
		return plain[uint16](values)
	case Uint32:
		return plain[uint32](values)
	case Uint64:
		return plain[uint64](values)
	case Float32:
		return plain[float32](values)
	case Float64:
		return plain[float64](values)
	case Complex64:
		return plain[complex64](values)
	case Complex128:
		return plain[complex128](values)
	}
	return plain[string](values)
}

func plain[U, T any](values []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// Integer is any integer type, for extents or axes.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// ShapeOf converts extents of any integer type to a Shape: Reshape(ShapeOf(dims...)...).
func ShapeOf[T Integer](dims ...T) Shape {
	s := make(Shape, len(dims))
	for i, d := range dims {
		s[i] = int64(d)
	}
	return s
}

// Ints converts integers of any type to ints: axes, for Permute and others, or a Shape's extents.
func Ints[T Integer](xs ...T) []int {
	ints := make([]int, len(xs))
	for i, x := range xs {
		ints[i] = int(x)
	}
	return ints
}
