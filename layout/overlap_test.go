package layout_test

import (
	"math"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

func TestOverlapsExactly(t *testing.T) {
	r := random(t)
	var yes, no int
	for range 30000 {
		l, m := anyLayout(r, r.IntN(4), 4), anyLayout(r, r.IntN(4), 4)
		seen := map[int64]bool{}
		for _, p := range tableOf(l).at {
			seen[p] = true
		}
		want := false
		for _, p := range tableOf(m).at {
			want = want || seen[p]
		}
		require.Equal(t, want, l.Overlaps(&m), "%v %v", l, m)
		require.Equal(t, want, m.Overlaps(&l), "%v %v", l, m)
		if want {
			yes++
		} else if len(seen) > 0 {
			no++
		}
	}
	t.Log(yes, "overlap,", no, "do not")
	require.Greater(t, min(yes, no), 3000)
}

// Sparse strides, so that the two interleave and only a search can tell.
func TestOverlapsExactlyWhereTheyInterleave(t *testing.T) {
	r := random(t)
	var yes, no int
	for range 20000 {
		l := randomLayout(r, randomShape(r, 1+r.IntN(3), 4), 40)
		m := randomLayout(r, randomShape(r, 1+r.IntN(3), 4), 40)
		m = must(m.Rebase(m.Offset() + r.Int64N(60)))
		seen := map[int64]bool{}
		for _, p := range tableOf(l).at {
			seen[p] = true
		}
		want := false
		for _, p := range tableOf(m).at {
			want = want || seen[p]
		}
		require.Equal(t, want, l.Overlaps(&m), "%v %v", l, m)
		if want {
			yes++
		} else {
			no++
		}
	}
	require.Greater(t, min(yes, no), 3000)
}

func TestSelfOverlapsExactly(t *testing.T) {
	r := random(t)
	var yes, no int
	for range 30000 {
		l := anyLayout(r, r.IntN(5), 4)
		if r.IntN(2) == 0 {
			l = randomLayout(r, randomShape(r, r.IntN(4), 5), 60)
		}
		at := tableOf(l).at
		seen, want := map[int64]bool{}, false
		for _, p := range at {
			want = want || seen[p]
			seen[p] = true
		}
		require.Equal(t, want, l.SelfOverlaps(), "%v", l)
		if want {
			yes++
		} else if len(at) > 1 {
			no++
		}
	}
	require.Greater(t, min(yes, no), 3000)
}

func TestOverlapsHuge(t *testing.T) {
	all := must(layout.Contiguous(math.MaxInt64))
	even, odd := must(all.Slice(0, 0, math.MaxInt64, 2)), must(all.Slice(0, 1, math.MaxInt64, 2))
	require.True(t, all.Overlaps(&even))
	require.True(t, even.Overlaps(new(even.Reverse())))
	require.False(t, even.Overlaps(&odd))
	require.False(t, odd.Overlaps(&even))
	require.False(t, even.SelfOverlaps())
	back := must(odd.Slice(0, -1, math.MinInt64, -1))
	require.False(t, even.Overlaps(&back))
	require.True(t, odd.Overlaps(&back))
	last := must(layout.Strided(nil, nil, math.MaxInt64-1))
	require.True(t, all.Overlaps(&last))
	require.True(t, even.Overlaps(&last))
	require.False(t, odd.Overlaps(&last))
	square := must(layout.Contiguous(1<<31, 1<<31))
	require.False(t, new(square.Reverse()).SelfOverlaps())
	require.True(t, new(must(must(square.Slice(1, 0, 1, 1)).Expand(1<<31, 1<<31))).SelfOverlaps())
	// The widest step there is.
	two := must(layout.Strided(layout.Shape{2}, []int64{math.MaxInt64}, 0))
	require.False(t, two.SelfOverlaps())
	require.True(t, two.Overlaps(&two))
	require.True(t, two.Overlaps(&all))
}

// Two halves of the columns of a tall matrix: the rows used to exhaust the
// search, and the answer was a false true.
func TestTallHalvesDoNotOverlap(t *testing.T) {
	for _, rows := range []int64{1 << 15, 1 << 20, 1 << 40} {
		m := must(layout.Contiguous(rows, 8192))
		left, right := must(m.Slice(1, 0, 4096, 1)), must(m.Slice(1, 4096, 8192, 1))
		require.False(t, left.Overlaps(&right))
		require.False(t, right.Overlaps(new(left.Reverse())))
		flipped := must(right.Slice(0, -1, math.MinInt64, -1))
		require.False(t, left.Overlaps(&flipped))
		require.True(t, left.Overlaps(new(must(m.Slice(1, 4095, 8192, 1)))))

		quarter := must(layout.Contiguous(rows, 4, 3, 8))
		a, b := must(quarter.Slice(1, 0, 2, 1)), must(quarter.Slice(1, 2, 4, 1))
		require.False(t, a.Overlaps(&b))
		require.False(t, new(must(a.Slice(3, 0, 8, 2))).Overlaps(new(must(a.Slice(3, 1, 8, 2)))))
		require.False(t, a.SelfOverlaps())
	}
}

// Two slices of one big contiguous tensor share what their index sets share on
// every axis. Different steps over many rows used to exhaust the search.
func TestOverlapsOfSlicesOfABigTensor(t *testing.T) {
	r := random(t)
	type pick struct{ first, step, n int64 }
	var yes, no, doubt int
	for range 3000 {
		dims := []int64{1 + r.Int64N(100000), 1 + r.Int64N(5000), 1 + r.Int64N(3000)}
		base := must(layout.Contiguous(dims...))
		var views [2]layout.Layout
		var picks [2][3]pick
		for v := range views {
			l := base
			for axis, d := range dims {
				p := pick{first: r.Int64N(d), step: 1 + r.Int64N(3)}
				p.n = 1 + r.Int64N((d-1-p.first)/p.step+1)
				l = must(l.Slice(axis, p.first, p.first+(p.n-1)*p.step+1, p.step))
				picks[v][axis] = p
			}
			views[v] = must(l.Permute(r.Perm(3)...))
		}
		want := true
		for axis := range dims {
			a, b, shared := picks[0][axis], picks[1][axis], false
			for i := range a.n {
				at := a.first + i*a.step - b.first
				shared = shared || at >= 0 && at%b.step == 0 && at/b.step < b.n
			}
			want = want && shared
		}
		got := views[0].Overlaps(&views[1])
		if want {
			require.True(t, got, "%v %v", views[0], views[1])
			yes++
		} else {
			no++
			if got {
				doubt++
			}
		}
		require.False(t, views[0].SelfOverlaps(), "%v", views[0])
	}
	t.Log(yes, "overlap,", no, "do not,", doubt, "in doubt")
	require.Zero(t, doubt)
}
