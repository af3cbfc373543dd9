package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/bench/cases"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/layout"
)

// parse reads the name of an operation.
func parse(t *testing.T, name string) oracle.Case {
	t.Helper()
	c, err := oracle.ParseCase(name)
	require.NoError(t, err, name)
	return c
}

// No case takes or touches much more memory than it moves.
func TestMemory(t *testing.T) {
	for _, c := range cases.All() {
		for _, size := range []int64{1, 1000, 64 << 10, 1 << 20, cases.Reference, 4 * cases.Reference, 1 << 36} {
			at, err := c.At(size)
			require.NoError(t, err)
			logical, err := cases.LogicalBytes(at)
			require.NoError(t, err)
			dst, src, indices := at.Sizes()
			assert.LessOrEqual(t, dst+src+indices, 5*logical+1<<10, "%s at %d", c.Name, size)
			touched := touchedBytes(at, 32)
			assert.Positive(t, touched)
			assert.LessOrEqual(t, touched, 4*logical+1<<10, "%s at %d", c.Name, size)
		}
	}
}

// Touched bytes, counted one by one.
func TestTouchedBytes(t *testing.T) {
	for name, want := range map[string]int64{
		"copy/float/8/dst=1@0/src=1@0":               32 + 32,
		"copy/float/1000/dst=1@0/src=0@7":            4000 + 32, // read once
		"copy/float/1024/dst=1@0/src=2@0":            4096 + 8192,
		"copy/float/1024/dst=1@0/src=-2@2046":        4096 + 8192,
		"copy/float/1024/dst=1@0/src=100@0":          4096 + 1024*32, // a sector each
		"copy/float/16x64/dst=64,1@0/src=1024,1@0":   4096 + 4096,
		"copy/float/64x64/dst=64,1@0/src=1,64@0":     16384 + 16384,
		"convert/int4-int8/64/dst=1@0/src=1@0":       64 + 32,
		"copy/uint8/0x5/dst=0,0@0/src=0,0@0":         0,
		"copy/uint8/scalar/dst=@0/src=@3":            64,
		"copy/float/4x8x8/dst=64,8,1@0/src=0,1,8@0":  1024 + 256,
		"copy/uint8/64x100/dst=100,1@0/src=1000,1@0": 6400 + 64*128,
		"fill/float/64/dst=2@0":                      512,
		// 8 rows of 64 bytes, of 100 or of 2; an index for each
		"take/float/8x16/dst=16,1@0/src=0,1@0/at=1,0@0/int64/by=0:100:16/wrong=0": 512 + 512 + 64,
		"take/float/8x16/dst=16,1@0/src=0,1@0/at=1,0@0/int64/by=0:2:16/wrong=0":   512 + 128 + 64,
		// 128 elements, of rows of 1000 or of 16; an index for each
		"take/float/8x16/dst=16,1@0/src=1000,0@0/at=16,1@0/int64/by=0:1000:1/wrong=0": 512 + 128*32 + 1024,
		"take/float/8x16/dst=16,1@0/src=16,0@0/at=16,1@0/int64/by=0:16:1/wrong=0":     512 + 512 + 1024,
	} {
		assert.Equal(t, want, touchedBytes(parse(t, name), 32), name)
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
			// Of twice as many, so many draws name 1-1/sqrt(e).
			assert.InEpsilon(t, .787*float64(taken), float64(len(named)), .15, c.Name)
		}
	}
}
