package planner_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// What random operations on some types need is among their kernels.
func TestKernelsOfTypes(t *testing.T) {
	for _, target := range []planner.Target{parallel, cpu} {
		all := target.Kernels()
		for _, types := range [][]layout.DType{
			{layout.Float32}, {layout.Int4, layout.Int8}, {layout.Float16, layout.Float32, layout.Float4E2M1},
			{layout.Uint2, layout.Complex128}, {layout.BFloat16, layout.Float64, layout.Int64}, {layout.Bit},
		} {
			some := target.Kernels(types...)
			assert.Less(t, len(some), len(all))
			rng := rand.New(rand.NewPCG(1, 2))
			for range 3000 {
				c := oracle.Random(rng, oracle.Limits{MaxBytes: 1 << 16, Types: types})
				l, err := launches.Of(c, target)
				require.NoError(t, err, "%v", c)
				scaled := c.Op == oracle.OpDequantize || c.Op == oracle.OpQuantize
				listed := slices.Contains(types, c.DstType) && (!scaled || len(types) > 1) && (c.Op != oracle.OpConvert || slices.Contains(types, c.SrcType))
				if listed && l.Groups > 0 && !l.Spec.ManyAxes {
					require.True(t, slices.Contains(some, l.Spec), "%v: %v", c, l.Spec)
				}
			}
		}
	}
	assert.NotContains(t, parallel.Kernels(layout.Float32), planner.Spec{Form: planner.Element, DstBits: 16, SrcBits: 16})
	assert.NotContains(t, parallel.Kernels(layout.Float32), planner.Spec{Form: planner.TransposedCast, DstBits: 32, SrcBits: 32})
}
