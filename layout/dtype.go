package layout

import "fmt"

// DType is an ONNX element type. Its number is the one in ONNX files (TensorProto.DataType).
type DType uint8

// The 26 element types of ONNX, as of opset 25.
const (
	Invalid        DType = 0
	Float32        DType = 1
	Uint8          DType = 2
	Int8           DType = 3
	Uint16         DType = 4
	Int16          DType = 5
	Int32          DType = 6
	Int64          DType = 7
	String         DType = 8
	Bool           DType = 9
	Float16        DType = 10
	Float64        DType = 11
	Uint32         DType = 12
	Uint64         DType = 13
	Complex64      DType = 14
	Complex128     DType = 15
	BFloat16       DType = 16
	Float8E4M3FN   DType = 17
	Float8E4M3FNUZ DType = 18
	Float8E5M2     DType = 19
	Float8E5M2FNUZ DType = 20
	Uint4          DType = 21
	Int4           DType = 22
	Float4E2M1     DType = 23
	Float8E8M0     DType = 24
	Uint2          DType = 25
	Int2           DType = 26
)

// Bit is a single bit, the element of views of 3-, 5- and 6-bit codes and of bit planes. It is
// not an ONNX type. Bits can be copied and filled, but not converted or taken, as they are not
// numbers.
const Bit DType = 1 << 7

// dtypes describes each type: its ONNX name, its bits per element (0: no fixed width), and, for
// types below a byte, the 8-bit type that holds one unpacked element per byte.
var dtypes = [...]struct {
	name      string
	bits      uint8
	container DType
}{
	Float32:        {"float", 32, 0},
	Uint8:          {"uint8", 8, 0},
	Int8:           {"int8", 8, 0},
	Uint16:         {"uint16", 16, 0},
	Int16:          {"int16", 16, 0},
	Int32:          {"int32", 32, 0},
	Int64:          {"int64", 64, 0},
	String:         {"string", 0, 0},
	Bool:           {"bool", 8, 0},
	Float16:        {"float16", 16, 0},
	Float64:        {"double", 64, 0},
	Uint32:         {"uint32", 32, 0},
	Uint64:         {"uint64", 64, 0},
	Complex64:      {"complex64", 64, 0},
	Complex128:     {"complex128", 128, 0},
	BFloat16:       {"bfloat16", 16, 0},
	Float8E4M3FN:   {"float8e4m3fn", 8, 0},
	Float8E4M3FNUZ: {"float8e4m3fnuz", 8, 0},
	Float8E5M2:     {"float8e5m2", 8, 0},
	Float8E5M2FNUZ: {"float8e5m2fnuz", 8, 0},
	Uint4:          {"uint4", 4, Uint8},
	Int4:           {"int4", 4, Int8},
	Float4E2M1:     {"float4e2m1", 4, Uint8},
	Float8E8M0:     {"float8e8m0", 8, 0},
	Uint2:          {"uint2", 2, Uint8},
	Int2:           {"int2", 2, Int8},
}

// DTypes returns the 26 element types in the order of their ONNX numbers.
func DTypes() []DType {
	all := make([]DType, 0, len(dtypes)-1)
	for t := range dtypes[1:] {
		all = append(all, DType(t+1))
	}
	return all
}

// Valid reports whether t is one of the 26 element types.
func (t DType) Valid() bool { return t > 0 && int(t) < len(dtypes) }

// Storable reports whether memory can hold elements of t: whether it is valid, or [Bit].
func (t DType) Storable() bool { return t.Valid() || t == Bit }

// Bits returns the width of one element in bits: 1, 2, 4, 8, 16, 32, 64 or 128;
// 0 for String and for invalid types, which have no fixed width.
func (t DType) Bits() int {
	switch {
	case t == Bit:
		return 1
	case !t.Valid():
		return 0
	}
	return int(dtypes[t].bits)
}

// Container returns the 8-bit type that holds one element of a sub-byte type per byte (Int4 and
// Int2: Int8; Uint4, Uint2 and Float4E2M1: Uint8), and Invalid for all other types and Bit.
func (t DType) Container() DType {
	if !t.Valid() {
		return Invalid
	}
	return dtypes[t].container
}

// String returns ONNX's name of the type, such as "float" or "int4"; Bit is "bit".
func (t DType) String() string {
	switch {
	case t == Bit:
		return "bit"
	case !t.Valid():
		return fmt.Sprintf("dtype(%d)", uint8(t))
	}
	return dtypes[t].name
}

// ParseDType returns the type whose name String gives.
func ParseDType(name string) (DType, error) {
	if name == Bit.String() {
		return Bit, nil
	}
	for t, d := range dtypes {
		if t > 0 && d.name == name {
			return DType(t), nil
		}
	}
	return Invalid, Errorf(ErrInvalid, "ParseDType", "%q is not the name of an ONNX element type", name)
}
