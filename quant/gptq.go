package quant

import "fmt"

func gptqArrays(p Params) []array {
	zero := dense(zeros, ".qzeros", "I32", "g | n", p.Bits)
	if p.ZeroLess {
		zero.slots[0].less = 1
	}
	return []array{
		gptqCodes(p.Bits),
		zero,
		dense(scales, ".scales", p.Scale, "g | n", 16),
		dense(groups, ".g_idx", "I32", "k", 32),
	}
}

// gptqCodes is the tensor of codes. A word holds several k. If the bits do not divide a
// word, each 32 k have as many words as a code has bits, with a stream of the codes.
func gptqCodes(bits int64) array {
	if 32%bits == 0 {
		words, within := word(axisK, bits)
		return dense(codes, ".qweight", "I32", words+" | n "+within, bits)
	}
	a := array{".qweight", "I32", fmt.Sprintf("k/32 #0%%%d | n", bits), 32, nil}
	for w := range bits {
		add := func(first, many, at, lo, n int64) {
			a.slots = append(a.slots, slot{
				role: codes, rows: fmt.Sprintf("k/32 #%d%%%d n", w, bits), block: 32, at: at,
				order: fmt.Sprintf("k%%32=%d+%d", first, many), pitch: bits, lo: lo, bits: n,
			})
		}
		first, end := (32*w+bits-1)/bits, 32*(w+1)/bits // codes entirely in this word
		if head := first*bits - 32*w; head > 0 {
			add(first-1, 1, 0, bits-head, head)
		}
		add(first, end-first, first*bits-32*w, 0, bits)
		if tail := 32*(w+1) - end*bits; tail > 0 {
			add(end, 1, end*bits-32*w, 0, tail)
		}
	}
	return a
}

// gptqAccept accepts weights that version 1 or 2 can represent.
func gptqAccept(zeroLess bool) func(*Format, Params, extents) (Params, error) {
	return func(f *Format, p Params, ext extents) (Params, error) {
		p.ZeroLess = zeroLess
		per := wordCodes(p.Bits)
		return p, f.widths(p, ext, map[byte]int64{axisK: per, axisN: per}, 2, 3, 4, 8)
	}
}

var (
	gptq = &Format{
		Name:   "gptq",
		About:  "GPTQModel, AutoGPTQ: 16, 8 or 4 rows of k in a word, 32 in three; written as gptq_v2",
		suffix: ".qweight",
		wide:   true,
		arrays: gptqArrays,
		accept: gptqAccept(false),
	}
	gptqV1 = &Format{
		Name:   "gptq-v1",
		About:  "the same with zero points stored less 1, as checkpoint_format gptq has them",
		suffix: ".qweight",
		wide:   true,
		arrays: gptqArrays,
		params: func(p Params, _ Tensor, _ extents) (Params, error) {
			p.ZeroLess = true
			return p, nil
		},
		accept: gptqAccept(true),
	}
)

var awq = &Format{
	Name:   "awq",
	About:  "AutoAWQ's GEMM: 8 columns of n in a word, even ones first",
	suffix: ".qweight",
	wide:   true,
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

// A row of zero points has at least one word for each 8 groups: rows are padded to the
// kernel's read size. Scales are padded alike.
var awqGEMV = &Format{
	Name:   "awq-gemv",
	About:  "AutoAWQ's GEMV: rows of n, low bits first",
	suffix: ".qweight",
	wide:   true,
	arrays: func(p Params) []array {
		words := int64(1)
		if p.Group > 0 {
			words = max(1, 128/p.Group)
		}
		row := fmt.Sprintf("n | g/%d g%%%d", 8*words, 8*words)
		return []array{
			dense(codes, ".qweight", "I32", "n | k", 4),
			dense(zeros, ".qzeros", "I32", row, 4),
			dense(scales, ".scales", p.Scale, row, 16),
		}
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Group != 32 && p.Group != 64 && p.Group < 128 {
			return p, f.refuse("groups of %d; 32, 64, 128 or more are wanted", p.Group)
		}
		return p, f.widths(p, ext, map[byte]int64{axisK: 8}, 4)
	},
}

// Marlin's order within 16 rows and 64 columns matches a warp's registers. Its tensors keep
// the source's names.
var marlin = &Format{
	Name:       "marlin",
	About:      "vLLM's Marlin: tiles of 16 by 64, in the order of a warp's registers",
	oneIsRow:   true,
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
		if p.Group >= ext[axisK] {
			p.Group = 0
		}
		return p, f.widths(p, ext, map[byte]int64{axisK: 16, axisN: 64}, 4, 8)
	},
}

// Machete's order within 64 rows and 128 columns matches Hopper's matrix instructions with
// 16-bit activations.
var machete = &Format{
	Name:       "machete",
	About:      "vLLM's Machete: tiles of 64 by 128, for Hopper",
	suffix:     ".qweight",
	takesNames: true,
	arrays: func(p Params) []array {
		return []array{
			shaped(codes, ".qweight", "I32", "k/8 | n", 32, "k/64 n/128 n/64%2 n/16%4 n%8 k/2%4 k/16%4 k%2 k/8%2 n/8%2", 4),
			dense(scales, ".scales", p.Scale, "g | n", 16),
		}
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		return p, f.widths(p, ext, map[byte]int64{axisK: 64, axisN: 128}, 4)
	},
}

// Codes are unsigned: TensorRT-LLM's own converter reads signed codes, and flips their sign
// bit at the end.
var trtLLM = &Format{
	Name:   "trtllm-w4a16",
	About:  "TensorRT-LLM's mixed GEMM of 4 bits, sm80: columns in fours, rows of 64",
	suffix: ".weight",
	arrays: func(p Params) []array {
		return []array{
			shaped(codes, ".weight", "I8", "k | n/2", 8, "n/4 k/64 n%4 k/32%2 k/2%4 k%2 k/8%4", 4),
			dense(scales, ".weights_scaling_factor", p.Scale, "g | n", 16),
		}
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		return p, f.widths(p, ext, map[byte]int64{axisK: 64, axisN: 4}, 4)
	},
}
