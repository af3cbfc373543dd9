package quant

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the tables of docs/weights.md")

// shown is a weight of a format as documents show it.
type shown struct {
	title  string
	format *Format
	params Params
}

// shownWeights are weights of all formats, of kinds that differ in what they can become.
func shownWeights() []shown {
	p := Params{Bits: 4, Group: 128, Scale: "F16"}
	with := func(change func(*Params)) Params {
		p := p
		change(&p)
		return p
	}
	asymmetric := with(func(p *Params) { p.Zeros = true })
	alone := Params{Bits: 4, details: details{Tiles: 8, Part: 128}}
	out := []shown{
		{"`gptq`, 4 bits", gptq, p},
		{"`gptq`, 4 bits, zero points", gptq, asymmetric},
		{"`gptq`, 4 bits, rows in any order (desc_act)", gptq, with(func(p *Params) { p.Sorted = true })},
		{"`gptq`, 8 bits", gptq, with(func(p *Params) { p.Bits = 8 })},
		{"`gptq`, 2 bits", gptq, with(func(p *Params) { p.Bits = 2 })},
		{"`gptq`, 3 bits, zero points", gptq, with(func(p *Params) { p.Bits, p.Zeros = 3, true })},
		{"`gptq-v1`, 4 bits, zero points", gptqV1, with(func(p *Params) { p.Zeros, p.ZeroLess = true, true })},
		{"`awq`", awq, asymmetric},
		{"`awq-gemv`", awqGEMV, asymmetric},
		{"`marlin`, 4 bits", marlin, p},
		{"`marlin`, 4 bits, zero points", marlin, asymmetric},
		{"`marlin`, 4 bits, rows in the order of their groups", marlin, with(func(p *Params) { p.Sorted = true })},
		{"`marlin`, 8 bits", marlin, with(func(p *Params) { p.Bits = 8 })},
		{"`machete`", machete, p},
		{"`trtllm-w4a16`", trtLLM, p},
		{"`packed`, 4 bits", packed, p},
		{"`packed`, 4 bits, zero points", packed, asymmetric},
		{"`packed`, 4 bits, codes alone", packed, alone},
		{"`packed`, 3 bits", packed, with(func(p *Params) { p.Bits = 3 })},
		{"`packed`, 8 bits with a sign", packed, with(func(p *Params) { p.Bits, p.Signed, p.Group = 8, true, 32 })},
		{"`matmulnbits`, 4 bits", matMulNBits, p},
		{"`matmulnbits`, 4 bits, zero points", matMulNBits, asymmetric},
		{"`compressed-tensors`, 4 bits", compressedTensors, p},
		{"`compressed-tensors`, 4 bits, zero points", compressedTensors, asymmetric},
		{"`compressed-tensors`, 8 bits", compressedTensors, with(func(p *Params) { p.Bits = 8 })},
	}
	for _, typ := range ggufOrder {
		b := ggufBlocks()[typ]
		b.params.Blocks = typ
		out = append(out, shown{"`gguf`, " + typ, gguf, b.params})
	}
	experts := ggufBlocks()["MXFP4"].params
	experts.Blocks, experts.Batch = "MXFP4", true
	cache := Params{Bits: 16, details: details{Type: "F16"}}
	return append(out,
		shown{"`gguf`, MXFP4, experts", gguf, experts},
		shown{"`float`", floats, Params{Bits: 32, details: details{Type: "F32"}}},
		shown{"`gpt-oss`", gptOSS, Params{Bits: 4, Group: 32, Table: "e2m1", Scale: "U8", details: details{Batch: true}}},
		shown{"`triton-hopper-mxfp4`", tritonHopperMX, Params{Bits: 4, Group: 32, Table: "e2m1", Scale: "U8", details: details{Batch: true}}},
		shown{"`triton-blackwell-mxfp4`", tritonBlackwellMX, Params{Bits: 4, Group: 32, Table: "e2m1", Scale: "U8", details: details{Batch: true}}},
		shown{"`nvfp4`", nvfp4, Params{Bits: 4, Group: 16, Table: "e2m1", Scale: "F8_E4M3"}},
		shown{"`tilepacked`", tilePacked, alone},
		shown{"`hqq`, 4 bits", hqq, alone},
		shown{"`hqq`, 3 bits", hqq, Params{Bits: 3, details: details{Part: 128}}},
		shown{"`bitsandbytes`", bitsandbytes, alone},
		shown{"`scales`", scalesPlain, Params{Bits: 8}},
		shown{"`triton-blackwell`", tritonBlackwell, Params{Bits: 8}},
		shown{"`triton-hopper`", tritonHopper, Params{Bits: 8}},
		shown{"`kv-nhd`", kvNHD, cache},
		shown{"`kv-hnd`", kvHND, cache},
		shown{"`kv-paged`", kvPaged, cache},
		shown{"`kv-paged-v`", kvPagedV, cache},
	)
}

// weight is a weight of the sample's kind, with the tensors that its parameters call for.
func (s shown) weight(t *testing.T) *Weight {
	ext := extents{axisN: 256, axisK: 512, axisE: 2}
	if s.params.Type != "" && !s.format.numbers {
		ext = extents{'p': 2, 't': 16, 'h': 4, 'd': 64}
	}
	ext.group(s.params)
	var all []Tensor
	for _, a := range s.format.arrays(s.params) {
		if a.has(zeros) && !s.params.Zeros || a.has(scales) && s.params.Scale == "" && !a.has(codes) && !a.has(superScales) {
			continue
		}
		dims, err := a.dims(ext)
		require.NoError(t, err)
		all = append(all, Tensor{joined("w", a.suffix), a.typ, dims, nil})
	}
	return only(t, s.format, s.params, all)
}

// TestWeightsDocument holds the tables of docs/weights.md against the formats; go test
// ./quant -run WeightsDocument -update writes them.
func TestWeightsDocument(t *testing.T) {
	const path = "../docs/weights.md"
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	want := string(raw)
	for name, table := range map[string]string{"formats": formatsTable(t), "pairs": pairsTable(t), "drawings": drawings(t)} {
		begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
		head, rest, ok := strings.Cut(want, begin)
		require.True(t, ok, "%s has no line %q", path, begin)
		_, tail, ok := strings.Cut(rest, end)
		require.True(t, ok, "%s has no line %q", path, end)
		want = head + begin + "\n" + table + "\n" + end + tail
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(raw), "go test ./quant -run WeightsDocument -update writes the tables")
}

// formatsTable lists the tensors of each format and their orders.
func formatsTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| format | |\n|---|---|\n")
	for _, f := range Formats() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, f.About)
	}
	b.WriteString("\n| weight | tensors, their types and orders |\n|---|---|\n")
	for _, s := range shownWeights() {
		if s.format == gguf {
			continue
		}
		var all []string
		w := s.weight(t)
		for i, a := range w.arrays {
			order := a.slots[0].order
			if strings.ReplaceAll(a.order, "|", " ") == order || a.slots[0].rows != "" {
				order = a.order
			}
			if order = strings.Join(strings.Fields(strings.ReplaceAll(order, "|", ",")), " "); order == "" {
				order = "1"
			}
			all = append(all, fmt.Sprintf("%s %s `%s`", cmp.Or(strings.TrimLeft(w.Tensors[i].Name[1:], "._"), "any name,"), a.typ, strings.ReplaceAll(order, " ,", ",")))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", s.title, strings.Join(all, "; "))
	}
	return b.String()
}

// pairsTable lists what each weight can become.
func pairsTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| weight | becomes |\n|---|---|\n")
	for _, s := range shownWeights() {
		var names []string
		w := s.weight(t)
		for _, to := range Formats() {
			p, err := w.Plan(to)
			switch {
			case err != nil || to.numbers && to != floats || to == s.format && to != gguf, to == gguf && p.To.Params.Blocks == s.params.Blocks:
			case to == gguf:
				names = append(names, "gguf ("+p.To.Params.Blocks+")")
			default:
				names = append(names, to.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |\n", s.title, strings.Join(names, ", "))
	}
	return b.String()
}

// drawings show which codes the first bytes of each format have.
func drawings(t *testing.T) string {
	var b strings.Builder
	b.WriteString("```\n")
	seen := map[string]bool{}
	for _, s := range shownWeights() {
		w := s.weight(t)
		drawn := drawing(w)
		if key := s.format.Name + drawn; seen[key] || s.params.Bits > 8 {
			continue
		} else {
			seen[key] = true
		}
		title := fmt.Sprintf("%s, %d bits", s.format.Name, s.params.Bits)
		if s.params.Blocks != "" {
			title = s.params.Blocks
		}
		fmt.Fprintf(&b, "%-31s%s\n", title, drawn)
	}
	b.WriteString("```\n")
	return b.String()
}

// drawing names the first codes, the lowest bits of each, as N.K.
func drawing(w *Weight) string {
	type code struct {
		at   int64
		name string
	}
	var all []code
	ext := extents{axisN: min(256, w.ext[axisN]), axisK: w.ext[axisK]}
	for _, s := range w.arrays[0].slots {
		if s.role != codes || s.lo > 0 {
			continue
		}
		p := s.place("", w.ext)
		each(ext, func(index map[byte]int64) {
			if at, ok := p.bitAt(index, 0); ok && at < 2048 {
				all = append(all, code{at, fmt.Sprintf("%d.%d", index[axisN], index[axisK])})
			}
		})
	}
	slices.SortFunc(all, func(a, b code) int { return int(a.at - b.at) })
	var out []string
	for i, c := range all[:min(12, len(all))] {
		if i > 0 && c.at%32 < all[i-1].at%32 {
			out = append(out, "|")
		}
		out = append(out, c.name)
	}
	return strings.Join(out, " ")
}
