package quant

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/tensor"
)

// randomBlocks is a weight of GGUF's blocks with random bytes.
func randomBlocks(t *testing.T, typ string, n, k int64) (*Weight, map[string][]byte) {
	w := only(t, gguf, Params{}, []Tensor{{"w.weight", typ, []int64{n, k}, nil}})
	b := make([]byte, w.Tensors[0].bytes(w.arrays[0]))
	rng := rand.New(rand.NewPCG(8, 9))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return w, map[string][]byte{"w.weight": b}
}

// thereAndBack converts to a format, compares, and converts back.
func thereAndBack(t *testing.T, w *Weight, data map[string][]byte, to *Format, want []byte) {
	s := tensor.Host()
	p, err := w.Plan(to)
	require.NoError(t, err)
	got := converted(t, s, p, data)
	assert.True(t, differ(want, got["w.weight"]) < 0, to.Name)
	back, err := only(t, to, Params{Group: -1}, p.To.Tensors).Plan(gguf)
	require.NoError(t, err)
	assert.Equal(t, w.Tensors, back.To.Tensors)
	assert.True(t, differ(data["w.weight"], converted(t, s, back, got)["w.weight"]) < 0, "back from %s", to.Name)
}

// TestInterleavedQ40: the scales of some rows, then so many bytes of each in turn, with the
// highest bit of each code turned.
func TestInterleavedQ40(t *testing.T) {
	const n, k = 16, 96
	w, data := randomBlocks(t, "Q4_0", n, k)
	block := func(row, i int) []byte { return data["w.weight"][18*(row*k/32+i):][:18] }
	for _, c := range []struct {
		format      *Format
		rows, bytes int
	}{{q40x4x4, 4, 4}, {q40x4x8, 4, 8}, {q40x8x8, 8, 8}} {
		var want []byte
		for first := 0; first < n; first += c.rows {
			for i := range k / 32 {
				for row := range c.rows {
					want = append(want, block(first+row, i)[:2]...)
				}
				for at := 0; at < 16; at += c.bytes {
					for row := range c.rows {
						for _, b := range block(first+row, i)[2+at:][:c.bytes] {
							want = append(want, b^0x88)
						}
					}
				}
			}
		}
		thereAndBack(t, w, data, c.format, want)
	}
}

// TestInterleavedQ4K: scales and minima of 6 bits of 8 rows in 12 bytes for each group.
func TestInterleavedQ4K(t *testing.T) {
	const n, k = 16, 512
	w, data := randomBlocks(t, "Q4_K", n, k)
	var want []byte
	for first := 0; first < n; first += 8 {
		for i := range k / 256 {
			row := func(r int) []byte { return data["w.weight"][144*((first+r)*k/256+i):][:144] }
			for at := 0; at < 4; at += 2 {
				for r := range 8 {
					want = append(want, row(r)[at:at+2]...)
				}
			}
			for g := range 8 {
				var scale, least [8]byte
				for r := range 8 {
					b := row(r)[4:16]
					if g < 4 {
						scale[r], least[r] = b[g]&63, b[g+4]&63
					} else {
						scale[r], least[r] = b[g+4]&15|b[g-4]>>6<<4, b[g+4]>>4|b[g]>>6<<4
					}
				}
				for _, x := range [][8]byte{scale, least} {
					for r := range 4 {
						want = append(want, x[r]|x[r+4]>>4<<6)
					}
				}
				for r := range 4 {
					want = append(want, scale[r+4]&15|least[r+4]<<4)
				}
			}
			for at := 16; at < 144; at += 8 {
				for r := range 8 {
					want = append(want, row(r)[at:at+8]...)
				}
			}
		}
	}
	thereAndBack(t, w, data, q4Kx8x8, want)
}
