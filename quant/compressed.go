package quant

// compressed-tensors' other formats: integers of 8 bits as they are, and floats of 4 bits.

var compressedInt8 = &Format{
	Name:   "compressed-tensors-int8",
	About:  "int-quantized of compressed-tensors: rows of n, codes and zero points with a sign",
	suffix: ".weight",
	arrays: func(p Params) []array {
		out := []array{dense(codes, ".weight", "I8", "n | k", 8), dense(scales, ".weight_scale", p.Scale, "n | g", bitsOf(p.Scale))}
		if p.Zeros {
			out = append(out, dense(zeros, ".weight_zero_point", "I8", "n | g", 8))
			out[2].slots[0].less = 128
		}
		out[0].slots[0].less = 128
		return out
	},
	bits: func(Tensor) []int64 { return []int64{8} },
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		return p, f.widths(p, ext, nil, 8)
	},
}

// floats4 is a format of compressed-tensors for floats of 4 bits.
func floats4(name, about string, p Params, accept func(f *Format, p Params, ext extents) (Params, error), more ...array) *Format {
	return &Format{
		Name:   name,
		About:  about,
		table:  "e2m1",
		suffix: ".weight_packed",
		arrays: func(Params) []array {
			return append([]array{dense(codes, ".weight_packed", "U8", "n | k", 4), dense(scales, ".weight_scale", p.Scale, "n | g", 8)}, more...)
		},
		bits:   func(Tensor) []int64 { return []int64{4} },
		params: func(Params, Tensor, extents) (Params, error) { return p, nil },
		accept: accept,
	}
}

var (
	compressedMXFP4 = floats4("compressed-tensors-mxfp4", "mxfp4-pack-quantized of compressed-tensors: rows of n, a scale of 8 bits for each 32 k",
		Params{Bits: 4, Group: 32, Table: "e2m1", Scale: "U8"}, func(f *Format, p Params, ext extents) (Params, error) {
			if p.Batch {
				return p, f.refuse("several matrices; its weights are one each")
			}
			return mxAccept(f, p, ext)
		})
	compressedNVFP4 = floats4("compressed-tensors-nvfp4", "nvfp4-pack-quantized of compressed-tensors: as nvfp4, but scales are divided by a number of the tensor",
		Params{Bits: 4, Group: 16, Table: "e2m1", Scale: "F8_E4M3"}, nil, dense(tensorDivisor, ".weight_global_scale", "F32", "x%1", 32))
)
