package quant

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/tensor"
)

// TestNumbersOfPairs: what a weight becomes stands for the same numbers.
func TestNumbersOfPairs(t *testing.T) {
	s := tensor.Host()
	pairs := 0
	for _, from := range samples() {
		w, data := from.open(t, rand.New(rand.NewPCG(5, 6)))
		plan, err := w.Plan(floats32)
		if err != nil {
			continue
		}
		for _, scale := range []string{"w.scales", "w.weight_scale"} { // no NaN
			for i := 1; i < len(data[scale]); i += 2 {
				data[scale][i] &= 0xBB
			}
		}
		want := converted(t, s, plan, data)
		for _, to := range all {
			p, err := w.Plan(to)
			if err != nil || to.numbers || p.adapt != nil || from.format == gptOSS { // ggml's zeros have no sign
				continue
			}
			plain := floats32
			if strings.HasPrefix(to.suffix, "_") { // which is transposed
				plain = floats
			}
			numbers, err := p.To.Plan(plain)
			require.NoError(t, err, "%s to %s", from.format.Name, to.Name)
			got := converted(t, s, numbers, converted(t, s, p, data))
			require.Len(t, got, 1)
			for _, b := range got {
				require.True(t, differ(want[plan.To.Tensors[0].Name], b) < 0, "%s to %s", from.format.Name, to.Name)
			}
			pairs++
		}
	}
	assert.Greater(t, pairs, 40)
}

// converted runs a plan on bytes.
func converted(t *testing.T, s *tensor.Stream, p *Plan, data map[string][]byte) map[string][]byte {
	src := upload(t, s, data)
	dst, err := p.Run(s, src)
	require.NoError(t, err)
	out := download(t, dst)
	require.NoError(t, src.Release())
	require.NoError(t, dst.Release())
	return out
}
