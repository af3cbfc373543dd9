package checkpoint

import (
	"fmt"
	"math/bits"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// Format is a file format.
type Format uint8

const (
	Safetensors Format = iota + 1
	GGUF
)

func (f Format) String() string {
	switch f {
	case Safetensors:
		return "safetensors"
	case GGUF:
		return "gguf"
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// Type says how a file stores a tensor's elements: in blocks, in row-major order.
type Type struct {
	Name       string       // the format's own: "BF16", "F8_E4M3", "Q4_K"
	Block      int64        // elements in a block
	BlockBytes int64        // bytes of a block
	DType      layout.DType // of elements stored as in a tensor; otherwise Invalid
	id         uint32       // in GGUF
}

func (t Type) String() string { return t.Name }

// unknown reports whether GGUF has a number for the type that this package does not know.
func (t Type) unknown() bool { return t.Name != "" && t.Block == 0 }

// safetensorsTypes are the types of safetensors, in the order of its own list.
var safetensorsTypes = []Type{
	plain("BOOL", layout.Bool), {Name: "F4", Block: 2, BlockBytes: 1, DType: layout.Float4E2M1},
	{Name: "F6_E2M3", Block: 4, BlockBytes: 3}, {Name: "F6_E3M2", Block: 4, BlockBytes: 3},
	plain("U8", layout.Uint8), plain("I8", layout.Int8),
	plain("F8_E5M2", layout.Float8E5M2), plain("F8_E4M3", layout.Float8E4M3FN), plain("F8_E8M0", layout.Float8E8M0),
	plain("F8_E4M3FNUZ", layout.Float8E4M3FNUZ), plain("F8_E5M2FNUZ", layout.Float8E5M2FNUZ),
	plain("I16", layout.Int16), plain("U16", layout.Uint16), plain("F16", layout.Float16), plain("BF16", layout.BFloat16),
	plain("I32", layout.Int32), plain("U32", layout.Uint32), plain("F32", layout.Float32), plain("C64", layout.Complex64),
	plain("F64", layout.Float64), plain("I64", layout.Int64), plain("U64", layout.Uint64),
}

// ggufTypes are GGUF's types, with ggml's numbers.
var ggufTypes = []Type{
	0: plain("F32", layout.Float32), 1: plain("F16", layout.Float16), 30: plain("BF16", layout.BFloat16), 28: plain("F64", layout.Float64),
	24: plain("I8", layout.Int8), 25: plain("I16", layout.Int16), 26: plain("I32", layout.Int32), 27: plain("I64", layout.Int64),
	2: blocks("Q4_0", 32, 18), 3: blocks("Q4_1", 32, 20), 6: blocks("Q5_0", 32, 22), 7: blocks("Q5_1", 32, 24),
	8: blocks("Q8_0", 32, 34), 9: blocks("Q8_1", 32, 40),
	10: blocks("Q2_K", 256, 84), 11: blocks("Q3_K", 256, 110), 12: blocks("Q4_K", 256, 144), 13: blocks("Q5_K", 256, 176),
	14: blocks("Q6_K", 256, 210), 15: blocks("Q8_K", 256, 292),
	16: blocks("IQ2_XXS", 256, 66), 17: blocks("IQ2_XS", 256, 74), 22: blocks("IQ2_S", 256, 82),
	18: blocks("IQ3_XXS", 256, 98), 21: blocks("IQ3_S", 256, 110), 19: blocks("IQ1_S", 256, 50), 29: blocks("IQ1_M", 256, 56),
	20: blocks("IQ4_NL", 32, 18), 23: blocks("IQ4_XS", 256, 136), 34: blocks("TQ1_0", 256, 54), 35: blocks("TQ2_0", 256, 66),
	31: blocks("Q4_0_4_4", 32, 18), 32: blocks("Q4_0_4_8", 32, 18), 33: blocks("Q4_0_8_8", 32, 18), // removed from ggml
	39: blocks("MXFP4", 32, 17), 40: blocks("NVFP4", 64, 36), 41: blocks("Q1_0", 128, 18),
}

func plain(name string, t layout.DType) Type {
	return Type{Name: name, Block: 1, BlockBytes: int64(t.Bits()) / 8, DType: t}
}

func blocks(name string, block, bytes int64) Type {
	return Type{Name: name, Block: block, BlockBytes: bytes}
}

func init() {
	for id := range ggufTypes {
		ggufTypes[id].id = uint32(id)
	}
}

func (f Format) types() []Type {
	switch f {
	case Safetensors:
		return safetensorsTypes
	case GGUF:
		return ggufTypes
	}
	return nil
}

// Type returns the format's type with the given name.
func (f Format) Type(name string) (Type, error) {
	for _, t := range f.types() {
		if t.Name == name && name != "" {
			return t, nil
		}
	}
	return Type{}, layout.Errorf(layout.ErrUnsupported, f.String(), "type %s is not known", quote.Name(name))
}

// TypeOf returns the format's type for a tensor's element type.
func (f Format) TypeOf(t layout.DType) (Type, error) {
	for _, have := range f.types() {
		if have.DType == t && t != layout.Invalid {
			return have, nil
		}
	}
	return Type{}, layout.Errorf(layout.ErrUnsupported, f.String(), "it has no type for %v", t)
}

// Size returns the bytes of a tensor: whole blocks; in GGUF, whole blocks for each row.
func (f Format) Size(t Type, dims []int64) (int64, error) {
	n, err := layout.Shape(dims).Count()
	if err != nil {
		return 0, err
	}
	of, what := n, "elements"
	if f == GGUF && len(dims) > 0 {
		of, what = dims[len(dims)-1], "elements in a row"
	}
	if t.Block <= 0 || of%t.Block != 0 {
		return 0, layout.Errorf(layout.ErrInvalid, f.String(), "%v of %s: %d %s are no multiple of a block of %d", layout.Shape(dims), t.Name, of, what, t.Block)
	}
	hi, bytes := bits.Mul64(uint64(n/t.Block), uint64(t.BlockBytes))
	if hi != 0 || int64(bytes) < 0 {
		return 0, layout.Errorf(layout.ErrInvalid, f.String(), "%v of %s: the size in bytes overflows int64", layout.Shape(dims), t.Name)
	}
	return int64(bytes), nil
}
