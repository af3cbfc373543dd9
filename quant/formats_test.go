package quant

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/layout"
)

// TestBlocks: in each type of blocks every bit of every number is in one place, no two
// share one, and all lie in the block.
func TestBlocks(t *testing.T) {
	for typ, b := range ggufBlocks() {
		if typ == "TQ1_0" {
			continue // whose bits are no number's
		}
		t.Run(typ, func(t *testing.T) {
			kind, err := checkpoint.GGUF.Type(typ)
			require.NoError(t, err)
			rows := max(2, b.tile)
			ext := extents{axisN: rows, axisK: 2 * kind.Block}
			p := b.params
			p.Blocks = typ
			ext.group(p)
			bits := map[role]int64{}
			for _, s := range b.slots {
				bits[s.role] = max(bits[s.role], s.lo+s.bits)
			}
			taken := map[string]string{}
			for r, n := range bits {
				var places []place
				field := extents{}
				for _, s := range gguf.arrays(p)[0].slots {
					if s.role == r {
						places = append(places, s.place("x", ext))
						field = fieldExtents(s, ext)
					}
				}
				for name, at := range where(t, places, field, n) {
					require.Empty(t, taken[at], "%s and %v %s are both at %s", taken[at], r, name, at)
					taken[at] = fmt.Sprint(r, " ", name)
				}
			}
			if p.Table != gridTable {
				assert.Equal(t, b.params.Bits, bits[codes])
			}
			for at := range taken {
				var pos int64
				_, err := fmt.Sscanf(at, "x %d", &pos)
				require.NoError(t, err)
				assert.Less(t, pos, 2*rows*8*kind.BlockBytes)
			}
			if typ != "Q5_K" && typ != "TQ2_0" && p.Table != gridTable {
				assert.Len(t, taken, int(2*rows*8*kind.BlockBytes), "bits of blocks that are no number's")
			}
		})
	}
}

// tensors are those of a weight in a format.
func tensors(t *testing.T, f *Format, p Params, ext extents) []Tensor {
	var out []Tensor
	for _, a := range f.arrays(p) {
		dims, err := a.dims(ext)
		require.NoError(t, err)
		out = append(out, Tensor{joined("w", a.suffix), a.typ, dims, nil})
	}
	return out
}

func only(t *testing.T, f *Format, p Params, all []Tensor) *Weight {
	w, rest, err := Find(f, p, all)
	require.NoError(t, err)
	require.Len(t, w, 1)
	require.Empty(t, rest)
	return w[0]
}

// TestRefused: what a format cannot keep.
func TestRefused(t *testing.T) {
	ext := extents{axisN: 128, axisK: 128}
	p := Params{Bits: 4, Group: 32, Scale: "F16", Zeros: true}
	ext.group(p)
	plan := func(from *Format, p Params, ext extents, to *Format) error {
		_, err := only(t, from, p, tensors(t, from, p, ext)).Plan(to)
		return err
	}
	for _, c := range []struct {
		rule     string
		from, to *Format
		change   func(p *Params, e extents)
	}{
		{"has zero points, for which it has no place", gptq, trtLLM, func(p *Params, e extents) {}},
		{"zero points of 3 bits, which cross words", gptq, compressedTensors, func(p *Params, e extents) { p.Bits = 3 }},
		{"the weight has scales", gptq, hqq, func(p *Params, e extents) {}},
		{"codes of 8 bits", gptq, awq, func(p *Params, e extents) { p.Bits = 8 }},
		{"a multiple of 64", gptq, marlin, func(p *Params, e extents) { e[axisN] = 96 }},
		{"groups of 8", gptq, matMulNBits, func(p *Params, e extents) { p.Group = 8; e.group(*p) }},
		{"the weight has groups", gptq, packed, func(p *Params, e extents) { p.Sorted = true }},
		{"numbers that are no Q4_K", gptq, q4Kx8x8, func(p *Params, e extents) {}},
		{"scales of another type", gptq, q40x8x8, func(p *Params, e extents) {}},
		{"the weight has minima", gguf, packed, func(p *Params, e extents) { p.Blocks = "Q4_1" }},
		{"scales of 6 bits", gguf, packed, func(p *Params, e extents) { p.Blocks = "Q4_K" }},
		{"axes kn; its own are ekn", gguf, gptOSS, func(p *Params, e extents) { p.Blocks = "MXFP4" }},
		{"scales of type U8 for groups of 32", gptOSS, nvfp4, func(p *Params, e extents) { e['e'] = 1 }},
		{`numbers of "iq4nl"`, gguf, matMulNBits, func(p *Params, e extents) { p.Blocks = "IQ4_NL" }},
		{`numbers of "e2m1"`, gptOSS, gptq, func(p *Params, e extents) { e['e'] = 1 }},
		{"the weight has scales", packed, tilePacked, func(p *Params, e extents) { p.Zeros = false }},
		{"and zero points", gptq, gguf, func(p *Params, e extents) { p.Bits = 8 }},
		{"groups of 32; there are groups of 48", gptq, gguf, func(p *Params, e extents) { p.Zeros, p.Group, e[axisK] = false, 48, 96; e.group(*p) }},
	} {
		p, e := p, extents{axisN: ext[axisN], axisK: ext[axisK], axisG: ext[axisG]}
		c.change(&p, e)
		err := plan(c.from, p, e, c.to)
		require.ErrorIs(t, err, layout.ErrUnsupported, c.rule)
		assert.ErrorContains(t, err, c.rule)
	}
}

// TestShapesRefused: tensors whose shapes contradict each other.
func TestShapesRefused(t *testing.T) {
	p := Params{Bits: 4, Group: 32}
	weight := Tensor{"w.qweight", "I32", []int64{16, 128}, nil}
	for rule, more := range map[string]Tensor{
		"is no I32 of g | n":  {"w.qzeros", "I32", []int64{4, 15}, nil},
		"is no F16 of g | n":  {"w.scales", "F16", []int64{5, 128}, nil},
		"is of type F16":      {"w.g_idx", "F16", []int64{128}, nil},
		"[4,16,1]":            {"w.qzeros", "I32", []int64{4, 16, 1}, nil},
		"9223372036854775807": {"w.scales", "F16", []int64{4, 1<<63 - 1}, nil},
	} {
		_, _, err := Find(gptq, p, []Tensor{weight, more})
		require.ErrorIs(t, err, layout.ErrInvalid, rule)
		assert.ErrorContains(t, err, rule)
	}
}

// TestWayBack: from one format to another and back are the same copies, the other way round.
func TestWayBack(t *testing.T) {
	ext := extents{axisN: 64, axisK: 64}
	p := Params{Bits: 4, Group: 32, Scale: "F16", Zeros: true}
	ext.group(p)
	formats := []*Format{gptq, awq, packed, matMulNBits}
	for _, from := range formats {
		for _, f := range append([]*Format{marlin}, formats...) { // marlin takes names, and is no source here
			there, err := only(t, from, p, tensors(t, from, p, ext)).Plan(f)
			require.NoError(t, err)
			back, err := there.To.Plan(from)
			require.NoError(t, err, "%s to %s", f.Name, from.Name)
			require.Len(t, back.moves, len(there.moves))
			came, goes := carry(t, there.moves), carry(t, back.moves)
			for to, at := range came {
				require.Equal(t, to, goes[at], "%s to %s", from.Name, f.Name)
			}
		}
	}
}

// TestAnyShape: no format panics at tensors of any shape and parameters of any value.
func TestAnyShape(t *testing.T) {
	opened := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		numbers := []int64{-1, 0, 1, 2, 3, 4, 8, 16, 32, 64, 128, 1 << 40, 1<<63 - 1}
		any := func() int64 { return numbers[rng.IntN(len(numbers))] }
		f := all[rng.IntN(len(all))]
		p := Params{Bits: any() * rng.Int64N(2), Group: any(), Zeros: rng.IntN(2) == 0, Sorted: rng.IntN(2) == 0, details: details{Tiles: any(), Part: any()}}
		var have []Tensor
		for _, suffix := range []string{f.suffix, ".scales", ".qzeros", ".zeros", "_scales", ".zero_points"} {
			x := Tensor{Name: "w" + suffix, Type: []string{"I32", "U8", "F16", "Q4_0", "Q6_K"}[rng.IntN(5)]}
			for range rng.IntN(5) {
				x.Dims = append(x.Dims, max(rng.Int64N(8), any()))
			}
			have = append(have, x)
		}
		weights, _, err := Find(f, p, have)
		if err != nil {
			continue
		}
		for _, w := range weights {
			opened++
			for _, to := range all {
				if p, err := w.Plan(to); err == nil {
					_, _ = p.Cut(p.Least())
					_, _ = p.Back()
				}
			}
		}
	}
	assert.Greater(t, opened, 20)
}

func TestDescribe(t *testing.T) {
	for text, want := range map[string]Params{
		`{"quant_method":"gptq","bits":4,"group_size":32,"desc_act":true,"sym":true}`:                                                                                          {Bits: 4, Group: 32, Sorted: true, ZeroLess: true},
		`{"quant_method":"gptq","bits":8,"group_size":-1,"desc_act":true,"sym":false,"checkpoint_format":"gptq_v2"}`:                                                           {Bits: 8, Zeros: true},
		`{"quant_method":"awq","bits":4,"group_size":64,"version":"gemm"}`:                                                                                                     {Bits: 4, Group: 64, Zeros: true},
		`{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"g":{"weights":{"num_bits":8,"type":"int","strategy":"group","group_size":128}}}}`:    {Bits: 8, Group: 128},
		`{"quant_method":"compressed-tensors","format":"pack-quantized","config_groups":{"g":{"weights":{"num_bits":4,"type":"int","strategy":"channel","symmetric":false}}}}`: {Bits: 4, Zeros: true},
		`{"quant_method":"mxfp4"}`:                         {},
		`{"quant_method":"awq","bits":4,"version":"GEMV"}`: {Bits: 4, Group: 128, Zeros: true},
		`{"quant_method":"modelopt","quant_algo":"NVFP4"}`: {Group: -1},
	} {
		d, err := Describe(json.RawMessage(`{"quantization_config":`+text+`}`), nil)
		require.NoError(t, err, text)
		assert.Equal(t, want, d.Params, text)
	}
	for _, none := range []string{``, `{}`} {
		d, err := Describe(json.RawMessage(none), nil)
		require.NoError(t, err)
		assert.Nil(t, d.Format)
	}
	for text, rule := range map[string]string{
		`1`:                                "cannot unmarshal",
		`{"quant_method":"new"}`:           `"new" is not known`,
		`{"quant_method":"gptq","bits":5}`: "5 bits",
		`{"quant_method":"gptq","bits":4,"group_size":0}`:                                                 "group_size is 0",
		`{"quant_method":"gptq","bits":4,"checkpoint_format":"marlin"}`:                                   `"marlin"`,
		`{"quant_method":"gptq","bits":"four"}`:                                                           "cannot unmarshal",
		`{"quant_method":"awq","bits":4,"version":"marlin"}`:                                              "marlin",
		`{"quant_method":"compressed-tensors","format":"marlin-24","config_groups":{"g":{"weights":{}}}}`: "marlin-24",
		`{"quant_method":"compressed-tensors","format":"pack-quantized"}`:                                 "0 config_groups",
	} {
		_, err := Describe(json.RawMessage(`{"quantization_config":`+text+`}`), nil)
		require.Error(t, err, text)
		assert.ErrorContains(t, err, rule)
	}
}
