package quant

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// randomWeight is a weight of random kind and shape, with random bytes: of a format that
// has no bits of padding, which no conversion keeps.
func randomWeight(t *testing.T, rng *rand.Rand) (*Weight, map[string][]byte) {
	pick := func(from ...int64) int64 { return from[rng.IntN(len(from))] }
	group := pick(0, 16, 32, 32, 48, 64, 128)
	ext := extents{axisN: pick(1, 3, 8, 24, 40, 64, 128, 192, 256), axisK: pick(32, 64, 96, 128, 160, 192, 256, 320)}
	if group > 0 && rng.IntN(4) > 0 {
		ext[axisK] = group * pick(1, 2, 3, 4, 5)
	}
	p := Params{Bits: pick(2, 3, 4, 4, 4, 4, 8, 8), Group: group, Scale: "F16"}
	var f *Format
	switch rng.IntN(8) {
	case 0, 1, 2:
		f, p.Zeros = packed, rng.IntN(2) == 0 && 8%p.Bits == 0 && (ext[axisK]+max(1, group)-1)/max(1, group)*p.Bits%8 == 0
		if p.Bits == 8 && !p.Zeros {
			p.Signed = rng.IntN(2) == 0
		}
	case 3:
		f, p.Zeros, p.Sorted = gptq, rng.IntN(2) == 0, group > 0 && rng.IntN(2) == 0
	case 4:
		f, p = packed, Params{Bits: pick(1, 2, 3, 4, 8)} // codes alone
	case 5:
		f, p, ext = gptOSS, Params{Bits: 4, Group: 32, Table: "e2m1", Scale: "U8", details: details{Batch: true}}, extents{axisE: pick(1, 3), axisN: ext[axisN], axisK: 32 * pick(1, 2, 3)}
	case 6:
		typ := ggufOrder[rng.IntN(len(ggufOrder))]
		f, p = gguf, ggufBlocks()[typ].params
		p.Blocks, ext[axisK] = typ, 256*pick(1, 2)
	case 7:
		f, p = scalesPlain, Params{Bits: 8, Table: "bytes"}
	}
	ext.group(p)
	if _, err := f.accept(f, p, ext); err != nil {
		return nil, nil
	}
	var all []Tensor
	for i, x := range tensorsIf(f, p, ext) {
		if a := f.arrays(p)[i]; a.has(zeros) && !p.Zeros || a.has(scales) && !a.has(codes) && !a.has(superScales) && p.Scale == "" || x.Type == "" {
			continue
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		return nil, nil
	}
	w := only(t, f, p, all)
	return w, randomBytes(w, rng)
}

// tensorsIf is tensors of a weight that may have none of such a shape.
func tensorsIf(f *Format, p Params, ext extents) (out []Tensor) {
	for _, a := range f.arrays(p) {
		if a.typ == "" {
			out = append(out, Tensor{})
			continue
		}
		dims, err := a.dims(ext)
		if err != nil {
			return nil
		}
		out = append(out, Tensor{joined("w", a.suffix), a.typ, dims, nil})
	}
	return out
}

// asSaid is what files say of a weight beside its tensors.
func asSaid(p Params) Params {
	return Params{Bits: p.Bits, Group: p.Group, Zeros: p.Zeros, ZeroLess: p.ZeroLess, Sorted: p.Sorted, Table: p.Table}
}

// TestThereAndBack: from one format to another, to a third and back, each time opened by
// the tensors' names and what files say, gives the bytes of the first; what does not go is
// an error that says why.
func TestThereAndBack(t *testing.T) {
	s := tensor.Host()
	pairs := map[string]int{}
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w, data := randomWeight(t, rng)
		if w == nil {
			continue
		}
		for _, to := range all {
			if to.numbers {
				continue
			}
			first, got := reopened(t, s, w, data, to, seed)
			if first == nil || padded(w, to) {
				continue
			}
			for range 4 {
				other := all[rng.IntN(len(all))]
				if other.numbers || padded(first, other) {
					continue
				}
				second, more := reopened(t, s, first, got, other, seed)
				if second == nil {
					continue
				}
				third, again := reopened(t, s, second, more, first.Format, seed)
				a, b := first.Params, second.Params
				if b.Group != a.Group || b.Signed != a.Signed || b.Table != a.Table { // scales were repeated, signs turned, codes alone are another table's
					continue
				}
				what := fmt.Sprintf("seed %d: %s %+v %v to %s to %s", seed, w.Format.Name, w.Params, w.ext, to.Name, other.Name)
				require.NotNil(t, third, what)
				pairs[to.Name+" "+other.Name]++
				require.Len(t, third.Tensors, len(first.Tensors), what)
				for i, x := range first.Tensors {
					y := third.Tensors[i] // where names are the source's, of another name
					require.True(t, differ(got[x.Name], again[y.Name]) < 0, "%s: %s", what, x.Name)
				}
			}
		}
	}
	assert.Greater(t, len(pairs), 150)
}

// padded reports whether a format does not say how much of a weight is padding.
func padded(w *Weight, f *Format) bool {
	if f == matMulNBits && w.Params.Group > 0 && w.ext[axisK]%w.Params.Group != 0 {
		return true
	}
	if f == compressedTensors && w.ext[axisK]*w.Params.Bits%32 != 0 { // weight_shape says it, which is not read here
		return true
	}
	return f == tiles128x4 || (f == tritonBlackwell || f == tritonHopper) && (w.ext[axisN]%128 != 0 || w.ext[axisK]%4 != 0)
}

// reopened converts a weight, and opens what it became as a file's. nil: that cannot be.
func reopened(t *testing.T, s *tensor.Stream, w *Weight, data map[string][]byte, to *Format, seed uint64) (*Weight, map[string][]byte) {
	what := fmt.Sprintf("seed %d: %s %+v %v to %s", seed, w.Format.Name, w.Params, w.ext, to.Name)
	plan, err := w.Plan(to)
	if err != nil {
		require.ErrorIs(t, err, layout.ErrUnsupported, what)
		var e *layout.Error
		require.True(t, errors.As(err, &e), what)
		require.NotEmpty(t, e.Msg)
		return nil, nil
	}
	if plan.adapt != nil { // which does not come back
		return nil, nil
	}
	src := upload(t, s, data)
	dst, err := plan.Run(s, src)
	require.NoError(t, src.Release())
	require.NoError(t, err, what)
	out := download(t, dst)
	require.NoError(t, dst.Release())
	if to == tiles128x4 {
		return plan.To, out
	}
	weights, rest, err := Find(plan.To.Format, asSaid(plan.To.Params), plan.To.Tensors)
	require.NoError(t, err, what)
	require.Len(t, weights, 1, what)
	require.Empty(t, rest, what)
	return weights[0], out
}
