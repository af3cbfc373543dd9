package quant

import "fmt"

// When ggml loads a model, it interleaves the blocks of several rows for vector
// instructions of CPUs: it alternates between 4 or 8 rows, with a fixed number of bytes
// from each.

// interleaved is an array of blocks of the given bytes, with rows of n and elements of k.
func interleaved(rows, block, bytes int64, slots ...slot) []array {
	a := array{".weight", "U8", fmt.Sprintf("n/%d | k/%d", rows, block), 8 * bytes, slots}
	for i := range slots {
		s := &slots[i]
		s.block = a.bits
		switch s.role {
		case codes:
			s.rows = fmt.Sprintf("n/%d k/%d", rows, block)
		case superScales, superMins:
			s.rows = fmt.Sprintf("n/%d s", rows)
		default:
			s.rows = fmt.Sprintf("n/%d g/%d", rows, block/32)
		}
	}
	return []array{a}
}

// tiledQ40 are the contents of such blocks of Q4_0.
func tiledQ40(rows, bytes int64) block {
	order := fmt.Sprintf("k/%d%%%d n%%%d k%%%d k/16%%2", bytes, 16/bytes, rows, bytes)
	return block{
		params: Params{Bits: 4, Group: 32, Scale: "F16"}, tile: rows,
		slots: []slot{at(0, scales, fmt.Sprintf("n%%%d", rows), 16, 0, 16), less(8, at(16*rows, codes, order, 4, 0, 4))},
	}
}

// interleavedQ40 is Q4_0 with the given number of rows, alternating after the given number
// of bytes.
func interleavedQ40(rows, bytes int64) *Format {
	numbers := Params{Bits: 4, Group: 32, Scale: "F16"}
	return &Format{
		Name:   fmt.Sprintf("q4_0_%dx%d", rows, bytes),
		About:  fmt.Sprintf("ggml's Q4_0 of %d rows together, %d bytes of each in turn, codes with a sign", rows, bytes),
		suffix: ".weight",
		arrays: func(Params) []array { return interleaved(rows, 32, 18*rows, tiledQ40(rows, bytes).slots...) },
		params: func(Params, Tensor, extents) (Params, error) { return numbers, nil },
		accept: func(f *Format, p Params, ext extents) (Params, error) {
			if p.Zeros || p.Scale != "F16" {
				return p, f.refuse("scales of another type than F16, or zero points")
			}
			return numbers, f.widths(p, ext, map[byte]int64{axisN: rows, axisK: 32}, 4)
		},
	}
}

var (
	q40x4x4 = interleavedQ40(4, 4)
	q40x4x8 = interleavedQ40(4, 8)
	q40x8x8 = interleavedQ40(8, 8)
)

// The scales of a group of k have 12 bytes: those of 4 rows in 6 bits, with the upper two
// bits of their bytes for the other 4 rows, whose lower four bits are in the last 4 bytes.
var q4Kx8x8 = &Format{
	Name:   "q4_k_8x8",
	About:  "ggml's Q4_K of 8 rows together, 8 bytes of each in turn",
	suffix: ".weight",
	arrays: func(Params) []array {
		const first, second = "g%8:96 n/4%2=0 n%4", "g%8:96 n/4%2=1 n%4"
		return interleaved(8, superBlock, 1152,
			at(0, superScales, "n%8", 16, 0, 16), at(128, superMins, "n%8", 16, 0, 16),
			at(256, scales, first, 8, 0, 6), at(256+64, scales, second, 8, 0, 4), at(256+6, scales, second, 8, 4, 2),
			at(256+32, mins, first, 8, 0, 6), at(256+68, mins, second, 8, 0, 4), at(256+38, mins, second, 8, 4, 2),
			at(1024, codes, "k/64%4 k/8%4 n%8 k%8 k/32%2", 4, 0, 4))
	},
	params: func(Params, Tensor, extents) (Params, error) {
		return Params{Bits: 4, Group: 32, details: details{Blocks: "Q4_K"}}, nil
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Blocks != "Q4_K" {
			return p, f.refuse("numbers that are no Q4_K")
		}
		return p, f.widths(p, ext, map[byte]int64{axisN: 8, axisK: superBlock}, 4)
	},
}
