package quant

import (
	"fmt"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// pad is the order of an axis whose rows are padded to whole bytes.
func pad(axis byte, bits int64) string {
	if bits == 8 {
		return string(rune(axis))
	}
	return fmt.Sprintf("%c/%d %c%%%d", axis, 8/bits, axis, 8/bits)
}

var packed = &Format{
	Name:     "packed",
	anyCodes: true,
	About:    "rows of n, low bits first; what most engines' own loaders make",
	suffix:   ".weight",
	arrays: func(p Params) []array {
		typ := "U8"
		if p.Signed {
			typ = "I8"
		}
		order := "n | k"
		if p.Flat {
			order = "k"
		}
		out := []array{dense(codes, ".weight", typ, order, p.Bits), dense(scales, ".scales", p.Scale, "n | g", 16)}
		if p.Zeros {
			out = append(out, dense(zeros, ".zeros", "U8", "n | "+pad(axisG, p.Bits), p.Bits))
		}
		return out
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		return p, f.widths(p, ext, map[byte]int64{axisK: 8 / p.Bits}, 2, 4, 8)
	},
}

var matMulNBits = &Format{
	Name:   "matmulnbits",
	About:  "the operator MatMulNBits of com.microsoft, in ONNX Runtime",
	suffix: ".B",
	arrays: func(p Params) []array {
		out := []array{dense(codes, ".B", "U8", fmt.Sprintf("n | k/%d | k%%%d", p.Group, p.Group), p.Bits)}
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
	drops:  ".weight_shape",
	arrays: func(p Params) []array {
		return []array{
			dense(codes, ".weight_packed", "I32", "n | k", p.Bits),
			dense(scales, ".weight_scale", p.Scale, "n | g", 16),
		}
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Zeros {
			return p, f.refuse("zero points; it has none")
		}
		return p, f.widths(p, ext, map[byte]int64{axisK: 32 / p.Bits}, 2, 4, 8)
	},
}

// Of these, codes alone are known: what scales they have is another tensor's affair.
var (
	tilePacked = &Format{
		Name:     "tilepacked",
		anyCodes: true,
		About:    "torchao's tiles for tensor cores (tinygemm)",
		suffix:   ".weight",
		arrays: func(p Params) []array {
			return []array{dense(codes, ".weight", "I32", fmt.Sprintf("n/8 | k/%d | n%%8 k/2%%4 | k/32%%%d k%%2 k/8%%4", 16*p.Tiles, p.Tiles/2), 4)}
		},
		params: func(p Params, t Tensor, _ extents) (Params, error) {
			if len(t.Dims) != 4 || t.Dims[3] < 1 || t.Dims[3] > 4 {
				return p, layout.Errorf(layout.ErrInvalid, "tilepacked", "tensor %s of shape %v; [N/8, K/(16*tiles), 32, tiles/2] is wanted", quote.Name(t.Name), layout.Shape(t.Dims))
			}
			p.Tiles = 2 * t.Dims[3]
			return p, nil
		},
		accept: func(f *Format, p Params, ext extents) (Params, error) {
			if p.Tiles == 0 {
				p.Tiles = 8
				for p.Tiles > 2 && ext[axisK]%(16*p.Tiles) != 0 {
					p.Tiles /= 2
				}
			}
			return p, f.widths(p, ext, map[byte]int64{axisK: 16 * p.Tiles, axisN: 8}, 4)
		},
	}
	scalesPlain = &Format{
		Name:   "scales",
		About:  "scales of a byte as they are, rows of n",
		suffix: ".weight_scale",
		arrays: func(p Params) []array {
			return []array{dense(codes, ".weight_scale", "U8", "n | k", 8)}
		},
		params: func(p Params, _ Tensor, _ extents) (Params, error) {
			p.Bits = 8
			return p, nil
		},
	}
	tiles128x4 = &Format{
		Name:     "tiles128x4",
		anyCodes: true,
		About:    "scales of a byte for tcgen05 and cuBLAS, in tiles of 128 by 4, padded",
		suffix:   ".weight_scale",
		arrays: func(p Params) []array {
			return []array{dense(codes, ".weight_scale", "U8", "n/128 k/4 n%32 n/32%4 k%4", 8)}
		},
		accept: func(f *Format, p Params, ext extents) (Params, error) { return p, f.widths(p, ext, nil, 8) },
	}
	bitsandbytes = &Format{
		Name:   "bitsandbytes",
		About:  "bitsandbytes' NF4 and FP4: high bits first",
		suffix: ".weight",
		arrays: func(p Params) []array {
			return []array{dense(codes, ".weight", "U8", "k/2 | n k%2~", 4)}
		},
		params: func(p Params, t Tensor, ext extents) (Params, error) {
			p.Bits, p.Flat = 4, len(t.Dims) == 2 && t.Dims[1] == 1
			return p, nil
		},
	}
	hqq = &Format{
		Name:       "hqq",
		About:      "HQQ: a byte has rows that are far apart",
		suffix:     ".W_q",
		givesNames: true,
		arrays: func(p Params) []array {
			// A byte has one element of each part of the rows, the first part's on top.
			return []array{dense(codes, ".W_q", "U8", fmt.Sprintf("n%%%d | k n/%d~", p.Part, p.Part), p.Bits)}
		},
		params: func(p Params, t Tensor, ext extents) (Params, error) {
			if len(t.Dims) != 2 || t.Dims[0] == 0 || t.Dims[0] > 1<<40 {
				return p, layout.Errorf(layout.ErrInvalid, "hqq", "tensor %s of shape %v; a matrix is wanted", quote.Name(t.Name), layout.Shape(t.Dims))
			}
			p.Part = t.Dims[0]
			ext[axisN] = p.Part * 8 / max(1, p.Bits)
			return p, nil
		},
	}
)
