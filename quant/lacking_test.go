package quant

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/layout"
	"github.com/restride/restride/tensor"
)

// TestRunLacking: a conversion says which of the weight's tensors it was not given, unless
// only views would be made of it.
func TestRunLacking(t *testing.T) {
	s, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	tensor.CheckLeaks(t, s)
	lacking := func(p *Plan, src Memory) {
		t.Helper()
		dst, err := p.Run(s, src)
		if err == nil {
			for i, x := range p.To.Tensors {
				_, view := p.views[x.Name]
				require.True(t, view || dst[x.Name] != nil, "%s to %s: %d", p.From.Format.Name, p.To.Format.Name, i)
			}
			require.NoError(t, dst.Release())
			return
		}
		require.ErrorIs(t, err, layout.ErrInvalid)
		require.ErrorContains(t, err, "is missing")
	}
	weights := []*Weight{only(t, floats, Params{}, []Tensor{{"w.weight", "F32", []int64{4, 64}, nil}})}
	bytes := []map[string][]byte{{"w.weight": make([]byte, 4*64*4)}}
	for _, from := range samples() {
		w, data := from.open(t, rand.New(rand.NewPCG(7, 8)))
		weights, bytes = append(weights, w), append(bytes, data)
	}
	for i, w := range weights {
		src := upload(t, s, bytes[i])
		for _, to := range all {
			p, err := w.Plan(to)
			if err != nil {
				continue
			}
			lacking(p, nil)
			for name := range src {
				rest := maps.Clone(src)
				delete(rest, name)
				lacking(p, rest)
			}
		}
		require.NoError(t, src.Release())
	}
}
