package quant

import (
	"encoding/base64"
	"errors"
	"math/bits"
	"strings"
	"sync"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// GGUF's IQ1 to IQ3: a code selects the magnitudes of several elements at once, from a grid.
// Signs are separate, or in the grid.

// Axes of such weights.
const (
	axisJ = 'j' // runs of k that an entry of the grid has
	axisQ = 'q' // runs of 8 k
)

// gridTable is Params.Table of these weights.
const gridTable = "grid"

// grid is the table of a type.
type grid struct {
	data       string // as in grids.go
	size       int64  // elements of an entry
	magnitudes []int8
	signs      int64   // bits of the signs of 8 elements; 7: the last sign makes their number even; 0: none
	factor     float32 // of a group's scale s: d*(s+1/2)*factor
	group      int64   // elements that share a scale
}

var (
	iq2Magnitudes = []int8{8, 25, 43}
	gridTypes     = map[string]grid{
		"IQ2_XXS": {gridIQ2XXS, 8, iq2Magnitudes, 7, 0.25, 32},
		"IQ2_XS":  {gridIQ2XS, 8, iq2Magnitudes, 7, 0.25, 16},
		"IQ2_S":   {gridIQ2S, 8, iq2Magnitudes, 8, 0.25, 16},
		"IQ3_XXS": {gridIQ3XXS, 4, []int8{4, 12, 20, 28, 36, 44, 52, 62}, 7, 0.5, 32},
		"IQ3_S":   {gridIQ3S, 4, []int8{1, 3, 5, 7, 9, 11, 13, 15}, 8, 2, 32},
		"IQ1_S":   {gridIQ1, 8, []int8{-1, 0, 1}, 0, 2, 32},
		"IQ1_M":   {gridIQ1, 8, []int8{-1, 0, 1}, 0, 2, 16},
	}
)

// gridBlocks are the contents of blocks of 256 elements.
func gridBlocks() map[string]block {
	of := func(typ string, slots ...slot) block {
		return block{params: Params{Bits: 8, Group: gridTypes[typ].group, Table: gridTable}, slots: slots}
	}
	d := at(0, superScales, "", 16, 0, 16)
	return map[string]block{
		"IQ2_XXS": of("IQ2_XXS", at(16, gridIndex, "j/4%8:64 j%4", 8, 0, 8), at(48, signIndex, "q/4%8:64 q%4", 7, 0, 7), at(76, scales, "g%8", 64, 0, 4), d),
		"IQ2_XS":  of("IQ2_XS", at(16, gridIndex, "j%32", 16, 0, 9), at(25, signIndex, "q%32", 16, 0, 7), at(528, scales, "g%16", 4, 0, 4), d),
		"IQ2_S": of("IQ2_S", at(16, gridIndex, "j%32", 8, 0, 8), at(528, gridIndex, "j%32", 2, 8, 2), at(272, signIndex, "q%32", 8, 0, 8),
			at(592, scales, "g%16", 4, 0, 4), d),
		"IQ3_XXS": of("IQ3_XXS", at(16, gridIndex, "j%64", 8, 0, 8), at(528, signIndex, "q/4%8:32 q%4", 7, 0, 7), at(556, scales, "g%8", 32, 0, 4), d),
		"IQ3_S": of("IQ3_S", at(16, gridIndex, "j%64", 8, 0, 8), at(528, gridIndex, "j%64", 1, 8, 1), at(592, signIndex, "q%32", 8, 0, 8),
			at(848, scales, "g%8", 4, 0, 4), d),
		"IQ1_S": of("IQ1_S", at(16, gridIndex, "j%32", 8, 0, 8), at(272, gridIndex, "j/4%8:16 j%4", 3, 8, 3), at(284, scales, "g%8", 16, 0, 3),
			at(287, deltas, "g%8", 16, 0, 1), d),
		"IQ1_M": of("IQ1_M", at(0, gridIndex, "j%32", 8, 0, 8), at(256, gridIndex, "j%32", 4, 8, 3), at(259, deltas, "q%32", 4, 0, 1),
			at(384, scales, "g/4%4:16 g%4", 3, 0, 3),
			at(396, superScales, "", 16, 0, 4), at(412, superScales, "", 16, 4, 4), at(428, superScales, "", 16, 8, 4), at(444, superScales, "", 16, 12, 4)),
	}
}

// entries are the magnitudes of all entries of the grid.
func (g grid) entries() []int8 {
	raw, err := base64.StdEncoding.DecodeString(g.data)
	if err != nil {
		panic(err) // a constant of this package
	}
	var out []int8
	width := 16 / g.size
	if g.size == 4 {
		width = 3
	}
	for i := 0; i < len(raw); i += 2 {
		e := int64(raw[i]) | int64(raw[i+1])<<8
		for j := range g.size {
			out = append(out, g.magnitudes[e>>(j*width)&(1<<width-1)])
		}
	}
	return out
}

// factors are the signs of 8 elements for each value of their bits.
func (g grid) factors() (out []int8) {
	for v := range 1 << g.signs {
		if g.signs == 7 {
			v |= bits.OnesCount(uint(v)) % 2 << 7
		}
		for i := range 8 {
			out = append(out, int8(1-v>>i&1*2))
		}
	}
	return out
}

// gridRows are the blocks' digits of a role of such weights.
func gridRows(r role, typ, lead string) (rows string, ok bool) {
	g, is := gridTypes[typ]
	perBlock := map[role]string{gridIndex: "j/32", signIndex: "q/32", deltas: "q/32"}
	if g.size == 4 {
		perBlock[gridIndex] = "j/64"
	}
	if typ == "IQ1_S" {
		perBlock[deltas] = "g/8"
	}
	digit, ok := perBlock[r]
	return strings.TrimSpace(lead + " " + digit), is && ok
}

// runGrid computes numbers of such weights.
func (c *computation) runGrid(dst *tensor.Tensor, to layout.DType, rows, k int64) error {
	p := c.weight.Params
	g := gridTypes[p.Blocks]
	x := c.entriesOf(gridIndex, known(p.Blocks).entries, g.size, rows, k)
	if g.signs > 0 {
		signs := c.rounded(c.entriesOf(signIndex, known(p.Blocks).factors, 8, rows, k), layout.Float32)
		if c.err == nil {
			x = c.keep(x.Dequantize(layout.Float32, tensor.Scaling{Scale: signs}))
		}
	}
	super := c.scaled(c.of(superScales, layout.Float16, rows, k/superBlock, 1), one(c, g.factor), nil)
	scale := c.of(scales, wholeOf(c.weight.bits(scales), false), rows, k/superBlock, superBlock/g.group)
	scale = c.shaped(c.scaled(scale, super, one(c, float32(-0.5))), rows, k/g.group)
	by := tensor.Scaling{Scale: scale, Blocks: tensor.Blocks{Axis: 1, Size: g.group}}
	if c.weight.has(deltas) {
		by = tensor.Scaling{Scale: c.repeated(scale, g.group/8, k), Zero: c.deltas(rows, k), Blocks: tensor.Blocks{Axis: 1, Size: 8}}
	}
	l, err := layout.Contiguous(rows, k)
	if err := errors.Join(c.err, err); err != nil {
		return err
	}
	out := c.keep(tensor.BorrowBuffer(c.stream, dst.Buffer(), to, l))
	if c.err != nil {
		return c.err
	}
	return x.DequantizeInto(out, by)
}

// tables are a grid's tables.
type tables struct{ entries, factors []int8 }

// known returns a type's tables.
func known(typ string) tables { return knownTables()[typ] }

var knownTables = sync.OnceValue(func() map[string]tables {
	out := map[string]tables{}
	for typ, g := range gridTypes {
		t := tables{entries: g.entries()}
		if g.signs > 0 {
			t.factors = g.factors()
		}
		out[typ] = t
	}
	return out
})

// entriesOf returns the entries of a table with size elements each that a role's numbers select.
func (c *computation) entriesOf(r role, table []int8, size, rows, k int64) *tensor.Tensor {
	index := c.of(r, layout.Int32, rows, k/size)
	entries := c.keep(tensor.FromSlice(c.stream, table, int64(len(table))/size, size))
	if c.err != nil {
		return nil
	}
	return c.shaped(c.keep(entries.Gather(0, index, layout.OutOfRangeError)), rows, k)
}

// repeated returns each group's number for the runs of 8 k that it has.
func (c *computation) repeated(x *tensor.Tensor, times, k int64) *tensor.Tensor {
	if times == 1 {
		return x
	}
	index := make([]int32, k/8)
	for i := range index {
		index[i] = int32(int64(i) / times)
	}
	return c.picked(x, c.keep(tensor.FromSlice(c.stream, index, k/8)))
}

// deltas returns what is subtracted from the elements of each run of 8 k: an eighth, of either
// sign.
func (c *computation) deltas(rows, k int64) *tensor.Tensor {
	groups, times := k/8, int64(1)
	if c.weight.Params.Blocks == "IQ1_S" {
		groups, times = k/32, 4
	}
	table := c.keep(tensor.FromSlice(c.stream, []float32{-0.125, 0.125, 0, 0}, 4))
	return c.repeated(c.looked(c.of(deltas, layout.Uint2, rows, groups), table), times, k)
}
