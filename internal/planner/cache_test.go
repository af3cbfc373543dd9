package planner_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// TestCache asks in a random order for more launches than the cache keeps, of keys
// that differ in one number: what comes back is what a plan says, with parameters
// that have not been dropped.
func TestCache(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	alive, uploads := map[int]bool{}, 0
	c := planner.NewCache(planner.Target{}, 100, func([]byte) (int, error) {
		uploads++
		alive[uploads] = true
		return uploads, nil
	}, func(n int) {
		require.True(t, alive[n], "dropped twice")
		delete(alive, n)
	})
	type ask struct {
		dst, src layout.Layout
		what     int
	}
	asks := make([]ask, 400)
	for i := range asks {
		rank := rng.IntN(4)
		if i%50 == 0 {
			rank = 9 // more than a layout has room for in itself
		}
		var dims, d, s []int64
		for range rank {
			dims, d, s = append(dims, 3), append(d, 1+rng.Int64N(2)), append(s, 1+rng.Int64N(2))
		}
		asks[i] = ask{strided(dims, d, rng.Int64N(2)*63), strided(dims, s, 1), rng.IntN(7)}
	}
	const rounds = 20_000
	for range rounds {
		some := rng.Float64() // of which some are asked for more often
		a := asks[int(some*some*some*float64(len(asks)))]
		dst, src := a.dst, a.src
		var o *planner.Operation
		switch a.what {
		case 0:
			o = filling(dst, 8)
		case 1, 2:
			o = packing(dst, src, 8, 4, a.what == 1)
		case 5:
			o = casting(dst, src, layout.Uint8, layout.Float8E4M3FN, device.Rounding{}) // of the same widths
		case 6:
			how := device.Rounding{Unsaturated: rng.IntN(2) == 0} // of the same types, by another kernel
			o = casting(dst, src, layout.Float8E4M3FN, layout.Float16, how)
		default:
			o = copying(dst, src, 8<<(a.what-3))
		}
		got, err := c.Get(o)
		want, planErr := planner.Plan(o, planner.Target{})
		require.NoError(t, err)
		require.NoError(t, planErr)
		require.True(t, alive[got.OnDevice], "%v %v: its parameters were dropped", dst, src)
		require.Equal(t, want.Spec, got.Spec, "%v %v", dst, src)
		require.Equal(t, want.Groups, got.Groups, "%v %v", dst, src)
		require.Equal(t, want.Params, got.Params, "%v %v", dst, src)
		require.Equal(t, want.Arguments, got.Arguments, "%v %v", dst, src)
		require.Equal(t, want.Base(planner.Dst, dst.Offset()), got.Base(planner.Dst, dst.Offset()), "%v %v", dst, src)
		require.Equal(t, want.Base(planner.Src, src.Offset()), got.Base(planner.Src, src.Offset()), "%v %v", dst, src)
	}
	require.Less(t, uploads, rounds*3/4, "nothing is found again")
	c.Clear()
	require.Empty(t, alive)
	var l layout.Layout
	for range 2 {
		_, err := c.Get(copying(l, l, 8))
		require.NoError(t, err)
	}
}
