package quant

// ofMLX is a format of MLX: rows of n in words, low bits first, also of several experts.
func ofMLX(name, about, table string, arrays func(p Params, lead string) []array, accept func(f *Format, p Params, ext extents) (Params, error)) *Format {
	return &Format{
		Name:   name,
		About:  about,
		suffix: ".weight",
		table:  table,
		arrays: func(p Params) []array {
			lead := ""
			if p.Batch {
				lead = "e | "
			}
			return append([]array{dense(codes, ".weight", "U32", lead+"n | k", p.Bits)}, arrays(p, lead+"n | ")...)
		},
		bits: func(Tensor) []int64 { return []int64{4, 8, 6, 3, 2, 5} },
		params: func(p Params, t Tensor, _ extents) (Params, error) {
			p.Batch, p.Table, p.Mins = len(t.Dims) == 3, table, table == ""
			if table == "e2m1" {
				p.Group, p.Scale = 32, "U8"
			}
			return p, nil
		},
		accept: func(f *Format, p Params, ext extents) (Params, error) {
			if k, ok := ext[axisK]; ok && k*p.Bits%32 != 0 {
				return p, f.refuse("rows of %d codes of %d bits, which are not whole words", k, p.Bits)
			}
			return accept(f, p, ext)
		},
	}
}

var (
	mlx = ofMLX("mlx", "MLX's affine: rows of n, numbers that are added after scaling", "",
		func(p Params, lead string) []array {
			return []array{dense(scales, ".scales", p.Scale, lead+"g", bitsOf(p.Scale)), dense(mins, ".biases", p.Scale, lead+"g", bitsOf(p.Scale))}
		},
		func(f *Format, p Params, ext extents) (Params, error) {
			if !p.Mins || p.Zeros {
				return p, f.refuse("the weight has no numbers to add")
			}
			if p.Group != 32 && p.Group != 64 && p.Group != 128 {
				return p, f.refuse("groups of %d; 32, 64 and 128 are wanted", p.Group)
			}
			return p, f.widths(p, ext, map[byte]int64{axisK: p.Group}, 2, 3, 4, 5, 6, 8)
		})
	mlxMXFP4 = ofMLX("mlx-mxfp4", "MLX's MXFP4: rows of n, a scale of 8 bits for each 32 k", "e2m1",
		func(p Params, lead string) []array { return []array{dense(scales, ".scales", "U8", lead+"g", 8)} }, mxAccept)
)

// mxAccept accepts MXFP4.
func mxAccept(f *Format, p Params, ext extents) (Params, error) {
	if p.Table != "e2m1" || p.Group != 32 || p.Scale != "U8" {
		return p, f.refuse("numbers that are not MXFP4")
	}
	return p, f.widths(p, ext, map[byte]int64{axisK: 32}, 4)
}
