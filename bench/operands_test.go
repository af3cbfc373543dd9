package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/bench/cases"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// parse reads the name of an operation.
func parse(t *testing.T, name string) oracle.Case {
	t.Helper()
	c, err := oracle.ParseCase(name)
	require.NoError(t, err, name)
	return c
}

// No case needs or touches much more memory than it moves.
func TestMemory(t *testing.T) {
	for _, c := range cases.All() {
		for _, size := range []int64{1, 1000, 64 << 10, 1 << 20, cases.Reference, 4 * cases.Reference, 1 << 36} {
			at, err := c.At(size)
			require.NoError(t, err)
			logical, err := cases.LogicalBytes(at)
			require.NoError(t, err)
			dst, src, indices := at.Sizes()
			assert.LessOrEqual(t, dst+src+indices, 5*logical+1<<10, "%s at %d", c.Name, size)
			read, written := cases.Touched(at, 32)
			assert.Positive(t, read+written)
			assert.LessOrEqual(t, max(read, written), 4*logical+1<<10, "%s at %d", c.Name, size)
		}
	}
}

// Indices are in range, and the same for the same seed.
func TestIndices(t *testing.T) {
	for _, c := range cases.All() {
		if c.Op != oracle.OpTake {
			continue
		}
		for _, width := range []layout.DType{layout.Int32, layout.Int64} {
			at, err := c.At(256 << 10)
			require.NoError(t, err)
			at.AtType = width
			_, _, size := at.Sizes()
			drawn := indices(at, size, 1)
			assert.Equal(t, drawn, indices(at, size, 1))
			assert.NotEqual(t, drawn, indices(at, size, 2))
			named := map[int64]bool{}
			taken := int64(0)
			wrong := oracle.Take(at.Dst, at.Src, at.At, drawn, width, at.By, func(_, q int64) {
				named[q] = true
				taken++
			})
			assert.Empty(t, wrong)
			assert.Equal(t, at.Dst.Count(), taken)
			// Out of twice as many, that many draws select a share of 1-1/sqrt(e).
			assert.InEpsilon(t, .787*float64(taken), float64(len(named)), .15, c.Name)
		}
	}
}
