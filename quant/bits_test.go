package quant

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/restride/restride/cpu"
	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// bitOf is a bit of bytes.
func bitOf(b []byte, at int64) byte { return b[at/8] >> (at % 8) & 1 }

// TestCodesOfBits: codes of 3, 5 and 6 bits, and planes, become rows of codes, and these
// become what they were, where all of it is codes.
func TestCodesOfBits(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	tensor.CheckLeaks(t, s)
	const n, k = 70, 256
	for _, c := range []struct {
		name   string
		format *Format
		params Params
		back   bool
		at     func(n, k, bit, columns, rows int64) int64 // in the tensor of codes
	}{
		{"gptq", gptq, Params{Bits: 3, Group: 32, Scale: "F16"}, true, func(n, k, bit, _, rows int64) int64 {
			in := 3*(k%32) + bit
			return 32*((k/32*3+in/32)*rows+n) + in%32
		}},
		{"hqq", hqq, Params{Bits: 3, details: details{Part: n / 10}}, false, func(n, k, bit, columns, rows int64) int64 {
			return 32*(n%(rows/10)*columns+k) + 27 - 3*(n/(rows/10)) + bit
		}},
		{"compressed-tensors, 5 bits", compressedTensors, Params{Bits: 5, Group: 32, Scale: "F16"}, true, func(n, k, bit, columns, _ int64) int64 { return 5*(n*columns+k) + bit }},
		{"compressed-tensors, 6 bits", compressedTensors, Params{Bits: 6, Group: 32, Scale: "F16"}, true, func(n, k, bit, columns, _ int64) int64 { return 6*(n*columns+k) + bit }},
		{"Q5_0", gguf, Params{Bits: 5, Group: 32, Scale: "F16", details: details{Blocks: "Q5_0"}}, false, func(n, k, bit, columns, _ int64) int64 {
			block := 8 * 22 * (n*columns/32 + k/32)
			if k %= 32; bit == 4 {
				return block + 16 + k
			}
			return block + 48 + 8*(k%16) + 4*(k/16) + bit
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := int64(n)
			if c.format == gptq {
				rows = 64
			}
			ext := extents{axisN: rows, axisK: k}
			ext.group(c.params)
			w := only(t, c.format, c.params, tensors(t, c.format, c.params, ext))
			bytes, src := map[string][]byte{}, Memory{}
			rng := rand.New(rand.NewPCG(1, 2))
			for i, x := range w.Tensors {
				b := make([]byte, x.bytes(w.arrays[i]))
				if w.arrays[i].slots[0].role != groups {
					for j := range b {
						b[j] = byte(rng.Uint32())
					}
				}
				bytes[x.Name] = b
				src[x.Name], err = tensor.FromBytes(s, layout.Uint8, b, int64(len(b)))
				require.NoError(t, err)
			}
			defer func() { assert.NoError(t, src.Release()) }()
			if g := src[joined(w.Name, ".g_idx")]; g != nil {
				require.NoError(t, change(g, func(b []byte) {
					for i := range len(b) / 4 {
						b[4*i] = byte(i / 32)
					}
				}))
			}
			plan, err := w.Plan(packed)
			require.NoError(t, err)
			got, err := plan.Run(s, src)
			require.NoError(t, err)
			defer func() { assert.NoError(t, got.Release()) }()
			name := plan.To.Tensors[0].Name
			codes, err := got[name].Bytes()
			require.NoError(t, err)
			all, bits := bytes[w.Tensors[0].Name], c.params.Bits
			require.Len(t, codes, int(rows*k*bits/8))
			for n := range rows {
				for k0 := range int64(k) {
					for bit := range bits {
						if bitOf(codes, bits*(n*k+k0)+bit) != bitOf(all, c.at(n, k0, bit, k, rows)) {
							require.Fail(t, "another bit", "n %d, k %d, bit %d", n, k0, bit)
						}
					}
				}
			}
			if !c.back {
				return
			}
			p := plan.To.Params
			back, err := only(t, packed, p, plan.To.Tensors).Plan(c.format)
			require.NoError(t, err)
			again, err := back.Run(s, got)
			require.NoError(t, err)
			defer func() { assert.NoError(t, again.Release()) }()
			b, err := again[w.Tensors[0].Name].Bytes()
			require.NoError(t, err)
			assert.Equal(t, all, b)
		})
	}
}

func TestEachOf(t *testing.T) {
	for bits := int64(1); bits <= 8; bits++ {
		b := make([]byte, bits*3)
		for i := range b {
			b[i] = byte(i * 37)
		}
		want := make([]byte, len(b))
		for e := range int64(len(b)) * 8 / bits {
			x := byte(0)
			for i := range bits {
				x |= bitOf(b, e*bits+i) << i
			}
			x -= 3
			for i := range bits {
				want[(e*bits+i)/8] |= x >> i & 1 << ((e*bits + i) % 8)
			}
		}
		subtract(b, bits, bits, 3)
		assert.Equal(t, want, b, "%d bits", bits)
	}
}

// TestMovesOfSeveral: digits of which a place has some values, that others cut or not.
func TestMovesOfSeveral(t *testing.T) {
	ext := extents{axisN: 3, axisK: 96}
	var places []place
	for _, s := range gptqCodes(3).slots {
		places = append(places, s.place("x", ext))
	}
	for _, order := range []string{"n k", "k n", "k%8 n k/8", "k%16 n k/16%2 k/32", "k/32 n k%32~"} {
		plain := []place{slot{order: order, pitch: 8, bits: 3}.place("y", ext)}
		check(t, plain, places, ext, 3)
		check(t, places, plain, ext, 3)
	}
	check(t, places, places, ext, 3)
}
