package quant

import (
	"encoding/json"
	"math"

	"github.com/restride/restride/internal/quote"
)

var bitsandbytes = &Format{
	Name:     "bitsandbytes",
	About:    "bitsandbytes' NF4 and FP4: one row, high bits first",
	anyCodes: true,
	suffix:   ".weight",
	arrays: func(p Params) []array {
		if p.Flat {
			return []array{shaped(codes, ".weight", "U8", "k/2 | ", 8, "k/2 k%2~", 4)}
		}
		out := []array{shaped(codes, ".weight", "U8", "n k/2 | ", 8, "n k/2 k%2~", 4)}
		switch {
		case p.Sidecar.Nested:
			return append(out, dense(scales, ".weight.absmax", "U8", "n g", 8),
				dense(superScales, ".weight.nested_absmax", "F32", "b", 32),
				dense(scaleNumbers, ".weight.nested_quant_map", "F32", "c", 32))
		case p.Sidecar.Numbers != "":
			return append(out, dense(scales, ".weight.absmax", "F32", "n g", 32))
		}
		return out
	},
	bits: func(Tensor) []int64 { return []int64{4} },
	params: func(p Params, t Tensor, ext extents) (Params, error) {
		p.Bits, p.Table, p.Flat = 4, unknownTable, len(t.Dims) == 2 && t.Dims[1] == 1
		return p, nil
	},
	said: readBitsandbytes,
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		return p, f.widths(p, ext, map[byte]int64{axisK: 2}, 4)
	},
}

// unknownTable is Params.Table for bitsandbytes' codes without scales: they use one or the
// other of its tables.
const unknownTable = "nf4 or fp4"

// nestedBlock is the number of bitsandbytes' scales that share a scale.
const nestedBlock = 256

// readBitsandbytes reads quant_state, a tensor with JSON.
func readBitsandbytes(s *sayings, p Params) (Params, error) {
	var suffix string
	for _, table := range []string{"nf4", "fp4"} {
		if key := ".weight.quant_state.bitsandbytes__" + table; suffix == "" {
			if _, ok := s.find(key); ok {
				suffix, p.Table = key, table
			}
		}
	}
	if suffix == "" {
		return p, nil // codes only
	}
	var state struct {
		Type         string   `json:"quant_type"`
		Block        int64    `json:"blocksize"`
		Shape        []int64  `json:"shape"`
		Numbers      string   `json:"dtype"`
		NestedBlock  int64    `json:"nested_blocksize"`
		NestedType   string   `json:"nested_dtype"`
		NestedOffset *float64 `json:"nested_offset"`
	}
	text := s.text(suffix)
	if s.err == nil {
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			s.refuse("%s: %s", quote.Name(suffix), quote.Text(err.Error()))
		}
	}
	s.take(".weight.quant_map")
	n, k := s.matrix(state.Shape)
	p.Sidecar.Numbers = numberTypes[state.Numbers]
	switch {
	case state.Type != p.Table || p.Sidecar.Numbers == "":
		s.refuse("numbers of type %s for codes of %s in %s", quote.Name(state.Numbers), quote.Name(state.Type), quote.Name(suffix))
	case state.Block < 32 || state.Block > 4096 || state.Block&(state.Block-1) != 0:
		s.refuse("blocks of %d; powers of two from 32 to 4096 are wanted", state.Block)
	case k%state.Block != 0 && n*k%state.Block != 0:
		s.refuse("blocks of %d in a matrix of %d by %d, the last of which is smaller", state.Block, n, k)
	case k%state.Block != 0: // blocks cross rows: they are the rows of another matrix
		p.Sidecar.Outputs, n, k = n, n*k/state.Block, state.Block
	}
	if state.NestedOffset != nil {
		p.Sidecar.Nested = true
		offset := float32(*state.NestedOffset)
		if state.NestedBlock != nestedBlock || state.NestedType != "float32" || math.IsInf(float64(offset), 0) {
			s.refuse("scales of type %s in blocks of %d, plus %v; float32 in blocks of %d is wanted", quote.Name(state.NestedType), state.NestedBlock, *state.NestedOffset, nestedBlock)
		}
		s.weight.offset = offset
	}
	p.Flat, p.Group, p.Scale = false, state.Block, "F32"
	s.weight.ext[axisN], s.weight.ext[axisK], s.weight.ext[axisC] = n, k, nestedCodes
	return p, s.err
}

// nestedCodes is the size of the table for scales that are codes.
const nestedCodes = 256

// fourBits maps bitsandbytes' codes to numbers, before the block's scale: quantiles of a
// normal distribution (NF4), or 3 bits with a sign (FP4), where 12 means 1.
var fourBits = map[string][]float32{
	"nf4": {
		-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
		0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1,
	},
	"fp4": {0, 0.0625 / 12., 8 / 12., 1, 4 / 12., 6 / 12., 2 / 12., 3 / 12., 0, -0.0625 / 12., -8 / 12., -1, -4 / 12., -6 / 12., -2 / 12., -3 / 12.},
}

// llmInt8 is bitsandbytes' LLM.int8: a row's largest number has the code 127.
var llmInt8 = &Format{
	Name:        "llm-int8",
	About:       "bitsandbytes' LLM.int8: rows of n, with a sign, and the largest number of each row",
	suffix:      ".weight",
	onlyNumbers: true,
	arrays: func(p Params) []array {
		out := []array{dense(codes, ".weight", "I8", "n | k", 8), dense(scales, ".SCB", "F32", "n", 32)}
		out[0].slots[0].less = 128
		return out
	},
	bits: func(Tensor) []int64 { return []int64{8} },
	params: func(p Params, _ Tensor, _ extents) (Params, error) {
		return Params{Bits: 8, Scale: "F32", Table: "of 127"}, nil
	},
	said: func(s *sayings, p Params) (Params, error) {
		if _, ok := s.find(".weight_format"); ok {
			if order := s.integers(".weight_format"); s.err == nil && (len(order) != 1 || order[0] != 0) {
				s.refuse("weight_format is %v; 0, for rows, is known", order)
			}
		}
		return p, s.err
	},
}
