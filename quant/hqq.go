package quant

import (
	"fmt"
	"strings"

	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

var hqq = &Format{
	Name:   "hqq",
	About:  "HQQ: a byte, of 3 bits a word, has rows that are far apart",
	suffix: ".W_q",
	arrays: func(p Params) []array {
		p.Part = max(1, p.Part)
		// A byte or a 32-bit word has one element from each part of the rows, the first
		// part's in the highest bits.
		out := []array{dense(codes, ".W_q", "U8", fmt.Sprintf("n%%%d | k n/%d~", p.Part, p.Part), p.Bits)}
		if p.Bits == 3 {
			out[0] = shaped(codes, ".W_q", "I32", fmt.Sprintf("n%%%d | k", p.Part), 32, fmt.Sprintf("n%%%d k:32 n/%d~", p.Part, p.Part), 3)
		}
		if p.Sidecar.Rows == 0 {
			return out
		}
		// Codes are those of the reshaped matrix, with a group as a column or a row.
		order, bits := "n | g", bitsOf(p.Scale)
		if p.Sidecar.ByColumn {
			order = " | k"
		}
		return append(out, dense(scales, ".scale", p.Scale, order, bits), dense(floatZeros, ".zero", p.Scale, order, bits))
	},
	// Bytes do not determine the bits of codes: packing does, if present.
	bits: func(t Tensor) []int64 {
		if t.Type == "I32" {
			return []int64{3}
		}
		return []int64{4, 8, 2, 1}
	},
	params: func(p Params, t Tensor, ext extents) (Params, error) {
		if len(t.Dims) != 2 || t.Dims[0] == 0 || t.Dims[0] > 1<<40 {
			return p, layout.Errorf(layout.ErrInvalid, "hqq", "tensor %s of shape %v; a matrix is wanted", quote.Name(t.Name), layout.Shape(t.Dims))
		}
		p.Part = t.Dims[0]
		ext[axisN] = p.Part * hqqParts(p.Bits)
		return p, nil
	},
	said: readHQQ,
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		parts := hqqParts(p.Bits)
		p.Part = max(1, ext[axisN]/parts)
		return p, f.widths(p, ext, map[byte]int64{axisN: parts}, 1, 2, 3, 4, 8)
	},
}

// hqqParts returns the number of elements in a byte or, for 3 bits, in a word.
func hqqParts(bits int64) int64 {
	if bits == 3 {
		return 10
	}
	return max(1, 8/max(1, bits))
}

// hqqPacking maps names of packings to the bits of codes.
var hqqPacking = map[string]int64{"8bit_u8": 8, "4bit_u8": 4, "3bit_32": 3, "2bit_u8": 2, "1bit_u8": 1}

// readHQQ reads the tensors with HQQ's properties of a weight, one each.
func readHQQ(s *sayings, p Params) (Params, error) {
	if _, ok := s.find(".shape"); !ok {
		return p, nil // codes only
	}
	n, k := s.matrix(s.integers(".shape"))
	axis, group, packing := s.integer(".axis"), s.integer(".group_size"), s.text(".packing")
	numbers := ""
	if _, ok := s.find(".compute_dtype"); ok {
		numbers = s.text(".compute_dtype")
	}
	s.take(".nbits", ".unpack_view_dtype", ".view_as_float", ".quant_scale", ".quant_zero", ".offload_meta", ".encoded_state_dict",
		".stores_quant_config", ".channel_wise", ".optimize", ".round_zero")
	if s.err != nil {
		return p, s.err
	}
	p.Bits, p.Sidecar.Numbers = hqqPacking[packing], numberTypes[strings.TrimPrefix(numbers, "torch.")]
	switch {
	case p.Bits == 0:
		s.refuse("the packing %s is not known", quote.Name(packing))
	case p.Sidecar.Numbers == "" && numbers != "":
		s.refuse("numbers of type %s", quote.Name(numbers))
	case axis != 0 && axis != 1:
		s.refuse("axis is %d; 0 or 1 is wanted", axis)
	case group < 1 || n*k%group != 0:
		s.refuse("groups of %d in a matrix of %d by %d", group, n, k)
	}
	if s.err != nil {
		return p, s.err
	}
	rows, columns, parts := group, n*k/group, hqqParts(p.Bits)
	if axis == 1 {
		rows, columns = columns, rows
	}
	switch {
	case (rows+parts-1)/parts != p.Part || p.Bits != 3 && rows%parts != 0:
		s.refuse("%d rows in %d parts, and tensor W_q has %d", rows, parts, p.Part)
	case axis == 1 && rows%parts != 0:
		s.refuse("%d rows of 3 bits; a multiple of %d is wanted where groups are rows", rows, parts)
	}
	p.Group, p.Sidecar.Rows, p.Sidecar.Outputs, p.Sidecar.ByColumn = 0, rows, n, axis == 0
	s.weight.ext[axisN], s.weight.ext[axisK] = p.Part*parts, columns
	return p, s.err
}
