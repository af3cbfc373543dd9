package dlpack

import (
	"fmt"

	"github.com/restride/restride/device"
	"github.com/restride/restride/layout"
)

// typeCode is dlpack.h's DLDataTypeCode.
type typeCode uint8

// codes are the names of type codes in messages.
var codes = [...]string{
	"int", "uint", "float", "opaque handle", "bfloat", "complex", "bool",
	"float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
	"float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
}

func (c typeCode) String() string {
	if int(c) < len(codes) {
		return codes[c]
	}
	return fmt.Sprintf("type code %d", uint8(c))
}

// kind is a type in DLPack's form, of one lane.
type kind struct {
	code typeCode
	bits uint8
}

var kinds = map[layout.DType]kind{
	layout.Int2: {0, 2}, layout.Int4: {0, 4}, layout.Int8: {0, 8}, layout.Int16: {0, 16}, layout.Int32: {0, 32}, layout.Int64: {0, 64},
	layout.Bit: {1, 1}, layout.Uint2: {1, 2}, layout.Uint4: {1, 4}, layout.Uint8: {1, 8}, layout.Uint16: {1, 16}, layout.Uint32: {1, 32}, layout.Uint64: {1, 64},
	layout.Float16: {2, 16}, layout.Float32: {2, 32}, layout.Float64: {2, 64},
	layout.BFloat16: {4, 16}, layout.Complex64: {5, 64}, layout.Complex128: {5, 128}, layout.Bool: {6, 8},
	layout.Float8E4M3FN: {10, 8}, layout.Float8E4M3FNUZ: {11, 8}, layout.Float8E5M2: {12, 8}, layout.Float8E5M2FNUZ: {13, 8},
	layout.Float8E8M0: {14, 8}, layout.Float4E2M1: {17, 4},
}

var types = func() map[kind]layout.DType {
	all := map[kind]layout.DType{}
	for t, k := range kinds {
		all[k] = t
	}
	return all
}()

// elementType returns the type of a tensor's elements: the caller's choice, or the capsule's.
func elementType(t *cTensor, as layout.DType) (layout.DType, error) {
	const op = "Import"
	if t.bits == 0 || t.lanes == 0 {
		return 0, layout.Errorf(device.ErrInvalid, op, "elements of %v, %d bits and %d lanes", t.code, t.bits, t.lanes)
	}
	if as == layout.Invalid {
		if found, ok := types[kind{t.code, t.bits}]; ok {
			return found, nil
		}
		return 0, layout.Errorf(device.ErrUnsupported, op, "%v of %d bits is none of Restride's types: ImportOptions.As can name one of its width, or bit", t.code, t.bits)
	}
	if as != layout.Bit && as.Bits() != int(t.bits) {
		return 0, layout.Errorf(device.ErrInvalid, op, "%v of %d bits as %v, which has %d", t.code, t.bits, as, as.Bits())
	}
	return as, nil
}
