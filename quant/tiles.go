package quant

import (
	"fmt"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

func init() {
	tiles128x4.unread = "it can be written, not read: its tensors do not say how many rows and columns are padding"
}

// For tiles, only codes are known: their scales are in another tensor.

var tilePacked = &Format{
	Name:   "tilepacked",
	About:  "torchao's tiles for tensor cores (tinygemm)",
	suffix: ".weight",
	arrays: func(p Params) []array {
		p.Tiles = max(2, p.Tiles)
		return []array{dense(codes, ".weight", "I32", fmt.Sprintf("n/8 | k/%d | n%%8 k/2%%4 | k/32%%%d k%%2 k/8%%4", 16*p.Tiles, p.Tiles/2), 4)}
	},
	codesOnly: true,
	bits:      func(Tensor) []int64 { return []int64{4} },
	params: func(p Params, t Tensor, _ extents) (Params, error) {
		if len(t.Dims) != 4 || t.Dims[3] < 1 || t.Dims[3] > 4 {
			return p, layout.Errorf(layout.ErrInvalid, "tilepacked", "tensor %s of shape %v; [N/8, K/(16*tiles), 32, tiles/2] is wanted", quote.Name(t.Name), layout.Shape(t.Dims))
		}
		p.Tiles = 2 * t.Dims[3]
		return p, nil
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Tiles == 0 { // the largest that gives K two or more
			p.Tiles = 8
			for p.Tiles > 2 && (ext[axisK]%(16*p.Tiles) != 0 || ext[axisK] < 2*16*p.Tiles) {
				p.Tiles /= 2
			}
		}
		return p, f.widths(p, ext, map[byte]int64{axisK: 16 * p.Tiles, axisN: 8}, 4)
	},
}

// ofScales is a format of one-byte scales.
func ofScales(name, about, order string) *Format {
	return &Format{
		Name:      name,
		About:     about,
		anyCodes:  true,
		codesOnly: true,
		suffix:    ".weight_scale",
		bits:      func(Tensor) []int64 { return []int64{8} },
		arrays:    func(p Params) []array { return []array{dense(codes, ".weight_scale", "U8", order, 8)} },
		params: func(p Params, _ Tensor, _ extents) (Params, error) {
			p.Bits, p.Table = 8, "bytes"
			return p, nil
		},
		accept: func(f *Format, p Params, ext extents) (Params, error) { return p, f.widths(p, ext, nil, 8) },
	}
}

var (
	scalesPlain     = ofScales("scales", "scales of a byte as they are, rows of n", "n | k")
	tiles128x4      = ofScales("tiles128x4", "scales of a byte for tcgen05 and cuBLAS, in tiles of 128 by 4, padded", "n/128 k/4 n%32 n/32%4 k%4")
	tritonBlackwell = ofScales("triton-blackwell", "Triton's scales of a byte for Blackwell, in tiles of 128 by 4, padded", "n/128 | k/4 | n/16%2 | n%16 n/32%4 k%4")
	tritonHopper    = ofScales("triton-hopper", "Triton's scales of a byte for Hopper, 4 warps, padded", "n/128 n/16%4 | k/2 n/64%2 n%8 k%2 n/8%2")
)
