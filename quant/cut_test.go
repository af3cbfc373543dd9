package quant

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// sample is a weight of a format, with room for cuts along every axis.
type sample struct {
	format *Format
	params Params
}

func samples() []sample {
	with := func(p Params) Params { p.Scale = "F16"; return p }
	return []sample{
		{gptq, with(Params{Bits: 4, Group: 32, Zeros: true, ZeroLess: true})},
		{gptq, with(Params{Bits: 8, Group: 64})},
		{gptq, with(Params{Bits: 4, Group: 32, Sorted: true})},
		{gptq, with(Params{Bits: 2})},
		{awq, with(Params{Bits: 4, Group: 32, Zeros: true})},
		{packed, with(Params{Bits: 4, Group: 32, Zeros: true})},
		{matMulNBits, with(Params{Bits: 4, Group: 32, Zeros: true})},
		{compressedTensors, with(Params{Bits: 4, Group: 32})},
		{gptOSS, Params{Bits: 4, Group: 32, Table: "e2m1", Scale: "U8", details: details{Batch: true}}},
		{gguf, Params{Bits: 4, Group: 32, Scale: "F16", details: details{Blocks: "Q4_0"}}},
		{gguf, Params{Bits: 4, Group: 32, Scale: "U8", Table: "e2m1", details: details{Blocks: "MXFP4", Batch: true}}},
		{hqq, Params{Bits: 4, details: details{Part: 128}}},
		{scalesPlain, Params{Bits: 8}},
		{tilePacked, Params{Bits: 4, details: details{Tiles: 4}}},
	}
}

// open returns the weight and random bytes of its tensors; rows of k belong to groups in
// some order.
func (s sample) open(t *testing.T, rng *rand.Rand) (*Weight, map[string][]byte) {
	ext := extents{axisE: 3, axisN: 256, axisK: 320}
	if s.params.Table == "" {
		delete(ext, axisE)
	}
	if s.format == tilePacked {
		ext[axisK] = 512
	}
	ext.group(s.params)
	all := tensors(t, s.format, s.params, ext)
	w := only(t, s.format, s.params, all)
	return w, randomBytes(w, rng)
}

// randomBytes are those of a weight's tensors.
func randomBytes(w *Weight, rng *rand.Rand) map[string][]byte {
	data := map[string][]byte{}
	for i, x := range w.Tensors {
		b := make([]byte, x.bytes(w.arrays[i]))
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		if w.arrays[i].has(groups) {
			for k := range len(b) / 4 {
				copy(b[4*k:], []byte{byte(int64(k) / cmp.Or(w.Params.Group, w.ext[axisK])), 0, 0, 0})
			}
			if w.Params.Sorted {
				rng.Shuffle(len(b)/4, func(i, j int) { b[4*i], b[4*j] = b[4*j], b[4*i] })
			}
		}
		if w.arrays[i].has(shape) {
			clear(b)
			binary.LittleEndian.PutUint64(b, uint64(w.ext[axisN]))
			binary.LittleEndian.PutUint64(b[8:], uint64(w.ext[axisK]))
		}
		data[x.Name] = b
	}
	return data
}

// upload and download are a weight's bytes on and from a device.
func upload(t *testing.T, s *tensor.Stream, data map[string][]byte) Memory {
	m := Memory{}
	for name, b := range data {
		x, err := tensor.FromBytes(s, layout.Uint8, b, int64(len(b)))
		require.NoError(t, err)
		m[name] = x
	}
	return m
}

func download(t *testing.T, m Memory) map[string][]byte {
	out := map[string][]byte{}
	for name, x := range m {
		b, err := x.Bytes()
		require.NoError(t, err)
		out[name] = b
	}
	return out
}

// TestCut: pieces of every size give what the whole gives, and write every byte once.
func TestCut(t *testing.T) {
	s := tensor.Host()
	plans, cuts := 0, map[byte]int{}
	for _, from := range samples() {
		rng := rand.New(rand.NewPCG(1, 2))
		w, data := from.open(t, rng)
		for _, to := range all {
			p, err := w.Plan(to)
			if err != nil {
				continue
			}
			plans++
			src := upload(t, s, data)
			dst, err := p.Run(s, src)
			if p.adapt != nil && err != nil { // random scales are not exact
				require.ErrorContains(t, err, "a number is")
				require.NoError(t, src.Release())
				continue
			}
			require.NoError(t, err)
			want := download(t, dst)
			require.NoError(t, src.Release())
			require.NoError(t, dst.Release())
			for _, most := range []int64{p.Least(), (p.Least() + p.Cost().Memory) / 2, p.Cost().Memory - 1} {
				pieces, err := p.Cut(most)
				if p.Least() == p.Cost().Memory && most < p.Least() {
					require.ErrorContains(t, err, "are allowed")
					continue
				}
				require.NoError(t, err, "%s to %s", w.Format.Name, to.Name)
				cuts[pieces.cut.axis]++
				require.Equal(t, want, convertPieces(t, s, pieces, data, want, most), "%s to %s by pieces of %d", w.Format.Name, to.Name, most)
			}
		}
	}
	assert.Greater(t, plans, 40)
	for _, axis := range []byte{axisE, axisN, axisK} {
		assert.Positive(t, cuts[axis], string(axis))
	}
}

// convertPieces converts by pieces.
func convertPieces(t *testing.T, s *tensor.Stream, pieces *Pieces, data, like map[string][]byte, most int64) map[string][]byte {
	out, written := map[string][]byte{}, map[string]int{}
	for name, b := range like {
		out[name] = make([]byte, len(b))
	}
	for i := range pieces.Len {
		p := pieces.At(i)
		require.LessOrEqual(t, p.Cost().Memory, most)
		src := upload(t, s, partOf(p, data))
		dst, err := p.Run(s, src)
		require.NoError(t, err)
		if _, err := p.Back(); err == nil && (p.From.Format != gptq || p.From.Params.Zeros) { // zero points that are denied are random
			require.NoError(t, p.Check(s, src, dst), "%s to %s, piece %d of %d", p.From.Format.Name, p.To.Format.Name, i, pieces.Len)
		}
		for name, b := range download(t, dst) {
			for j, x := range p.To.Tensors {
				if r := p.Dst[j]; x.Name == name && r.Count > 0 {
					require.Len(t, b, int(r.Size()))
					written[name] += len(b)
					for n := range r.Count {
						copy(out[name][r.At+n*r.Step:], b[n*r.Bytes:][:r.Bytes])
					}
				}
			}
		}
		require.NoError(t, src.Release())
		require.NoError(t, dst.Release())
	}
	for name, b := range like {
		require.Equal(t, len(b), written[name], name)
	}
	return out
}

// partOf returns the bytes of a piece's source.
func partOf(p Piece, data map[string][]byte) map[string][]byte {
	part := map[string][]byte{}
	for j, r := range p.Src {
		name := p.From.Tensors[j].Name
		part[name] = []byte{}
		for n := range r.Count {
			part[name] = append(part[name], data[name][r.At+n*r.Step:][:r.Bytes]...)
		}
	}
	return part
}

// TestCheck: the way back gives the source, and a byte that is wrong is found.
func TestCheck(t *testing.T) {
	s := tensor.Host()
	checked := 0
	for _, from := range samples() {
		rng := rand.New(rand.NewPCG(3, 4))
		w, data := from.open(t, rng)
		for _, to := range all {
			p, err := w.Plan(to)
			if err != nil {
				continue
			}
			if _, err := p.Back(); err != nil {
				require.ErrorIs(t, err, layout.ErrUnsupported)
				continue
			}
			src := upload(t, s, data)
			dst, err := p.Run(s, src)
			require.NoError(t, err)
			err = p.Check(s, src, dst)
			if w.Format == gptq && !w.Params.Zeros {
				// The zero points are random, where the parameters say that there are none.
				require.ErrorIs(t, err, ErrDiffers)
				require.ErrorContains(t, err, `"w.qzeros"`)
			} else {
				require.NoError(t, err, "%s to %s", w.Format.Name, to.Name)
				checked++
				wrong := data[w.Tensors[0].Name]
				wrong[len(wrong)-1]++
				other := upload(t, s, data)
				wrong[len(wrong)-1]--
				require.ErrorContains(t, p.Check(s, other, dst), "other bytes")
				require.NoError(t, other.Release())
			}
			require.NoError(t, src.Release())
			require.NoError(t, dst.Release())
		}
	}
	assert.Greater(t, checked, 25)
}

// TestViews: what lies the same is a view, which nothing has to move for.
func TestViews(t *testing.T) {
	for from, want := range map[sample]map[*Format]int{
		{compressedTensors, Params{Bits: 4, Group: 32, Scale: "F16"}}: {packed: 2, gptq: 0},
		{packed, Params{Bits: 4, Group: 32, Scale: "F16"}}:            {packed: 2, matMulNBits: 2, compressedTensors: 2},
		{hqq, Params{Bits: 4, details: details{Part: 128}}}:           {packed: 0},
	} {
		w, _ := from.open(t, rand.New(rand.NewPCG(1, 2)))
		for to, n := range want {
			p, err := w.Plan(to)
			require.NoError(t, err)
			assert.Equal(t, n, p.Cost().Views, "%s to %s", w.Format.Name, to.Name)
			assert.Equal(t, n == len(p.To.Tensors)-len(p.fills), p.Cost().Moves == 0)
		}
	}
}
