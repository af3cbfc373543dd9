package quant

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/internal/quote"
	"github.com/restride/restride/layout"
)

// block is a GGUF type: the contents of its blocks, with bit positions from the block's
// start.
type block struct {
	params Params
	slots  []slot
	tile   int64 // rows whose blocks are interleaved; 0: none
}

// at is a slot of a block.
func at(at int64, r role, order string, pitch, lo, bits int64) slot {
	return slot{role: r, at: at, order: order, pitch: pitch, lo: lo, bits: bits}
}

// less is a slot whose stored numbers are smaller than the actual ones.
func less(by int64, s slot) slot {
	s.less = by
	return s
}

const (
	// The two halves of a block of 32 share bytes.
	halves = "k%16 k/16%2"
	// In a block of 256, two or four runs of 32 share bytes.
	runsOf4, runsOf2 = "k/64%4 k%32 k/32%2", "k/128%2 k%32 k/32%4"
)

// sixBits describes 8 scales and 8 minima of 6 bits in 12 bytes, for Q4_K and Q5_K: the
// last four have two bits above the first four, and four bits in the last bytes.
func sixBits() []slot {
	return []slot{
		at(32, scales, "g/4%2=0 g%4", 8, 0, 6), at(32+64, scales, "g/4%2=1 g%4", 8, 0, 4), at(32+6, scales, "g/4%2=1 g%4", 8, 4, 2),
		at(64, mins, "g/4%2=0 g%4", 8, 0, 6), at(32+68, mins, "g/4%2=1 g%4", 8, 0, 4), at(64+6, mins, "g/4%2=1 g%4", 8, 4, 2),
	}
}

// trits describes 256 numbers below 3 in 52 bytes, for TQ1_0. A byte holds five as digits
// of a fraction, with the first digits of all bytes in a run first; the last four bytes
// hold four each.
func trits() (out []slot) {
	for _, run := range []struct{ first, bytes, digits int64 }{{0, 32, 5}, {160, 16, 5}, {240, 4, 4}} {
		for n := range run.digits {
			s := at(run.first/5*8, codes, fmt.Sprintf("k/%d%%%d=%d k%%%d", run.bytes, 256/run.bytes, run.first/run.bytes+n, run.bytes), 8, 0, 2)
			s.table = make([]byte, 256)
			for v := range s.table {
				fraction := byte(v)
				for range n {
					fraction *= 3
				}
				s.table[v] = byte(int(fraction) * 3 >> 8)
			}
			out = append(out, s)
		}
	}
	return out
}

// ggufOrder lists the block types in display order.
var ggufOrder = []string{"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4",
	"IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M"}

// ggufBlocks returns the contents of block types that are copies of bits.
var ggufBlocks = sync.OnceValue(makeBlocks)

func makeBlocks() map[string]block {
	half := func(bits int64) Params { return Params{Bits: bits, Group: 32, Scale: "F16"} }
	withMins := func(p Params) Params {
		p.Mins = true
		return p
	}
	counted := func(p Params) Params {
		p.ScaleZero = 32
		return p
	}
	super := func(bits, group int64) Params { return Params{Bits: bits, Group: group} }
	all := map[string]block{
		"Q4_0":   {params: half(4), slots: []slot{at(0, scales, "", 16, 0, 16), at(16, codes, halves, 4, 0, 4)}},
		"Q4_1":   {params: withMins(half(4)), slots: []slot{at(0, scales, "", 16, 0, 16), at(16, mins, "", 16, 0, 16), at(32, codes, halves, 4, 0, 4)}},
		"Q5_0":   {params: half(5), slots: []slot{at(0, scales, "", 16, 0, 16), at(16, codes, "k%32", 1, 4, 1), at(48, codes, halves, 4, 0, 4)}},
		"Q5_1":   {params: withMins(half(5)), slots: []slot{at(0, scales, "", 16, 0, 16), at(16, mins, "", 16, 0, 16), at(32, codes, "k%32", 1, 4, 1), at(64, codes, halves, 4, 0, 4)}},
		"Q8_0":   {params: Params{Bits: 8, Group: 32, Scale: "F16", details: details{Signed: true}}, slots: []slot{at(0, scales, "", 16, 0, 16), less(128, at(16, codes, "k%32", 8, 0, 8))}},
		"IQ4_NL": {params: Params{Bits: 4, Group: 32, Scale: "F16", Table: "iq4nl"}, slots: []slot{at(0, scales, "", 16, 0, 16), at(16, codes, halves, 4, 0, 4)}},
		"MXFP4":  {params: Params{Bits: 4, Group: 32, Scale: "U8", Table: "e2m1"}, slots: []slot{at(0, scales, "", 8, 0, 8), at(8, codes, halves, 4, 0, 4)}},
		"NVFP4":  {params: Params{Bits: 4, Group: 16, Scale: "F8_E4M3", Table: "e2m1"}, slots: []slot{at(0, scales, "g%4", 8, 0, 8), at(32, codes, "k/16%4 k%8 k/8%2", 4, 0, 4)}},
		"Q2_K": {params: super(2, 16), slots: []slot{
			at(0, scales, "g%16", 8, 0, 4), at(4, mins, "g%16", 8, 0, 4), at(128, codes, runsOf2, 2, 0, 2), at(640, superScales, "", 16, 0, 16), at(656, superMins, "", 16, 0, 16),
		}},
		"Q3_K": {params: counted(super(3, 16)), slots: []slot{
			at(0, codes, "k%32 k/32%8", 1, 2, 1), at(256, codes, runsOf2, 2, 0, 2), at(768, scales, "g%8 g/8%2", 4, 0, 4), at(832, scales, "g%4 g/4%4", 2, 4, 2), at(864, superScales, "", 16, 0, 16),
		}},
		"Q4_K": {params: super(4, 32), slots: append(sixBits(), at(0, superScales, "", 16, 0, 16), at(16, superMins, "", 16, 0, 16), at(128, codes, runsOf4, 4, 0, 4))},
		"Q5_K": {params: super(5, 32), slots: append(sixBits(), at(0, superScales, "", 16, 0, 16), at(16, superMins, "", 16, 0, 16), at(128, codes, "k%32 k/32%8", 1, 4, 1), at(384, codes, runsOf4, 4, 0, 4))},
		"Q6_K": {params: Params{Bits: 6, Group: 16, details: details{ScaleSigned: true}}, slots: []slot{
			at(0, codes, "k/128%2 k%64 k/64%2", 4, 0, 4), at(1024, codes, runsOf2, 2, 4, 2), at(1536, scales, "g%16", 8, 0, 8), at(1664, superScales, "", 16, 0, 16),
		}},
		"IQ4_XS": {params: counted(Params{Bits: 4, Group: 32, Table: "iq4nl"}), slots: []slot{
			at(0, superScales, "", 16, 0, 16), at(16, scales, "g%8", 2, 4, 2), at(32, scales, "g%8", 4, 0, 4), at(64, codes, "k/32%8 k%16 k/16%2", 4, 0, 4),
		}},
		"TQ1_0": {params: Params{Bits: 2, Group: 256, Table: "ternary"}, slots: append(trits(), at(416, superScales, "", 16, 0, 16))},
		"TQ2_0": {params: Params{Bits: 2, Group: 256, Table: "ternary"}, slots: []slot{at(0, codes, runsOf2, 2, 0, 2), at(512, superScales, "", 16, 0, 16)}},
	}
	maps.Copy(all, gridBlocks())
	all["Q4_0_4_4"], all["Q4_0_4_8"], all["Q4_0_8_8"] = tiledQ40(4, 4), tiledQ40(4, 8), tiledQ40(8, 8)
	return all
}

func withZeros(p Params) string {
	if p.Zeros {
		return " and zero points"
	}
	return ""
}

// ggufLead are the axes outside k.
func ggufLead(p Params) string {
	rows := "n |"
	if p.Head > 0 {
		rows = fmt.Sprintf("n/%d n%%%d n/%d%%2 |", p.Head, p.Head/2, p.Head/2)
	}
	switch {
	case p.Rank == 1:
		return ""
	case p.Rank == 4:
		return "u | e | " + rows
	case p.Batch:
		return "e | " + rows
	}
	return rows
}

// tiled is an array of a type whose blocks of several rows are interleaved: ggml had such types
// for files.
func tiled(typ string, b block) array {
	t, err := checkpoint.GGUF.Type(typ)
	if err != nil {
		panic(err) // a constant of this package
	}
	a := array{".weight", typ, fmt.Sprintf("n/%d n%%%d | k/%d", b.tile, b.tile, t.Block), 8 * t.BlockBytes, slices.Clone(b.slots)}
	for i := range a.slots {
		s := &a.slots[i]
		s.block, s.rows = b.tile*a.bits, fmt.Sprintf("n/%d k/%d", b.tile, t.Block)
		if s.role == scales {
			s.rows = fmt.Sprintf("n/%d g", b.tile)
		}
	}
	return a
}

var gguf = &Format{
	Name:     "gguf",
	anyCodes: true,
	signs:    true,
	also:     []map[role]string{{codes: ""}}, // quantised tensors that are not called weights
	About:    "ggml's blocks: Q4_0 to Q8_0, Q2_K to Q6_K, IQ1_S to IQ4_XS, TQ1_0, TQ2_0, MXFP4, NVFP4",
	suffix:   ".weight",
	arrays: func(p Params) []array {
		b := ggufBlocks()[p.Blocks]
		if b.tile > 0 {
			return []array{tiled(p.Blocks, b)}
		}
		out := []array{inBlocks(p.Blocks, ggufLead(p), max(1, b.params.Group), b.slots...)}
		if p.Blocks == "NVFP4" && !p.Batch {
			out = append(out, dense(tensorScale, ".scale", "F32", "", 32))
		}
		return out
	},
	params: func(_ Params, t Tensor, ext extents) (Params, error) {
		b, ok := ggufBlocks()[t.Type]
		if !ok {
			return Params{}, layout.Errorf(layout.ErrUnsupported, "gguf", "tensor %s is of type %s, whose blocks are not known", quote.Name(t.Name), t.Type)
		}
		p := b.params
		p.Blocks, p.Batch = t.Type, len(t.Dims) >= 3
		if rank := int64(len(t.Dims)); rank == 1 || rank == 4 {
			p.Rank = rank
		}
		if p.Rank == 1 {
			ext[axisN] = 1
		}
		return p, nil
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		for _, typ := range ggufOrder {
			q := ggufBlocks()[typ].params
			if typ == "TQ1_0" || q.Table == gridTable {
				continue // several numbers share a byte
			}
			if q.Scale == "" && p.Scale == "" && p.Blocks == typ {
				return p, f.widths(p, ext, map[byte]int64{axisK: superBlock}, p.Bits)
			}
			if q.Scale == "" || p.Bits != q.Bits || p.Table != q.Table || p.Scale != q.Scale || p.Mins != q.Mins || p.Zeros {
				continue
			}
			q.Blocks, q.Batch, q.Rank, q.Head = typ, p.Batch, p.Rank, p.Head
			return q, f.widths(q, ext, map[byte]int64{axisK: q.Group}, q.Bits)
		}
		return p, f.refuse("codes of %d bits with scales of type %s%s; its blocks have other numbers", p.Bits, quote.Name(p.Scale), withZeros(p))
	},
	name: ggufName,
}

var gptOSS = &Format{
	Name:   "gpt-oss",
	table:  "e2m1",
	About:  "gpt-oss's MXFP4: experts of blocks of 32",
	suffix: "_blocks",
	arrays: func(p Params) []array {
		return []array{dense(codes, "_blocks", "U8", "e | n | k/32 | k%32", 4), dense(scales, "_scales", "U8", "e | n | g", 8)}
	},
	params: func(p Params, _ Tensor, _ extents) (Params, error) {
		return Params{Bits: 4, Group: 32, Table: "e2m1", Scale: "U8", details: details{Batch: true}}, nil
	},
	accept: func(f *Format, p Params, ext extents) (Params, error) {
		if p.Table != "e2m1" || p.Group != 32 {
			return p, f.refuse("numbers that are no MXFP4")
		}
		return p, f.widths(p, ext, map[byte]int64{axisK: 32}, 4)
	},
	name: func(name string) string {
		return blockNames.ReplaceAllString(name, "model.layers.$1.mlp.experts.${2}_proj")
	},
}
