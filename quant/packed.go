package quant

import (
	"fmt"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// pad is the order of an axis whose rows are padded to whole bytes.
func pad(axis byte, bits int64) string {
	if bits == 8 {
		return string(rune(axis))
	}
	return padTo(axis, byteCodes(bits))
}

// padTo is the order of an axis whose rows are padded to a multiple.
func padTo(axis byte, multiple int64) string {
	return fmt.Sprintf("%c/%d %c%%%d", axis, multiple, axis, multiple)
}

// bitsOf returns the bits of an element of a type, named as in checkpoints: 16 if the type
// is not known yet.
func bitsOf(typ string) int64 {
	if t, err := checkpoint.Safetensors.Type(typ); err == nil {
		return 8 * t.BlockBytes / t.Block
	}
	return 16
}

// dtypeOf returns the element type.
func dtypeOf(typ string) layout.DType {
	t, _ := checkpoint.Safetensors.Type(typ) // Invalid if there is none
	return t.DType
}

// signed is an array of codes. Signed codes are stored less half their range.
func signed(a array, p Params) array {
	if p.Signed {
		a.slots[0].less = 1 << (p.Bits - 1)
	}
	return a
}

var packed = &Format{
	Name:     "packed",
	anyCodes: true,
	signs:    true,
	About:    "rows of n, low bits first; what most engines' own loaders make",
	suffix:   ".weight",
	also:     []map[role]string{{codes: ".W_q"}},
	arrays: func(p Params) []array {
		typ := "U8"
		if p.Signed {
			typ = "I8"
		}
		lead := ""
		if p.Batch {
			lead = "e | "
		}
		order := lead + "n | k"
		if p.Flat {
			order = "k"
		}
		out := []array{signed(dense(codes, ".weight", typ, order, p.Bits), p), dense(scales, ".scales", p.Scale, lead+"n | g", bitsOf(p.Scale))}
		if p.Zeros {
			out = append(out, dense(zeros, ".zeros", "U8", lead+"n | "+pad(axisG, p.Bits), p.Bits))
		}
		return out
	},
	params: func(p Params, t Tensor, _ extents) (Params, error) {
		p.Batch = len(t.Dims) == 3
		if p.Flat = len(t.Dims) == 1; t.Type == "I8" {
			p.Bits, p.Signed = 8, true
		}
		return p, nil
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Signed && p.Zeros {
			return p, f.refuse("codes with a sign, and zero points, which are of codes without")
		}
		return p, f.widths(p, ext, map[byte]int64{axisK: byteCodes(p.Bits)}, 1, 2, 3, 4, 5, 6, 7, 8)
	},
}

var matMulNBits = &Format{
	Name:   "matmulnbits",
	About:  "the operator MatMulNBits of com.microsoft, in ONNX Runtime",
	suffix: ".B",
	arrays: func(p Params) []array {
		out := []array{dense(codes, ".B", "U8", fmt.Sprintf("n | k/%d | k%%%d", max(1, p.Group), max(1, p.Group)), p.Bits)}
		if p.Zeros {
			out = append(out, dense(zeros, ".zero_points", "U8", "n | "+pad(axisG, p.Bits), p.Bits))
		}
		return append(out, dense(scales, ".scales", p.Scale, "n | g", 16))
	},
	params: func(p Params, t Tensor, _ extents) (Params, error) {
		if len(t.Dims) != 3 || t.Dims[2] <= 0 || t.Dims[2] > 1<<40 || p.Bits < 1 {
			return p, layout.Errorf(layout.ErrInvalid, "matmulnbits", "tensor %s of shape %v; [N, K/block, block*bits/8] is wanted", quote.Name(t.Name), layout.Shape(t.Dims))
		}
		p.Group = t.Dims[2] * 8 / p.Bits
		return p, nil
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Group == 0 {
			p.Group = ext[axisK]
		}
		if p.Group < 16 || p.Group&(p.Group-1) != 0 {
			return p, f.refuse("groups of %d; powers of two from 16 on are wanted", p.Group)
		}
		return p, f.widths(p, ext, nil, 2, 4, 8)
	},
}

var compressedTensors = &Format{
	Name:   "compressed-tensors",
	About:  "pack-quantized of compressed-tensors: rows of n, codes above zero",
	suffix: ".weight_packed",
	arrays: func(p Params) []array {
		out := []array{
			dense(codes, ".weight_packed", "I32", "n | "+padTo(axisK, wordCodes(p.Bits)), p.Bits),
			dense(scales, ".weight_scale", p.Scale, "n | g", 16),
		}
		if p.Zeros {
			words, within := word(axisN, p.Bits)
			out = append(out, dense(zeros, ".weight_zero_point", "I32", words+" | g "+within, p.Bits))
		}
		if p.Sorted {
			out = append(out, dense(groups, ".weight_g_idx", "I32", "k", 32))
		}
		return append(out, dense(shape, ".weight_shape", "I64", "x%2", 64))
	},
	said: readShape,
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Sorted && p.Group == 0 {
			p.Sorted = false
		}
		if p.Zeros && 32%p.Bits != 0 {
			return p, f.refuse("zero points of %d bits, which cross words", p.Bits)
		}
		return p, f.widths(p, ext, nil, 2, 3, 4, 5, 6, 7, 8)
	},
}

// readShape reads the shape of a compressed tensor, whose rows may end in padding, and whether
// its columns are of groups in any order.
func readShape(s *sayings, p Params) (Params, error) {
	_, p.Sorted = s.lookup(joined(s.weight.Name, ".weight_g_idx"))
	if _, ok := s.find(".weight_shape"); !ok {
		return p, nil
	}
	n, k := s.matrix(s.integers(".weight_shape"))
	s.weight.Sidecars = nil // it is one of the weight's tensors
	s.weight.ext[axisN], s.weight.ext[axisK] = n, k
	return p, s.err
}
