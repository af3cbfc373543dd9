package adversary

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"

	"github.com/restride/restride/checkpoint"
	"github.com/restride/restride/quant"
)

// pick returns one of several.
func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// weightKinds are formats, and parameters of some of their weights.
var weightKinds = map[string]func(*rand.Rand) quant.Params{
	"gptq":    ofGPTQ,
	"gptq-v1": ofGPTQ,
	"awq":     fourBits,
	"awq-gemv": func(rng *rand.Rand) quant.Params {
		return quant.Params{Bits: 4, Group: pick[int64](rng, 32, 64, 128), Zeros: true}
	},
	"marlin":                 ofGPTQ,
	"machete":                fourBits,
	"trtllm-w4a16":           fourBits,
	"packed":                 ofPacked,
	"matmulnbits":            func(rng *rand.Rand) quant.Params { return anyBits(rng, pick[int64](rng, 16, 32, 64, 128), 2, 4, 8) },
	"compressed-tensors":     func(rng *rand.Rand) quant.Params { return anyBits(rng, groupOf(rng), 2, 3, 4, 4, 5, 6, 7, 8) },
	"gguf":                   ofGGUF,
	"q4_0_4x4":               fixed(quant.Params{Bits: 4, Group: 32}),
	"q4_0_4x8":               fixed(quant.Params{Bits: 4, Group: 32}),
	"q4_0_8x8":               fixed(quant.Params{Bits: 4, Group: 32}),
	"q4_k_8x8":               fixed(quant.Params{Bits: 4, Group: 32}),
	"gpt-oss":                fixed(batched(quant.Params{Bits: 4, Group: 32}, true)),
	"triton-hopper-mxfp4":    fixed(batched(quant.Params{Bits: 4, Group: 32}, true)),
	"triton-blackwell-mxfp4": fixed(batched(quant.Params{Bits: 4, Group: 32}, true)),
	"nvfp4":                  fixed(quant.Params{Bits: 4, Group: 16}),
	"tilepacked": func(rng *rand.Rand) quant.Params {
		p := quant.Params{Bits: 4}
		p.Tiles = pick[int64](rng, 2, 4, 8)
		return p
	},
	"hqq": func(rng *rand.Rand) quant.Params {
		p := quant.Params{Bits: pick[int64](rng, 1, 2, 3, 4, 8)}
		p.Part = pick[int64](rng, 1, 3, 32, 64)
		return p
	},
	"bitsandbytes": func(rng *rand.Rand) quant.Params {
		p := quant.Params{Bits: 4}
		p.Flat = rng.IntN(2) == 0
		return p
	},
	"float": func(rng *rand.Rand) quant.Params {
		return batched(elements(8, pick(rng, "F16", "BF16", "F32")), rng.IntN(4) == 0)
	},
	"mlx": func(rng *rand.Rand) quant.Params {
		p := quant.Params{Bits: pick[int64](rng, 2, 3, 4, 4, 5, 6, 8), Group: pick[int64](rng, 32, 64, 128), Scale: pick(rng, "F16", "BF16", "F32")}
		p.Mins = true
		return batched(p, rng.IntN(4) == 0)
	},
	"mlx-mxfp4":                fixed(quant.Params{Bits: 4, Group: 32}),
	"compressed-tensors-mxfp4": fixed(quant.Params{Bits: 4, Group: 32}),
	"compressed-tensors-nvfp4": fixed(quant.Params{Bits: 4, Group: 16}),
	"compressed-tensors-int8":  func(rng *rand.Rand) quant.Params { return anyBits(rng, groupOf(rng), 8) },
	"llm-int8":                 fixed(quant.Params{Bits: 8}),
	"fp8":                      ofFP8,
	"scales":                   fixed(quant.Params{Bits: 8}),
	"triton-blackwell":         fixed(quant.Params{Bits: 8}),
	"triton-hopper":            fixed(quant.Params{Bits: 8}),
	"kv-nhd":                   ofCache,
	"kv-hnd":                   ofCache,
	"kv-paged":                 ofCache,
	"kv-paged-v":               ofCache,
}

// ofFP8 is FP8 with scales of any shape that it may have.
func ofFP8(rng *rand.Rand) quant.Params {
	p := quant.Params{Bits: 8, Table: pick(rng, "e4m3", "e5m2"), Scale: pick(rng, "F32", "BF16", "F16")}
	switch p.ScaleAxes = pick(rng, "", "x%1", "n", "n | x%1", "r | g"); p.ScaleAxes {
	case "r | g":
		p.Rows = pick[int64](rng, 16, 64, 128)
		p.Group = p.Rows
	}
	return p
}

func fixed(p quant.Params) func(*rand.Rand) quant.Params {
	return func(*rand.Rand) quant.Params { return p }
}

func batched(p quant.Params, is bool) quant.Params {
	p.Batch = is
	return p
}

func elements(bits int64, of string) quant.Params {
	p := quant.Params{Bits: bits}
	p.Type = of
	return p
}

func groupOf(rng *rand.Rand) int64 { return pick[int64](rng, 0, 0, 8, 16, 32, 32, 48, 64, 128) }

func anyBits(rng *rand.Rand, group int64, bits ...int64) quant.Params {
	return quant.Params{Bits: pick(rng, bits...), Group: group, Zeros: rng.IntN(2) == 0, Scale: pick(rng, "F16", "F16", "BF16")}
}

func fourBits(rng *rand.Rand) quant.Params { return anyBits(rng, groupOf(rng), 4) }

func ofGPTQ(rng *rand.Rand) quant.Params {
	p := anyBits(rng, groupOf(rng), 2, 3, 4, 4, 4, 8)
	p.Sorted, p.ZeroLess = rng.IntN(2) == 0, rng.IntN(2) == 0
	return p
}

func ofPacked(rng *rand.Rand) quant.Params {
	p := anyBits(rng, groupOf(rng), 1, 2, 3, 4, 4, 5, 6, 7, 8)
	switch rng.IntN(8) {
	case 0:
		p.Batch = true
	case 1:
		p.Flat = true
	case 2:
		p.Bits, p.Signed = 8, true
	case 3:
		p.Scale = pick(rng, "F32", "F64", "U8", "I8", "I16", "F8_E4M3")
	}
	return p
}

func ofGGUF(rng *rand.Rand) quant.Params {
	blocks := pick(rng, "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "IQ2_XXS", "IQ3_S", "IQ1_M")
	p := quant.Params{Bits: 4, Group: 32}
	p.Blocks = blocks
	return batched(p, rng.IntN(4) == 0)
}

// ofCache is a weight of elements of a type; the extents are those of axes other than n and k.
func ofCache(rng *rand.Rand) quant.Params {
	return elements(16, pick(rng, "F16", "BF16", "F32", "I8", "F8_E4M3"))
}

// RandomWeight is a weight of a random format with random bytes, in the form of a file's
// tensors, including Said; nil: the chosen shape has none, or the format refuses it.
func RandomWeight(rng *rand.Rand) (*quant.Weight, map[string][]byte) {
	kinds := quant.Formats()
	f := kinds[rng.IntN(len(kinds))]
	if rng.IntN(4) == 0 { // whose rows may be in any order
		f, _ = quant.Lookup(pick(rng, "gptq", "gptq-v1", "marlin", "marlin"))
	}
	params, ok := weightKinds[f.Name]
	if !ok {
		return nil, nil // it is only written, or its numbers are not supported
	}
	p := params(rng)
	d := described{tensors: randomTensors(rng, f, p)}
	said := saidOf(rng, p)
	if other := describedKinds[f.Name]; other != nil && rng.IntN(2) == 0 {
		d, said = other(rng), quant.Params{Group: -1}
	}
	all, _, err := quant.Find(f, said, d.tensors)
	if err != nil || len(all) != 1 {
		return nil, nil
	}
	data := randomContent(rng, all[0])
	for name, b := range d.said {
		data[name] = b
	}
	return all[0], data
}

// saidOf is a file's description of a weight apart from its tensors, or nothing.
func saidOf(rng *rand.Rand, p quant.Params) quant.Params {
	said := quant.Params{Bits: p.Bits, Group: p.Group, Zeros: p.Zeros, ZeroLess: p.ZeroLess, Sorted: p.Sorted}
	switch rng.IntN(4) {
	case 0:
		return quant.Params{Bits: p.Bits, Group: -1, GroupHint: p.Group}
	case 1:
		said.Zeros = rng.IntN(2) == 0 // which may be wrong
	case 2:
		if p.Bits == 4 && p.Scale != "" {
			said.Table = pick(rng, "", "nf4", "fp4", "iq4nl", "e2m1")
		}
	}
	return said
}

// tiles are the multiples that the shapes of some formats have.
var tiles = map[string]struct{ n, k int64 }{"machete": {128, 64}, "trtllm-w4a16": {4, 64}}

// randomTensors are the tensors of a weight of a random shape.
func randomTensors(rng *rand.Rand, f *quant.Format, p quant.Params) []quant.Tensor {
	if strings.HasPrefix(f.Name, "kv-") {
		dims := []int64{1 + rng.Int64N(3), 1 + rng.Int64N(9), 1 + rng.Int64N(4), pick[int64](rng, 8, 16, 32, 40)}
		if f.Name == "kv-paged" {
			dims = append(dims, pick[int64](rng, 4, 8, 16))
		}
		return []quant.Tensor{{Name: "w", Type: p.Type, Dims: dims}}
	}
	n, k, batch := pick[int64](rng, 1, 3, 8, 16, 24, 64, 64, 128, 128, 192, 256), pick[int64](rng, 8, 32, 64, 96, 100, 128, 160, 256, 256, 320, 512), int64(0)
	if p.Group > 0 && rng.IntN(2) == 0 {
		k = p.Group * (1 + rng.Int64N(5))
	}
	if p.Batch {
		batch = 1 + rng.Int64N(3)
	}
	if of, some := tiles[f.Name]; some {
		n, k = (n+of.n-1)/of.n*of.n, (k+of.k-1)/of.k*of.k
	}
	w, err := quant.New(f, p, pick(rng, "w", "w", "w", "", "model.layers.0.mlp.up_proj"), batch, n, k)
	if err != nil {
		return nil
	}
	if rng.IntN(8) > 0 || len(w.Tensors) == 1 {
		return w.Tensors
	}
	return append(w.Tensors[:1:1], w.Tensors[2:]...) // without scales or zero points
}

// randomContent is random bytes for a weight's tensors, except where some bytes are invalid.
func randomContent(rng *rand.Rand, w *quant.Weight) content {
	out := content{}
	for _, x := range w.Tensors {
		b := make([]byte, tensorSize(x))
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		switch {
		case strings.HasSuffix(x.Name, "g_idx"):
			fillGroups(rng, b, w)
		case strings.HasSuffix(x.Name, "sort_indices"):
			fillOrder(rng, b)
		case strings.HasSuffix(x.Name, "_shape") && rng.IntN(8) > 0:
			binary.LittleEndian.PutUint64(b, uint64(w.Shape()[0]))
			binary.LittleEndian.PutUint64(b[8:], uint64(w.Shape()[1]))
		case strings.HasSuffix(x.Name, "zeros") && rng.IntN(2) == 0:
			for j := range b {
				b[j] = pick[byte](rng, 0x77, 0x88, 0x88)
			}
		case w.Params.Type != "" && rng.IntN(16) > 0:
			finite(b, x.Type)
		}
		out[x.Name] = b
	}
	return out
}

// tensorSize is the number of bytes of a tensor, 0 if it has a type that no file has.
func tensorSize(x quant.Tensor) int64 {
	kind, err := checkpoint.Safetensors.Type(x.Type)
	if err != nil {
		kind, err = checkpoint.GGUF.Type(x.Type)
	}
	if err != nil {
		return 0
	}
	n, _ := checkpoint.Safetensors.Size(kind, x.Dims)
	return n
}

// fillGroups fills a tensor with the groups of rows: in order, in any, or nonsense.
func fillGroups(rng *rand.Rand, b []byte, w *quant.Weight) {
	size := w.Params.Group
	if size == 0 {
		size = int64(len(b))
	}
	how := rng.IntN(16)
	swap := func(i, j int) {
		x, y := binary.LittleEndian.Uint32(b[4*i:]), binary.LittleEndian.Uint32(b[4*j:])
		binary.LittleEndian.PutUint32(b[4*i:], y)
		binary.LittleEndian.PutUint32(b[4*j:], x)
	}
	for i := range len(b) / 4 {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(int64(i)/size))
	}
	switch {
	case how == 0:
		binary.LittleEndian.PutUint32(b, pick[uint32](rng, 1, 5, 1<<31, 1<<32-1))
	case how < 4 || w.Params.Sorted && how < 14:
		rng.Shuffle(len(b)/4, swap)
	case how == 4: // whole groups change places
		for i := range int(size) {
			if j := len(b)/4 - int(size) + i; j > i {
				swap(i, j)
			}
		}
	}
}

// fillOrder fills a tensor with an order of rows, seldom with nonsense.
func fillOrder(rng *rand.Rand, b []byte) {
	for i, k := range rng.Perm(len(b) / 4) {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(k))
	}
	if rng.IntN(16) == 0 {
		binary.LittleEndian.PutUint32(b, 0)
	}
}

// finite makes a tensor's numbers finite.
func finite(b []byte, typ string) {
	size := map[string]int{"F16": 2, "BF16": 2, "F32": 4}[typ]
	for i := size - 1; size > 0 && i < len(b); i += size {
		b[i] &^= 0x40
	}
}
