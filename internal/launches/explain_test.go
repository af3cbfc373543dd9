package launches

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
)

var h100 = planner.Target{Multiprocessors: 132, Capability: 90}

// chosen is the candidate that is chosen.
func chosen(t *testing.T, e *backend.Explanation) backend.Candidate {
	t.Helper()
	i := slices.IndexFunc(e.Candidates, func(c backend.Candidate) bool { return c.Chosen })
	require.GreaterOrEqual(t, i, 0, "%v", e)
	return e.Candidates[i]
}

// TestExplain: each planner is chosen for some case.
func TestExplain(t *testing.T) {
	cpu := planner.Target{CPU: true}
	for _, c := range []struct {
		name            string
		target          planner.Target
		planner, kernel string
	}{
		{"copy/float/4096x4096/dst=4096,1@0/src=1,4096@0", cpu, "blocks", "block.32"},
		{"copy/int4/512x512/dst=512,1@0/src=1,512@0", cpu, "transposition", "transpose.4"},
		{"copy/float/4096x4096/dst=4096,1@0/src=1,4096@0", h100, "transposition", "tile.32"},
		{"copy/uint8/4096x4096/dst=4096,1@0/src=1,4096@0", h100, "transposition", "transpose.8"},
		{"copy/uint4/2048x8x28672/dst=229376,28672,1@0/src=229376,1,8@0", h100, "permutation", "permute.4"},
		{"copy/float/7x31/dst=31,1@0/src=1,7@16", h100, "shuffle", "shuffle.32"},
		{"copy/uint8/65536x17x19/dst=323,19,1@0/src=323,1,17@0", h100, "batch", "batch.8"},
		{"copy/float/4200x12x3/dst=72,6,1@0/src=0,17,1@1", h100, "spread", "spread.32"},
		{"copy/int2/7x127x11/dst=1397,11,1@0/src=0,0,1@0", h100, "stamp", "stamp.2"},
		{"copy/bit/1000000/dst=3@0/src=2@0", h100, "fields", "field.1"},
		{"copy/uint8/4096x8191/dst=8191,1@0/src=8192,1@3", h100, "words", "run.8"},
		{"copy/float/429/dst=1@126/src=1@0", h100, "chunks", "run.16"},
		{"copy/float/1000/dst=1@0/src=3@0", h100, "elements", "element.32"},
		{"fill/uint8/1001/dst=1@0", h100, "words", "gather.8"},
		{"fill/float/1000000/dst=2@0", h100, "elements", "fill.32"},
		{"convert/int4-int8/1000/dst=1@0/src=1@0", h100, "words", "repack.8"},
		{"convert/float16-float/64x1024/dst=1024,1@0/src=1024,1@0", h100, "rows", "denseCast.32"},
		{"convert/float-float16/2x4096x4096/dst=16777216,4096,1@0/src=16777216,1,4096@0", h100, "transposition", "transposedCast.16"},
		{"convert/int8-float16/4x4096x4096/dst=16777216,4096,1@0/src=16777216,1,4096@0", h100, "columns", "columnCast.16"},
		{"convert/int8-float16/32800x33x31/dst=1023,31,1@0/src=1023,1,33@0", h100, "matrices", "batchedCast.16"},
		{"convert/float16-float/1000/dst=1@0/src=3@0", h100, "elements", "cast.32"},
		{"take/float/1024x60/dst=60,1@0/src=0,1@0/at=1,0@0/int64/by=0:4096:60/wrong=0", h100, "rows", "take.128"},
		{"take/uint8/1024x67/dst=67,1@0/src=0,1@0/at=1,0@0/int64/by=0:4096:67/wrong=0", h100, "join", "join.8"},
		{"take/float/64x8192/dst=8192,1@0/src=50000,0@0/at=0,1@0/int64/by=0:50000:1/wrong=0", h100, "columns", "take.32"},
		{"take/float/8192/dst=1@0/src=0@0/at=1@0/int64/by=0:4096:1/wrong=0", h100, "picks", "picks.32"},
		{"take/double/8192/dst=1@0/src=0@0/at=1@0/int64/by=0:4096:1/wrong=0", h100, "elements", "pick.64"},
		{"put/int32/1024/dst=0@0/src=1@0/at=1@0/int64/by=0:4096:1/wrong=0/add", h100, "reduce", "reduce.32"},
		{"put/float/1024/dst=0@0/src=1@0/at=1@0/int64/by=0:4096:1/wrong=0/add", h100, "fold", "fold.32"},
		{"where/float/64x1024/dst=1024,1@0/src=1024,1@0/b=0,0@0/cond=1024,1@0", h100, "blend", "blend.32"},
		{"dequantize/int8-float/64x1024/dst=1024,1@0/src=1024,1@0/scale=float:1,0@0", h100, "items", "dequantizeCodes.32"},
		{"dequantize/int8-float/64x1023/dst=1023,1@0/src=1023,1@0/scale=float:1,0@0", h100, "elements", "dequantize.32"},
	} {
		o, err := oracle.ParseCase(c.name)
		require.NoError(t, err, c.name)
		e, err := Explain(o, c.target)
		require.NoError(t, err, c.name)
		got := chosen(t, &e)
		assert.Equal(t, c.planner, got.Planner, c.name)
		assert.Equal(t, c.kernel, got.Kernel, c.name)
		assert.Equal(t, c.kernel, e.Kernel, c.name)
	}
}

// TestExplainRandom: explanations are of the launches that operations get, with one candidate that
// is chosen and reasons against the others; every planner refuses some operations.
func TestExplainRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 6))
	refused := map[string]int{}
	for range 4000 {
		o := oracle.Random(rng, oracle.Limits{MaxBytes: 1 << 20})
		for _, target := range []planner.Target{h100, {CPU: true}} {
			l, planErr := Of(o, target)
			e, err := Explain(o, target)
			if planErr != nil {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, l.Class, e.Class)
			require.Equal(t, l.Kernel(), e.Kernel)
			if l.Groups == 0 {
				require.Empty(t, e.Candidates, "%v", o)
				continue
			}
			require.Equal(t, e.Kernel, chosen(t, &e).Kernel)
			for _, c := range e.Candidates {
				require.Equal(t, c.Chosen, c.Why == "", "%v: %v", o, c)
				name := string(o.Op) + " " + c.Planner
				refused[name] += 0
				if c.Kernel == "" {
					refused[name]++
				}
			}
		}
	}
	for name, n := range refused {
		always := strings.HasSuffix(name, " elements") || slices.Contains([]string{"quantize blocks", "put fold"}, name)
		require.True(t, always || n > 0, "%s never refuses", name)
	}
}
