// Package numeric decodes the bits of elements, of every ONNX element type except String, from
// packed little-endian bytes (see package device):
//
//	switch numeric.KindOf(t) {
//	case numeric.IntKind:
//		v := numeric.Int(t, packed, i) // element i, with its sign
//	case numeric.FloatKind:
//		v := numeric.Float(t, packed, i) // exact: a float64 holds them all
//	}
package numeric

import (
	"encoding/binary"
	"fmt"

	"github.com/restride/restride/layout"
)

// Kind is the family of an element type's values, which selects the function that decodes it.
type Kind uint8

// The kinds of element type.
const (
	NoKind      Kind = iota // layout.Invalid
	BoolKind                // Uint: not 0 is true
	IntKind                 // Int
	UintKind                // Uint
	FloatKind               // Float
	ComplexKind             // Complex
	StringKind              // held as Go strings, not as bytes
	BitKind                 // Uint, not as a number
)

// KindOf returns the kind of an element type.
func KindOf(t layout.DType) Kind {
	switch t {
	case layout.Bool:
		return BoolKind
	case layout.Int2, layout.Int4, layout.Int8, layout.Int16, layout.Int32, layout.Int64:
		return IntKind
	case layout.Uint2, layout.Uint4, layout.Uint8, layout.Uint16, layout.Uint32, layout.Uint64:
		return UintKind
	case layout.Complex64, layout.Complex128:
		return ComplexKind
	case layout.String:
		return StringKind
	case layout.Bit:
		return BitKind
	}
	if _, ok := FloatFormatOf(t); ok {
		return FloatKind
	}
	return NoKind
}

// Bits returns the bits of element i of a packed array whose elements have 1, 2, 4, 8, 16, 32
// or 64 bits. It panics out of range, like a Go slice.
func Bits(packed []byte, width int, i int64) uint64 {
	switch width {
	case 1, 2, 4:
		per := int64(8 / width)
		return uint64(packed[i/per]) >> (int(i%per) * width) & (1<<width - 1)
	case 8:
		return uint64(packed[i])
	case 16:
		return uint64(binary.LittleEndian.Uint16(packed[2*i:]))
	case 32:
		return uint64(binary.LittleEndian.Uint32(packed[4*i:]))
	case 64:
		return binary.LittleEndian.Uint64(packed[8*i:])
	}
	panic(fmt.Sprintf("numeric: elements of %d bits", width))
}

// Uint returns element i of an unsigned integer type, of Bool or of Bit.
func Uint(t layout.DType, packed []byte, i int64) uint64 { return Bits(packed, t.Bits(), i) }

// Int returns element i of a signed integer type.
func Int(t layout.DType, packed []byte, i int64) int64 {
	unused := 64 - t.Bits()
	return int64(Bits(packed, t.Bits(), i)<<unused) >> unused
}

// Float returns element i of a floating-point type. The value is exact; a NaN loses its sign
// and payload.
func Float(t layout.DType, packed []byte, i int64) float64 {
	return floatFormats[t].Decode(Bits(packed, t.Bits(), i))
}

// Complex returns element i of a complex type.
func Complex(t layout.DType, packed []byte, i int64) complex128 {
	part := layout.Float64
	if t == layout.Complex64 {
		part = layout.Float32
	}
	return complex(Float(part, packed, 2*i), Float(part, packed, 2*i+1))
}
