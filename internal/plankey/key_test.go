package plankey_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/plankey"
	"github.com/restride/restride/layout"
)

func must(l layout.Layout, err error) layout.Layout {
	if err != nil {
		panic(err)
	}
	return l
}

// randomSides makes layouts of one shape, with ranks beyond a layout's inline storage.
func randomSides(r *rand.Rand) (sides [3]layout.Layout) {
	dims := make([]int64, r.IntN(11))
	for i := range dims {
		dims[i] = 1 + r.Int64N(3)
	}
	for k := range sides {
		l := must(layout.Contiguous(dims...))
		if n := len(dims); n > 0 && r.IntN(2) == 0 {
			axis := r.IntN(n)
			l = must(l.Slice(axis, -1, -dims[axis]-1, -1))
		}
		sides[k] = must(l.Rebase(l.Offset() + r.Int64N(200)))
	}
	return sides
}

// TestKey: a call has the key of another exactly if extents, strides and indices are
// the same, and the offsets of dst and src modulo the period.
func TestKey(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	by := []layout.Index{{Extent: 5, Stride: 7}, {Offset: 3, Extent: 2, Stride: 1}}
	same, others := 0, 0
	for range 5000 {
		a := randomSides(r)
		var copies, takes plankey.Key
		copies.Set(nil, &a[0], &a[1])
		takes.Set(by, &a[0], &a[1], &a[2])
		require.True(t, copies.Is(nil, &a[0], &a[1]))
		require.True(t, takes.Is(by, &a[0], &a[1], &a[2]))
		require.False(t, copies.Is(by, &a[0], &a[1], &a[2]))
		require.False(t, takes.Is(nil, &a[0], &a[1]))
		require.False(t, takes.Is(by[:1], &a[0], &a[1], &a[2]))
		require.False(t, takes.Is([]layout.Index{by[0], {Offset: 3, Extent: 2, Stride: 2}}, &a[0], &a[1], &a[2]))

		b := [3]layout.Layout{
			must(a[0].Rebase(a[0].Offset() + plankey.Period*r.Int64N(5))),
			must(a[1].Rebase(a[1].Offset() + plankey.Period*r.Int64N(1<<40))),
			must(a[2].Rebase(a[2].Offset() + r.Int64N(99))),
		}
		require.True(t, copies.Is(nil, &b[0], &b[1]), "%v %v", a, b)
		require.True(t, takes.Is(by, &b[0], &b[1], &b[2]), "%v %v", a, b)
		require.Equal(t, plankey.Hash(nil, &a[0], &a[1]), plankey.Hash(nil, &b[0], &b[1]))

		require.Equal(t, plankey.Hash(by, &a[0], &a[1], &a[2]), plankey.Hash(by, &b[0], &b[1], &b[2]))
		require.NotEqual(t, plankey.Hash(by, &a[0], &a[1], &a[2]), plankey.Hash(by[:1], &a[0], &a[1], &a[2]))

		// The plan of one is the plan of all, except for offsets.
		width := 1 << (1 + r.IntN(6))
		var wide [2]int
		var planned [2][2]layout.Layout
		for k, from := range [2][3]layout.Layout{a, b} {
			d, s := from[0], from[1]
			layout.Simplify(&d, &s)
			wide[k] = layout.Widen(width, 128, &d, &s)
			planned[k] = [2]layout.Layout{d, s}
		}
		require.Equal(t, wide[0], wide[1])
		for side := range 2 {
			require.True(t, planned[0][side].SameAxes(&planned[1][side]))
			moved := (b[side].Offset() - a[side].Offset()) / int64(wide[0]/width)
			require.Equal(t, planned[0][side].Offset()+moved, planned[1][side].Offset())
		}

		// Other calls have other keys.
		switch c := randomSides(r); r.IntN(4) {
		case 0:
			b = c
		case 1:
			b[1] = must(a[1].Rebase(a[1].Offset() + r.Int64N(130)))
		case 2:
			b[2] = c[2]
		case 3:
			if a[2].SameShape(&c[2]) {
				b[0] = c[0]
			}
		}
		pair := true
		for k := range 2 {
			pair = pair && a[k].SameShape(&b[k]) && (a[k].Offset()-b[k].Offset())%plankey.Period == 0
			for i := range min(a[k].Rank(), b[k].Rank()) {
				pair = pair && a[k].Stride(i) == b[k].Stride(i)
			}
		}
		require.Equal(t, pair, copies.Is(nil, &b[0], &b[1]), "%v %v", a, b)
		require.Equal(t, pair && a[2].SameAxes(&b[2]), takes.Is(by, &b[0], &b[1], &b[2]), "%v %v", a, b)
		if pair {
			same++
		} else {
			others++
		}
	}
	require.Greater(t, same, 100)
	require.Greater(t, others, 1000)
}

// TestHashSpreads: hashes spread the pairs that a program has.
func TestHashSpreads(t *testing.T) {
	var sets [16]int
	n := 0
	for rows := int64(1); rows < 40; rows++ {
		for cols := int64(1); cols < 40; cols++ {
			l := must(layout.Contiguous(rows, cols))
			m := must(must(layout.Contiguous(cols, rows)).Permute(1, 0))
			sets[plankey.Hash(nil, &l, &m)>>60]++
			n++
		}
	}
	for set, have := range sets {
		require.InDelta(t, n/16, have, float64(n)/16/2, "set %d", set)
	}
}
