package layout_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

func TestContiguousCountsUp(t *testing.T) {
	r := random(t)
	for _, rank := range []int{0, 1, 2, 3, 4, 5} {
		for range 50 {
			dims := randomShape(r, rank, 4)
			want := table{dims: dims}
			walk(dims, func([]int64) { want.at = append(want.at, int64(len(want.at))) })
			requireTable(t, want, must(layout.Contiguous(dims...)))
		}
	}
	for _, rank := range []int{8, 9, 12, layout.MaxRank} {
		dims := make([]int64, rank)
		for i := range dims {
			dims[i] = 1
		}
		dims[0], dims[rank/2], dims[rank-1] = 2, 3, 2
		l := must(layout.Contiguous(dims...))
		require.Equal(t, rank, l.Rank())
		requireTable(t, table{dims, span(0, 11)}, l)
	}
}

func TestContiguousRefuses(t *testing.T) {
	for _, dims := range [][]int64{{-1}, {2, math.MinInt64}, {0, -1}, {1 << 32, 1 << 31}, {math.MaxInt64, 2}, {3, 1 << 62}} {
		_, err := layout.Contiguous(dims...)
		refused(t, err, "Contiguous", layout.Shape(dims).String())
	}
	big := must(layout.Contiguous(1<<31, 1<<31, 1))
	require.Equal(t, int64(1<<62-1), big.At(1<<31-1, 1<<31-1, 0))
	promised(t, big)
	promised(t, must(layout.Contiguous(math.MaxInt64)))
	promised(t, must(layout.Contiguous(math.MaxInt64, math.MaxInt64, 0)))
}

// The oracle finds the lowest and highest position in big arithmetic; Strided
// accepts exactly those that fit.
func TestStridedAcceptsExactlyWhatFits(t *testing.T) {
	r := random(t)
	values := []int64{0, 1, 2, 3, 1 << 31, 1 << 61, 1<<62 - 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	accepted := 0
	for range 50000 {
		rank := r.IntN(4)
		dims, strides := make([]int64, rank), make([]int64, rank)
		for i := range dims {
			dims[i], strides[i] = values[r.IntN(len(values))], values[r.IntN(len(values))]
			if r.IntN(2) == 0 {
				dims[i] = r.Int64N(4)
			}
			if r.IntN(2) == 0 {
				strides[i] = -strides[i]
			}
			if r.IntN(20) == 0 {
				strides[i] = math.MinInt64
			}
			if r.IntN(40) == 0 {
				dims[i] = -dims[i]
			}
		}
		offset := values[r.IntN(len(values))]
		if r.IntN(20) == 0 {
			offset = -offset
		}
		n := bigProduct(dims)
		fits := n != nil && n.Cmp(maxInt64) <= 0 && offset >= 0
		if fits && n.Sign() > 0 {
			lo, hi := big.NewInt(offset), big.NewInt(offset)
			for i := range dims {
				reach := new(big.Int).Mul(big.NewInt(dims[i]-1), big.NewInt(strides[i]))
				if reach.Sign() < 0 {
					lo.Add(lo, reach)
				} else {
					hi.Add(hi, reach)
				}
			}
			fits = lo.Sign() >= 0 && hi.Cmp(maxInt64) <= 0
		}
		l, err := layout.Strided(dims, strides, offset)
		if !fits {
			refused(t, err, "Strided", layout.Shape(dims).String(), layout.Shape(strides).String(), fmt.Sprint(offset))
			require.Equal(t, layout.Layout{}, l)
			continue
		}
		require.NoError(t, err)
		accepted++
		promised(t, l)
		require.Equal(t, offset, l.Offset())
		if n.Sign() > 0 {
			require.Equal(t, strides, l.Strides())
		}
	}
	require.Greater(t, accepted, 5000)
}

func TestStridedRefuses(t *testing.T) {
	for _, c := range []struct {
		dims    layout.Shape
		strides []int64
		offset  int64
		rule    string
	}{
		{layout.Shape{2}, nil, 0, "as many strides"},
		{layout.Shape{2}, []int64{1, 1}, 0, "as many strides"},
		{layout.Shape{-2}, []int64{1}, 0, "negative"},
		{layout.Shape{2}, []int64{1}, -1, "offset is negative"},
		{layout.Shape{0}, []int64{1}, -1, "offset is negative"},
		{layout.Shape{3}, []int64{-1}, 1, "position is negative"},
		{layout.Shape{2}, []int64{math.MinInt64}, math.MaxInt64, "overflows"},
		{layout.Shape{3}, []int64{1 << 62}, 0, "overflows"},
		{layout.Shape{2, 2}, []int64{1 << 62, 1 << 62}, 0, "overflows"},
		{layout.Shape{2}, []int64{1}, math.MaxInt64, "overflows"},
		{layout.Shape{1 << 32, 1 << 31}, []int64{0, 0}, 0, "number of elements overflows"},
	} {
		_, err := layout.Strided(c.dims, c.strides, c.offset)
		refused(t, err, "Strided", c.rule)
	}
}

func TestStridedKeepsNoReference(t *testing.T) {
	for _, rank := range []int{2, 9} {
		dims, strides := make(layout.Shape, rank), make([]int64, rank)
		for i := range dims {
			dims[i] = 1
		}
		l := must(layout.Strided(dims, strides, 3))
		dims[0], strides[0] = 99, 99
		require.Equal(t, int64(1), l.Dim(0))
		require.Equal(t, int64(0), l.Stride(0))
	}
}

func TestZeroLayoutIsAScalar(t *testing.T) {
	var l layout.Layout
	require.Equal(t, 0, l.Rank())
	require.Equal(t, int64(1), l.Count())
	require.Equal(t, int64(0), l.At())
	require.True(t, l.IsContiguous())
	require.False(t, l.IsBroadcast())
	require.False(t, l.SelfOverlaps())
	require.True(t, l.Overlaps(new(layout.Layout{})))
	require.Equal(t, l, must(layout.Contiguous()))
	require.Equal(t, l, l.Coalesce())
	require.Equal(t, l, l.Reverse())
	require.Equal(t, l, must(l.Permute()))
	require.Equal(t, l, must(l.Squeeze()))
	require.Equal(t, l, must(l.Expand()))
	require.Equal(t, l, must(l.Reshape()))
	require.Equal(t, "[]:{}+0", l.String())
}

func TestAtPanics(t *testing.T) {
	l := must(layout.Contiguous(2, 3))
	for _, index := range [][]int64{{}, {1}, {1, 2, 0}, {2, 0}, {0, 3}, {-1, 0}, {0, math.MinInt64}} {
		require.Panics(t, func() { l.At(index...) }, "%v", index)
	}
	require.PanicsWithValue(t, "layout: index 3 out of range on axis 1 of extent 3", func() { l.At(0, 3) })
	require.PanicsWithValue(t, "layout: index of length 1 into rank 2", func() { l.At(1) })
	require.Panics(t, func() { new(must(layout.Contiguous(0))).At(0) })
	for _, l := range []layout.Layout{l, must(layout.Contiguous(1, 1, 1, 1, 1, 1, 1, 1, 1))} {
		for _, axis := range []int{-1, l.Rank(), 64} {
			require.Panics(t, func() { l.Dim(axis) })
			require.Panics(t, func() { l.Stride(axis) })
		}
	}
}

func TestLayoutStrings(t *testing.T) {
	l := must(layout.Strided(layout.Shape{2, 3}, []int64{-3, 1}, 5))
	require.Equal(t, "[2,3]:{-3,1}+5", l.String())
	require.Equal(t, "[2,3]:{-3,1}+5", fmt.Sprint(l))
	require.Equal(t, "[0]:{0}+7", must(layout.Strided(layout.Shape{0}, []int64{9}, 7)).String())
}

func TestComparisons(t *testing.T) {
	for _, ones := range [][]int64{nil, {1, 1, 1, 1, 1, 1, 1, 1}} {
		dims := append([]int64{2, 3}, ones...)
		l := must(layout.Contiguous(dims...))
		m := must(layout.Contiguous(dims...))
		require.True(t, l.Equal(&m))
		require.True(t, l.SameShape(&m))
		require.True(t, l.HasShape(dims...))
		require.False(t, l.HasShape(dims[1:]...))
		require.False(t, l.HasShape(append([]int64{3, 2}, ones...)...))
		moved := must(m.Rebase(1))
		require.False(t, l.Equal(&moved))
		require.True(t, l.SameShape(&moved))
		broadcast := must(must(layout.Contiguous(append([]int64{1, 1}, ones...)...)).Expand(dims...))
		require.False(t, l.Equal(&broadcast))
		require.True(t, l.SameShape(&broadcast))
		require.False(t, l.SameShape(new(must(l.Unsqueeze(0)))))
		require.Equal(t, append([]int64{9}, dims...), l.AppendDims([]int64{9}))
	}
	require.True(t, new(layout.Layout{}).HasShape())
}

// A map key or == must not see what a merged or dropped axis left behind.
func TestEqualLayoutsCompareEqual(t *testing.T) {
	want := must(layout.Contiguous(24))
	l := must(layout.Contiguous(2, 3, 4))
	require.True(t, want == l.Coalesce(), "Coalesce")
	d, s := simplified(l, l)
	require.True(t, want == d && want == s, "Simplify")
	d, s, _ = widened(want, want, 8, 64)
	require.True(t, must(layout.Contiguous(3)) == d && d == s, "Widen")
	require.True(t, want == must(must(layout.Contiguous(1, 24, 1)).Squeeze()), "Squeeze")
	require.True(t, want == must(must(layout.Contiguous(1, 1, 1, 1, 1, 1, 1, 1, 1, 24)).Squeeze()), "from high rank")
}
