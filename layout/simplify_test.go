package layout_test

import (
	"math"
	"slices"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

// pairs lists what a copy moves: from which position to which, sorted.
func pairs(dst, src layout.Layout) [][2]int64 {
	d, s := tableOf(dst).at, tableOf(src).at
	out := make([][2]int64, len(d))
	for i := range d {
		out[i] = [2]int64{d[i], s[i]}
	}
	sortPairs(out)
	return out
}

func sortPairs(p [][2]int64) {
	slices.SortFunc(p, func(a, b [2]int64) int {
		if c := compare(a[0], b[0]); c != 0 {
			return c
		}
		return compare(a[1], b[1])
	})
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// requireSimple checks the form that Simplify promises.
func requireSimple(t *testing.T, d, s layout.Layout) {
	t.Helper()
	require.True(t, d.SameShape(&s))
	for i, n := range d.Shape() {
		require.NotEqual(t, int64(1), n, "%v %v", d, s)
		require.GreaterOrEqual(t, d.Stride(i), int64(0), "%v %v", d, s)
		if i == 0 {
			continue
		}
		require.GreaterOrEqual(t, d.Stride(i-1), d.Stride(i), "%v %v", d, s)
		merges := d.Stride(i-1) == d.Stride(i)*n && s.Stride(i-1) == s.Stride(i)*n
		require.False(t, merges, "%v %v", d, s)
	}
}

func TestSimplifyMovesTheSamePairs(t *testing.T) {
	r := random(t)
	for range 20000 {
		dst := anyLayout(r, r.IntN(5), 4)
		src := randomLayout(r, dst.Shape(), 5)
		if r.IntN(2) == 0 {
			src = must(layout.Contiguous(dst.Shape()...))
		}
		d, s := simplified(dst, src)
		if dst.Count() == 0 {
			require.True(t, d.HasShape(0) && s.HasShape(0))
			require.Equal(t, dst.Offset(), d.Offset())
			require.Equal(t, src.Offset(), s.Offset())
			continue
		}
		requireSimple(t, d, s)
		require.Equal(t, pairs(dst, src), pairs(d, s), "%v %v", dst, src)
	}
}

// A permutation or reversal that both sides share says nothing: one axis is left.
func TestSimplifyFindsTheCopyBehindAPermutation(t *testing.T) {
	r := random(t)
	for _, rank := range []int{1, 4, 8, 9, 12, layout.MaxRank} {
		for range 50 {
			dims := make([]int64, rank)
			for i := range dims {
				dims[i] = 1
			}
			for range min(rank, 6) {
				dims[r.IntN(rank)] = 2 + r.Int64N(2)
			}
			a := must(layout.Contiguous(dims...))
			b := must(a.Rebase(1000))
			for range 3 {
				axis := r.IntN(rank)
				a, b = must(a.Slice(axis, -1, math.MinInt64, -1)), must(b.Slice(axis, -1, math.MinInt64, -1))
			}
			perm := r.Perm(rank)
			a, b = must(a.Permute(perm...)), must(b.Permute(perm...))
			d, s := simplified(a, b)
			n := a.Count()
			want := must(layout.Contiguous(n))
			if n == 1 {
				want = layout.Layout{}
			}
			require.True(t, want.Equal(&d), "%v", d)
			require.True(t, new(must(want.Rebase(1000))).Equal(&s), "%v", s)
		}
	}
}

func TestSimplifyHighRankStaysHigh(t *testing.T) {
	dims, strides := make([]int64, 20), make([]int64, 20)
	for i := range dims {
		dims[i] = 1
	}
	for i := range 10 {
		dims[2*i], strides[2*i] = 2, 3<<(2*i)
	}
	l := must(layout.Strided(dims, strides, 0))
	d, s := simplified(l, must(layout.Contiguous(dims...)))
	require.Equal(t, 10, d.Rank())
	requireSimple(t, d, s)
	require.Equal(t, pairs(l, must(layout.Contiguous(dims...))), pairs(d, s))
}

func TestSimplifyHuge(t *testing.T) {
	l := must(layout.Contiguous(1<<31, 1, 1<<31))
	back := must(l.Slice(0, -1, math.MinInt64, -1))
	d, s := simplified(back, l)
	require.Equal(t, "[2147483648,2147483648]:{2147483648,1}+0", d.String())
	require.Equal(t, "[2147483648,2147483648]:{-2147483648,1}+4611686016279904256", s.String())
	d, s = simplified(l, back.Reverse().Reverse())
	require.Equal(t, 2, d.Rank())
	promised(t, d)
	promised(t, s)
	// The source's product wraps; merging by it would be wrong.
	dst := must(layout.Strided(layout.Shape{2, 2}, []int64{2, 1}, 0))
	src := must(layout.Strided(layout.Shape{2, 2}, []int64{1, 1 << 62}, 0))
	d, _ = simplified(dst, src)
	require.Equal(t, 2, d.Rank())
}

// bitsOf spells a pair of elements out as pairs of bits.
func bitsOf(elements [][2]int64, width int) [][2]int64 {
	var out [][2]int64
	for _, p := range elements {
		for b := range int64(width) {
			out = append(out, [2]int64{p[0]*int64(width) + b, p[1]*int64(width) + b})
		}
	}
	sortPairs(out)
	return out
}

func TestWidenMovesTheSameBits(t *testing.T) {
	r := random(t)
	wider := 0
	for range 4000 {
		width := 1 << (1 + r.IntN(5))
		limit := 1 << (1 + r.IntN(7))
		dims := make([]int64, r.IntN(5))
		for i := range dims {
			dims[i] = []int64{1, 2, 2, 3, 4, 4, 8}[r.IntN(7)]
		}
		base := must(must(layout.Contiguous(dims...)).Rebase(r.Int64N(4) * 8))
		// Slices that keep the last axis whole, or not; permutations.
		dst, src := base, base
		for range r.IntN(3) {
			if base.Rank() == 0 {
				break
			}
			axis := r.IntN(base.Rank())
			step := []int64{1, 1, 2, -1}[r.IntN(4)]
			dst, src = must(dst.Slice(axis, 0, 8, step)), must(src.Slice(axis, -8, 8, step))
			if dst.Count() == 0 || r.IntN(2) == 0 {
				src = must(must(layout.Contiguous(dst.Shape()...)).Rebase(r.Int64N(16) * 2))
			}
			if !dst.SameShape(&src) {
				src = must(layout.Contiguous(dst.Shape()...))
			}
		}
		d, s := simplified(dst, src)
		wd, ws, wide := widened(d, s, width, limit)
		require.LessOrEqual(t, wide, max(limit, width))
		require.Zero(t, wide%width)
		promised(t, wd)
		promised(t, ws)
		if d.Count() == 0 {
			require.Zero(t, wd.Count())
			continue
		}
		requireSimple(t, wd, ws)
		require.Equal(t, bitsOf(pairs(dst, src), width), bitsOf(pairs(wd, ws), wide), "%v %v %d", d, s, width)
		if wide > width {
			wider++
		}
	}
	require.Greater(t, wider, 400)
}

func TestWidenExamples(t *testing.T) {
	c := func(dims ...int64) layout.Layout { return must(layout.Contiguous(dims...)) }
	for _, x := range []struct {
		name         string
		dst, src     layout.Layout
		width, limit int
		d, s         string
		wide         int
	}{
		{"a run", c(64), c(64), 4, 128, "[2]:{1}+0", "[2]:{1}+0", 128},
		{"odd count", c(63), c(63), 4, 128, "[63]:{1}+0", "[63]:{1}+0", 4},
		{"odd offset", c(64), must(c(64).Rebase(1)), 4, 128, "[64]:{1}+0", "[64]:{1}+1", 4},
		{"offset of two", c(64), must(c(64).Rebase(2)), 4, 128, "[32]:{1}+0", "[32]:{1}+1", 8},
		{"limit", c(64), c(64), 8, 32, "[16]:{1}+0", "[16]:{1}+0", 32},
		{"limit below twice the width", c(64), c(64), 32, 48, "[64]:{1}+0", "[64]:{1}+0", 32},
		{"already there", c(64), c(64), 64, 64, "[64]:{1}+0", "[64]:{1}+0", 64},
		{"pairs swapped about", c(3, 5, 2), must(c(5, 3, 2).Permute(1, 0, 2)), 8, 128, "[3,5]:{5,1}+0", "[3,5]:{1,3}+0", 16},
		{"reversed pairs of a run", c(4, 2), must(c(4, 2).Slice(0, 3, -9, -1)), 8, 128, "[4]:{1}+0", "[4]:{-1}+3", 16},
		{"one element is left", c(2), c(2), 8, 128, "[]:{}+0", "[]:{}+0", 16},
		{"a broadcast run", c(4, 2), must(c(1, 2).Expand(4, 2)), 8, 128, "[4]:{1}+0", "[4]:{0}+0", 16},
		{"rows padded by an odd number", c(4, 2), must(c(4, 3).Slice(1, 0, 2, 1)), 8, 128, "[4,2]:{2,1}+0", "[4,2]:{3,1}+0", 8},
		{"nothing", c(0), c(0), 8, 128, "[0]:{0}+0", "[0]:{0}+0", 8},
		{"scalar", c(), c(), 8, 128, "[]:{}+0", "[]:{}+0", 8},
		{"no width, as a string has", c(64), c(64), 0, 128, "[64]:{1}+0", "[64]:{1}+0", 0},
	} {
		d, s := simplified(x.dst, x.src)
		d, s, wide := widened(d, s, x.width, x.limit)
		require.Equal(t, []any{x.d, x.s, x.wide}, []any{d.String(), s.String(), wide}, x.name)
	}
}
