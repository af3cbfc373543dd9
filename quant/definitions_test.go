package quant

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
)

// definition says where codes lie as papers and packages do: the source is in row-major
// order of axes, seen with a shape, permuted, and written without gaps.
type definition struct {
	axes  string
	shape []int64
	perm  []int
}

// at returns the position of an element.
func (d definition) at(ext extents, index map[byte]int64) int64 {
	pos := int64(0)
	for _, a := range []byte(d.axes) {
		pos = pos*ext[a] + index[a]
	}
	parts := make([]int64, len(d.shape))
	for i := len(d.shape) - 1; i >= 0; i-- {
		parts[i], pos = pos%d.shape[i], pos/d.shape[i]
	}
	for _, i := range d.perm {
		pos = pos*d.shape[i] + parts[i]
	}
	return pos
}

// TestDefinitions compares orders of digits with definitions of another kind.
func TestDefinitions(t *testing.T) {
	matrix := extents{axisN: 256, axisK: 128}
	pages := extents{'p': 3, 't': 4, 'h': 5, 'd': 32}
	for _, c := range []struct {
		format *Format
		params Params
		ext    extents
		definition
	}{
		{gptq, Params{Bits: 4}, matrix, definition{"kn", []int64{16, 8, 256}, []int{0, 2, 1}}},
		{gptq, Params{Bits: 2}, matrix, definition{"kn", []int64{8, 16, 256}, []int{0, 2, 1}}},
		{awq, Params{Bits: 4}, matrix, definition{"kn", []int64{128, 32, 4, 2}, []int{0, 1, 3, 2}}},
		{awqGEMV, Params{Bits: 4}, matrix, definition{"nk", []int64{256 * 128}, []int{0}}},
		{marlin, Params{Bits: 4}, matrix, definition{"kn", []int64{8, 2, 4, 2, 4, 4, 2, 8}, []int{0, 4, 7, 2, 5, 3, 6, 1}}},
		{marlin, Params{Bits: 8}, matrix, definition{"kn", []int64{8, 2, 4, 2, 4, 4, 2, 8}, []int{0, 4, 7, 2, 5, 6, 3, 1}}},
		{machete, Params{Bits: 4}, matrix, definition{"nk", []int64{2, 2, 4, 2, 8, 2, 4, 2, 4, 2}, []int{5, 0, 1, 2, 4, 8, 6, 9, 7, 3}}},
		{trtLLM, Params{Bits: 4}, matrix, definition{"kn", []int64{2, 2, 4, 4, 2, 64, 4}, []int{5, 0, 6, 1, 3, 4, 2}}},
		{tilePacked, Params{Bits: 4, details: details{Tiles: 4}}, matrix, definition{"nk", []int64{32, 8, 2, 2, 4, 4, 2}, []int{0, 2, 1, 5, 3, 6, 4}}},
		{tiles128x4, Params{Bits: 8}, matrix, definition{"nk", []int64{2, 4, 32, 32, 4}, []int{0, 3, 2, 1, 4}}},
		{tritonBlackwell, Params{Bits: 8}, matrix, definition{"kn", []int64{32, 4, 2, 4, 32}, []int{2, 0, 4, 3, 1}}},
		{tritonHopper, Params{Bits: 8}, matrix, definition{"nk", []int64{2, 2, 4, 2, 8, 64, 2}, []int{0, 2, 5, 1, 4, 6, 3}}},
		{kvHND, Params{Bits: 16, details: details{Type: "F16"}}, pages, definition{"pthd", []int64{3, 4, 5, 32}, []int{0, 2, 1, 3}}},
		{kvPaged, Params{Bits: 16, details: details{Type: "F16"}}, pages, definition{"pthd", []int64{3, 4, 5, 4, 8}, []int{0, 2, 3, 1, 4}}},
		{kvPaged, Params{Bits: 8, details: details{Type: "U8"}}, pages, definition{"pthd", []int64{3, 4, 5, 2, 16}, []int{0, 2, 3, 1, 4}}},
		{kvPagedV, Params{Bits: 16, details: details{Type: "F16"}}, pages, definition{"pthd", []int64{3, 4, 5, 32}, []int{0, 2, 3, 1}}},
	} {
		a := c.format.arrays(c.params)[0]
		place := a.slots[0].place("x", c.ext)
		dims, err := a.dims(c.ext)
		require.NoError(t, err)
		kind, err := a.kind()
		require.NoError(t, err)
		size, err := checkpoint.Safetensors.Size(kind, dims)
		require.NoError(t, err)
		count := int64(1)
		for _, n := range c.ext {
			count *= n
		}
		assert.Equal(t, count*c.params.Bits, 8*size, c.format.Name)
		found := extents{}
		if c.format != tiles128x4 { // whose shape does not tell
			require.NoError(t, a.extent(a.suffix, dims, found), c.format.Name)
			assert.Equal(t, c.ext, found, c.format.Name)
		}
		each(c.ext, func(index map[byte]int64) {
			at, ok := place.bitAt(index, 0)
			require.True(t, ok)
			if want := c.at(c.ext, index) * c.params.Bits; at != want {
				require.Equal(t, want, at, "%s: %v", c.format.Name, index)
			}
		})
	}
}

// TestAWQGEMVRows: AutoAWQ pads rows of zero points to words, and to 2 of these with groups
// of 64, 4 with groups of 32.
func TestAWQGEMVRows(t *testing.T) {
	for _, c := range []struct{ k, group, words int64 }{{1024, 128, 1}, {2048, 128, 2}, {4096, 64, 8}, {1152, 64, 4}, {64, 32, 4}, {2048, 32, 8}, {96, 0, 1}} {
		ext := extents{axisN: 8, axisK: c.k}
		p := Params{Bits: 4, Group: c.group, Scale: "F16", Zeros: true}
		ext.group(p)
		all := tensors(t, awqGEMV, p, ext)
		assert.Equal(t, []int64{8, c.words}, all[1].Dims, "%+v", c)
		assert.Equal(t, []int64{8, 8 * c.words}, all[2].Dims, "%+v", c)
	}
}

// TestFinerGroups: a scale of many k is repeated for each block of a format with smaller ones.
func TestFinerGroups(t *testing.T) {
	for _, group := range []int64{64, 128, 0} {
		ext := extents{axisN: 16, axisK: 256}
		p := Params{Bits: 4, Group: group, Scale: "F16"}
		ext.group(p)
		w := only(t, gptq, p, slices.DeleteFunc(tensors(t, gptq, p, ext), func(t Tensor) bool { return t.Name == "w.g_idx" }))
		plan, err := w.Plan(gguf)
		require.NoError(t, err)
		assert.Equal(t, "Q4_0", plan.To.Tensors[0].Type)
		from := carry(t, plan.moves)
		scale, source := gguf.arrays(plan.To.Params)[0].slots[0], gptqArrays(p)[2].slots[0]
		for n := range int64(16) {
			for k := range int64(256) {
				d, _ := scale.place("w.weight", plan.To.ext).bitAt(map[byte]int64{axisN: n, axisG: k / 32}, 0)
				s, _ := source.place("w.scales", ext).bitAt(map[byte]int64{axisN: n, axisG: k / max(group, 256*(1-min(1, group)))}, 0)
				require.Equal(t, name("w.scales", s), from[name("w.weight", d)])
			}
		}
	}
}
