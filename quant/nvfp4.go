package quant

var nvfp4 = &Format{
	Name:   "nvfp4",
	table:  "e2m1",
	About:  "NVFP4 of Model Optimizer: rows of n, a scale of 8 bits for each 16 k, one of the tensor",
	suffix: ".weight",
	arrays: func(p Params) []array {
		return []array{
			dense(codes, ".weight", "U8", "n | k", 4),
			dense(scales, ".weight_scale", "F8_E4M3", "n | g", 8),
			dense(tensorScale, ".weight_scale_2", "F32", "", 32),
		}
	},
	bits: func(Tensor) []int64 { return []int64{4} },
	params: func(Params, Tensor, extents) (Params, error) {
		return Params{Bits: 4, Group: 16, Table: "e2m1", Scale: "F8_E4M3"}, nil
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Group != 16 || p.Scale != "F8_E4M3" {
			return p, f.refuse("scales of type %s for groups of %d; F8_E4M3 for groups of 16 are wanted", p.Scale, p.Group)
		}
		return p, f.widths(p, ext, map[byte]int64{axisK: 16}, 4)
	},
}
