package quant

var gptq = &Format{
	Name:   "gptq",
	About:  "GPTQModel, AutoGPTQ: 16, 8 or 4 rows of k in a word",
	suffix: ".qweight",
	arrays: func(p Params) []array {
		words, within := word(axisK, p.Bits)
		zero := dense(zeros, ".qzeros", "I32", "g | n", p.Bits)
		if p.ZeroLess {
			zero.slots[0].less = 1
		}
		return []array{
			dense(codes, ".qweight", "I32", words+" | n "+within, p.Bits),
			zero,
			dense(scales, ".scales", p.Scale, "g | n", 16),
			dense(groups, ".g_idx", "I32", "k", 32),
		}
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		p.ZeroLess = false // version 2
		return p, f.widths(p, ext, map[byte]int64{axisK: 32 / p.Bits, axisN: 32 / p.Bits}, 2, 4, 8)
	},
}

var awq = &Format{
	Name:   "awq",
	About:  "AutoAWQ's GEMM: 8 columns of n in a word, even ones first",
	suffix: ".qweight",
	arrays: func(p Params) []array {
		return []array{
			dense(codes, ".qweight", "I32", "k | n/8 n%2 n/2%4", 4),
			dense(zeros, ".qzeros", "I32", "g | n/8 n%2 n/2%4", 4),
			dense(scales, ".scales", p.Scale, "g | n", 16),
		}
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		return p, f.widths(p, ext, map[byte]int64{axisN: 8}, 4)
	},
}

// Marlin's order within 16 rows and 64 columns is what a warp's registers want. Its
// tensors keep the names that they have in the source.
var marlin = &Format{
	Name:       "marlin",
	About:      "vLLM's Marlin: tiles of 16 by 64, in the order of a warp's registers",
	suffix:     ".qweight",
	takesNames: true,
	arrays: func(p Params) []array {
		order := "k/16 | n/64 n%8 k/2%4 n/16%4 k%2 n/8%2 k/8%2"
		if p.Bits == 8 {
			order = "k/16 | n/64 n%8 k/2%4 n/16%4 n/8%2 k%2 k/8%2"
		}
		out := []array{dense(codes, ".qweight", "I32", order, p.Bits)}
		if p.Zeros {
			out = append(out, dense(zeros, ".qzeros", "I32", "g | n/64 n/2%4 n%2 n/8%2 n/16%4", p.Bits))
		}
		scale := "g | n/64 n%8 n/8%8"
		if p.Group == 0 {
			scale = "g | n/32 n/2%4 n/8%4 n%2"
		}
		out = append(out, dense(scales, ".scales", p.Scale, scale, 16))
		if p.Sorted {
			out = append(out, dense(groups, ".g_idx", "I32", "k", 32), dense(sorting, ".g_idx_sort_indices", "I32", "k", 32))
		}
		return out
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Zeros && p.Bits != 4 {
			return p, f.refuse("zero points of %d bits; it has them with 4", p.Bits)
		}
		return p, f.widths(p, ext, map[byte]int64{axisK: 16, axisN: 64}, 4, 8)
	},
}
