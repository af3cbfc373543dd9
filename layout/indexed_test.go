package layout_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/indexing"
	"github.com/restride/restride/layout"
)

// triples lists what a take without its indices visits, sorted: positions in dst,
// in src and of the indices.
func triples(d, s, a layout.Layout) [][3]int64 {
	to, from, at := tableOf(d).at, tableOf(s).at, tableOf(a).at
	out := make([][3]int64, len(to))
	for i := range to {
		out[i] = [3]int64{to[i], from[i], at[i]}
	}
	slices.SortFunc(out, func(x, y [3]int64) int { return slices.Compare(x[:], y[:]) })
	return out
}

// TestSimplifyTakes: the same places on all sides, over the fewest axes; and
// wide elements are made of the narrow ones.
func TestSimplifyTakes(t *testing.T) {
	r := random(t)
	wider := 0
	for range 20000 {
		dims := randomShape(r, r.IntN(6), 6)
		dst, src, at := randomLayout(r, dims, 3), randomLayout(r, dims, 3), randomLayout(r, dims, 2)
		if n := len(dims); n > 0 && r.IntN(2) == 0 { // rows
			dims[n-1] *= 2 << r.IntN(3)
			dst, src = must(layout.Contiguous(dims...)), must(layout.Contiguous(dims...))
			dst, src = must(dst.Rebase(8*r.Int64N(3))), must(src.Rebase(r.Int64N(9)))
			strides := at.Strides()
			strides[n-1] = 0
			at = must(layout.Strided(dims, strides, 4000))
		}
		d, s, a := dst, src, at
		layout.Simplify(&d, &s, &a)
		require.True(t, d.SameShape(&s) && d.SameShape(&a))
		if dst.Count() == 0 {
			require.Equal(t, layout.Shape{0}, d.Shape())
			continue
		}
		require.Equal(t, triples(dst, src, at), triples(d, s, a), "%v %v %v", dst, src, at)
		for i := range d.Rank() {
			require.NotEqualValues(t, 1, d.Dim(i))
			require.GreaterOrEqual(t, d.Stride(i), int64(0))
			if i > 0 {
				require.GreaterOrEqual(t, d.Stride(i-1), d.Stride(i))
				merges := true
				for _, l := range []layout.Layout{d, s, a} {
					merges = merges && l.Stride(i-1) == l.Stride(i)*l.Dim(i)
				}
				require.False(t, merges, "%v %v %v", d, s, a)
			}
		}

		by := []layout.Index{{Extent: 5, Stride: r.Int64N(3) * 4}, {Extent: 5, Stride: 6}}[:1+r.IntN(2)]
		wd, ws, wa := d, s, a
		width := layout.Widen(8, indexing.WidthLimit(by, 8, 64), &wd, &ws, &wa)
		per := int64(width / 8)
		if per > 1 {
			wider++
		}
		var narrow [][3]int64
		for _, x := range triples(wd, ws, wa) {
			for i := range per {
				narrow = append(narrow, [3]int64{x[0]*per + i, x[1]*per + i, x[2]})
			}
		}
		slices.SortFunc(narrow, func(x, y [3]int64) int { return slices.Compare(x[:], y[:]) })
		require.Equal(t, triples(d, s, a), narrow, "%v %v %v", dst, src, at)
		for _, x := range by {
			require.Zero(t, x.Stride%per)
		}
	}
	require.Greater(t, wider, 500)
}

// TestMergeKeepsTheOrder: the same places on all sides, one after the other, over the
// fewest axes.
func TestMergeKeepsTheOrder(t *testing.T) {
	r := random(t)
	for range 5000 {
		dims := randomShape(r, r.IntN(6), 6)
		dst, src := randomLayout(r, dims, 3), randomLayout(r, dims, 3)
		d, s := dst, src
		layout.Merge(&d, &s)
		if dst.Count() == 0 {
			require.Equal(t, layout.Shape{0}, d.Shape())
			continue
		}
		require.Equal(t, tableOf(dst).at, tableOf(d).at, "%v %v", dst, src)
		require.Equal(t, tableOf(src).at, tableOf(s).at, "%v %v", dst, src)
		for i := range d.Rank() {
			require.NotEqualValues(t, 1, d.Dim(i))
			if i > 0 {
				n := d.Dim(i)
				require.False(t, d.Stride(i-1) == d.Stride(i)*n && s.Stride(i-1) == s.Stride(i)*n, "%v %v", d, s)
			}
		}
	}
}

// TestResolve: what an index means, in range and out of it.
func TestResolve(t *testing.T) {
	for index, want := range map[int64][4]int64{ // by policy; -1: nothing
		0: {0, 0, 0, 0}, 4: {4, 4, 4, 4}, -1: {4, 4, 4, 0}, -5: {0, 0, 0, 0},
		5: {-1, -1, 4, 4}, -6: {-1, -1, 0, 0}, math.MaxInt64: {-1, -1, 4, 4}, math.MinInt64: {-1, -1, 0, 0},
	} {
		for policy, i := range want {
			x := layout.Index{Extent: 5, OutOfRange: layout.OutOfRange(policy)}
			got, ok := x.Resolve(index)
			require.Equal(t, i >= 0, ok, "%d, %v", index, x.OutOfRange)
			require.Equal(t, max(i, 0), got, "%d, %v", index, x.OutOfRange)
		}
	}
	require.Equal(t, "clampzero", layout.OutOfRangeClampZero.String())
	require.Equal(t, "OutOfRange(7)", layout.OutOfRange(7).String())
}
