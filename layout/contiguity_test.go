package layout_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

// anyLayout is small enough for brute force: arbitrary strides, or what views
// make.
func anyLayout(r *rand.Rand, rank int, top int64) layout.Layout {
	if r.IntN(2) == 0 {
		return randomView(r, rank, top)
	}
	return randomLayout(r, randomShape(r, rank, top), 4)
}

func TestExtentFitsIsContiguousIsBroadcast(t *testing.T) {
	r := random(t)
	contiguous := 0
	for range 20000 {
		l := anyLayout(r, r.IntN(5), 4)
		at := tableOf(l).at
		lo, hi, ok := l.Extent()
		require.Equal(t, len(at) > 0, ok)
		if !ok {
			require.True(t, l.IsContiguous())
			require.True(t, l.Fits(0))
			require.False(t, l.IsBroadcast())
			continue
		}
		wantLo, wantHi, inOrder := at[0], at[0], true
		for i, p := range at {
			wantLo, wantHi = min(wantLo, p), max(wantHi, p)
			inOrder = inOrder && p == at[0]+int64(i)
		}
		require.Equal(t, [2]int64{wantLo, wantHi}, [2]int64{lo, hi}, "%v", l)
		require.Equal(t, inOrder, l.IsContiguous(), "%v", l)
		require.False(t, l.Fits(hi), "%v", l)
		require.True(t, l.Fits(hi+1), "%v", l)
		if inOrder {
			contiguous++
		}
		repeated := false
		for axis, d := range l.Shape() {
			same := d > 1
			if d > 1 {
				one := make([]int64, l.Rank())
				one[axis] = 1
				same = l.At(one...) == at[0]
			}
			repeated = repeated || same
		}
		require.Equal(t, repeated, l.IsBroadcast(), "%v", l)
	}
	require.Greater(t, contiguous, 500)
}

func TestFitsAtTheLimits(t *testing.T) {
	l := must(layout.Contiguous(math.MaxInt64))
	require.True(t, l.Fits(math.MaxInt64))
	require.False(t, l.Fits(math.MaxInt64-1))
	require.False(t, l.Fits(-1))
	empty := must(layout.Strided(layout.Shape{0}, []int64{1}, 100))
	require.True(t, empty.Fits(0))
}

// factorRank finds the least rank of any layout that visits the table's
// positions in its order, by trying all.
func factorRank(t table) int {
	for rank := 0; ; rank++ {
		found := false
		factorings(int64(len(t.at)), rank, func(dims []int64) {
			if !found {
				_, found = t.reshape(dims).strides()
			}
		})
		if found {
			return rank
		}
	}
}

func TestCoalesceKeepsOrderAtLeastRank(t *testing.T) {
	r := random(t)
	for range 3000 {
		l := anyLayout(r, r.IntN(5), 3)
		got := l.Coalesce()
		if l.Count() == 0 {
			require.Equal(t, []int64{0}, []int64(got.Shape()))
			require.Equal(t, l.Offset(), got.Offset())
			continue
		}
		from := tableOf(l)
		require.Equal(t, from.at, tableOf(got).at, "%v", l)
		require.Equal(t, factorRank(from), got.Rank(), "%v: %v", l, got)
	}
}

func TestCoalesceHighRank(t *testing.T) {
	r := random(t)
	for _, rank := range []int{9, 12, layout.MaxRank} {
		for range 20 {
			dims := make([]int64, rank)
			for i := range dims {
				dims[i] = 1
			}
			for range 6 {
				dims[r.IntN(rank)] = 2
			}
			l := must(must(layout.Contiguous(dims...)).Permute(r.Perm(rank)...))
			require.Equal(t, tableOf(l).at, tableOf(l.Coalesce()).at)
			require.Equal(t, factorRank(tableOf(l)), new(l.Coalesce()).Rank())
		}
	}
	// Nothing to merge, and still more axes than are held inline.
	dims, strides := make([]int64, 12), make([]int64, 12)
	for i := range dims {
		dims[i], strides[i] = 2, 1<<i
	}
	l := must(layout.Strided(dims, strides, 0))
	require.Equal(t, l.String(), l.Coalesce().String())
}

// stride*extent wraps here; merging by the wrapped product would be wrong.
func TestCoalesceDoesNotMergeByWrappedProducts(t *testing.T) {
	l := must(layout.Strided(layout.Shape{2, 2}, []int64{1, 1 << 62}, 0))
	require.Equal(t, 2, new(l.Coalesce()).Rank())
	l = must(layout.Strided(layout.Shape{2, 2, 2}, []int64{0, 1 << 62, 0}, 0))
	require.Equal(t, []int64{0, 1 << 62, 0}, new(l.Coalesce()).Strides())
	l = must(layout.Strided(layout.Shape{2, 4}, []int64{0, 1 << 61}, 0))
	require.Equal(t, 2, new(l.Coalesce()).Rank())
}

func TestRebase(t *testing.T) {
	r := random(t)
	for range 5000 {
		l := randomLayout(r, randomShape(r, r.IntN(4), 3), 5)
		to := r.Int64N(40) - 4
		if r.IntN(2) == 0 {
			to = math.MaxInt64 - r.Int64N(40)
		}
		want := tableOf(l)
		ok := to >= 0
		for i, p := range want.at {
			back := p - l.Offset() // small
			want.at[i] = to + back
			ok = ok && to+back >= 0 && (back <= 0 || to <= math.MaxInt64-back)
		}
		got, err := l.Rebase(to)
		if !ok {
			refused(t, err, "Rebase", l.String())
			require.Equal(t, layout.Layout{}, got)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, to, got.Offset())
		requireTable(t, want, got, l, to)
		promised(t, got)
	}
	_, err := layout.Layout{}.Rebase(math.MinInt64)
	refused(t, err, "Rebase")
}
