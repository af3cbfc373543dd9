package peers

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// made checks that operators on a dense tensor give the layout.
func made(t *testing.T, d *Recipe, want layout.Layout) {
	t.Helper()
	l, err := layout.Contiguous(d.Dims...)
	require.NoError(t, err)
	for axis, n := range d.Dims {
		require.True(t, 0 <= d.Low[axis] && d.Low[axis] < d.High[axis] && d.High[axis] <= n, "%+v", d)
		start, end := d.Low[axis], d.High[axis]
		if d.Step[axis] < 0 {
			if start, end = d.High[axis]-1, d.Low[axis]-1; end < 0 {
				end = -n - 1
			}
		}
		l, err = l.Slice(axis, start, end, d.Step[axis])
		require.NoError(t, err)
	}
	l, err = l.Permute(d.Perm...)
	require.NoError(t, err)
	l, err = l.Expand(want.Shape()...)
	require.NoError(t, err)
	assert.Equal(t, want.Offset(), l.Offset(), "%v by %+v", want, d)
	for axis := range want.Rank() {
		if want.Dim(axis) > 1 {
			assert.Equal(t, want.Stride(axis), l.Stride(axis), "axis %d of %v by %+v", axis, want, d)
		}
	}
}

// Views of dense tensors, at random, are recognised.
func TestRecipe(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		dims := make([]int64, 1+rng.IntN(5))
		for i := range dims {
			dims[i] = 1 + rng.Int64N(7)
		}
		l, err := layout.Contiguous(dims...)
		require.NoError(t, err)
		last := len(dims) - 1
		for axis, n := range dims {
			from := rng.Int64N(n)
			to := from + 1 + rng.Int64N(n-from)
			step := int64(1)
			if axis == last {
				step += rng.Int64N(2)
			}
			if rng.IntN(3) == 0 {
				l, err = l.Slice(axis, to-1, from-1-n*(1-min(from, 1)), -step)
			} else {
				l, err = l.Slice(axis, from, to, step)
			}
			require.NoError(t, err)
		}
		if rng.IntN(2) == 0 {
			wide := l.Shape()
			for axis, n := range wide {
				if n == 1 {
					wide[axis] = 1 + rng.Int64N(3)
				}
			}
			l, err = l.Expand(wide...)
			require.NoError(t, err)
		}
		l, err = l.Permute(rng.Perm(len(dims))...)
		require.NoError(t, err)
		if d := recipeOf(l); d != nil {
			made(t, d, l)
		} else {
			// Parts may begin further inside than the wider axes have room for.
			assert.NotZero(t, l.Offset(), "%v", l)
		}
	}
}

func TestRecipeIsNotEverything(t *testing.T) {
	for name, l := range map[string]struct {
		dims, strides []int64
		offset        int64
	}{
		"overlap":   {[]int64{4, 4}, []int64{1, 1}, 0},
		"diagonals": {[]int64{4, 4, 4}, []int64{7, 5, 1}, 0},
		"empty":     {[]int64{0, 3}, []int64{3, 1}, 0},
		"one":       {[]int64{1, 1}, []int64{1, 1}, 5},
	} {
		at, err := layout.Strided(l.dims, l.strides, l.offset)
		require.NoError(t, err)
		assert.Nil(t, recipeOf(at), name)
	}
}

// Packed elements become bytes if each byte is moved as a whole.
func TestAsBytes(t *testing.T) {
	for name, want := range map[string]string{
		"copy/int4/2x3x8/dst=24,8,1@0/src=8,16,1@0": "copy/uint8/2x3x4/dst=12,4,1@0/src=4,8,1@0",
		"copy/int2/2x8/dst=8,1@4/src=-8,1@8":        "copy/uint8/2x2/dst=2,1@1/src=-2,1@2",
		"copy/int2/2x6/dst=8,1@0/src=8,1@0":         "",
		"copy/int4/2x8/dst=8,1@1/src=8,1@0":         "",
		"copy/int4/2x8/dst=8,1@0/src=9,1@0":         "",
		"copy/int4/2x8/dst=8,1@0/src=1,2@0":         "",
		"copy/uint8/2x8/dst=8,1@0/src=8,1@0":        "",
		"copy/float/2x3/dst=3,1@0/src=1,2@0":        "",
		"copy/int4/4/dst=1@0/src=1@2":               "copy/uint8/2/dst=1@0/src=1@1",
		"copy/uint4/3x2x2/dst=4,2,1@0/src=0,2,1@10": "copy/uint8/3x2x1/dst=2,1,1@0/src=0,1,1@5",
		"copy/float4e2m1/2x8/dst=8,1@0/src=8,-1@7":  "",
		"copy/float4e2m1/2x8/dst=8,1@0/src=10,1@12": "copy/uint8/2x4/dst=4,1@0/src=5,1@6",
		"copy/int4/1x1x2/dst=1,1,1@0/src=2,2,1@2":   "",
		"copy/int4/1x1x2/dst=2,2,1@0/src=2,2,1@2":   "copy/uint8/1x1x1/dst=1,1,1@0/src=1,1,1@1",
	} {
		c, err := oracle.ParseCase(name)
		if !assert.NoError(t, err, name) {
			continue
		}
		if want == "" {
			want = c.String()
		}
		assert.Equal(t, want, asBytes(c).String(), name)
	}
}
