package layout_test

import (
	"math"
	"testing"

	"github.com/restride/restride/layout"
	"github.com/stretchr/testify/require"
)

// requireReshape holds Reshape to the oracle: a view exactly where any strides
// exist.
func requireReshape(t *testing.T, l layout.Layout, dims []int64) (view bool) {
	t.Helper()
	want := tableOf(l).reshape(dims)
	_, exists := want.strides()
	got, err := l.Reshape(dims...)
	if !exists {
		require.ErrorIs(t, err, layout.ErrNeedsCopy, "%v to %v", l, dims)
		require.Equal(t, layout.Layout{}, got)
		return false
	}
	require.NoError(t, err, "%v to %v", l, dims)
	requireTable(t, want, got, l, dims)
	return true
}

func TestReshapeIsAViewWheneverStridesExist(t *testing.T) {
	r := random(t)
	views, copies := 0, 0
	for range 3000 {
		l := randomView(r, r.IntN(5), 4)
		if r.IntN(4) == 0 {
			l = randomLayout(r, randomShape(r, r.IntN(4), 4), 3)
		}
		n := l.Count()
		if n == 0 {
			require.True(t, requireReshape(t, l, []int64{3, 0, 1 << 40}))
			require.True(t, requireReshape(t, l, []int64{0}))
			continue
		}
		for rank := range 5 {
			factorings(n, rank, func(dims []int64) {
				if r.IntN(3) != 0 {
					return
				}
				if requireReshape(t, l, dims) {
					views++
				} else {
					copies++
				}
			})
		}
	}
	t.Log(views, "views,", copies, "copies")
	require.Greater(t, views, 1000)
	require.Greater(t, copies, 1000)
}

func TestReshapeHighRank(t *testing.T) {
	r := random(t)
	for _, rank := range []int{8, 9, 12, layout.MaxRank} {
		for range 100 {
			l := randomView(r, 3, 4)
			if l.Count() == 0 {
				continue
			}
			dims := make([]int64, rank)
			for i := range dims {
				dims[i] = 1
			}
			for i, d := range new(l.Coalesce()).Shape() {
				dims[i*rank/8] = d // in order, with ones between
			}
			require.True(t, requireReshape(t, l, dims))
			requireReshape(t, must(l.Reshape(dims...)), l.Shape())
		}
	}
}

func TestReshapeHuge(t *testing.T) {
	l := must(layout.Contiguous(1<<31, 1<<31))
	got := must(l.Reshape(1<<20, 1<<42))
	require.Equal(t, int64(1<<62-1), got.At(1<<20-1, 1<<42-1))
	_, err := l.Reverse().Reshape(1 << 62)
	require.ErrorIs(t, err, layout.ErrNeedsCopy)
	one := must(layout.Contiguous(math.MaxInt64))
	require.Equal(t, int64(math.MaxInt64-1), new(must(one.Reshape(1, math.MaxInt64, 1))).At(0, math.MaxInt64-1, 0))

	// The stride of the axis after the last is beyond int64; nothing may use it.
	gap := must(layout.Strided(layout.Shape{1, 2}, []int64{math.MinInt64, math.MaxInt64}, 0))
	requireTable(t, table{[]int64{2, 1}, []int64{0, math.MaxInt64}}, must(gap.Reshape(2, 1)))

	// A product that wraps to the right number is not the right number.
	_, err = must(layout.Contiguous(0)).Reshape(1<<32, 1<<32)
	refused(t, err, "Reshape", "[0]", "[4294967296,4294967296]", "overflows")
	_, err = must(layout.Contiguous(1)).Reshape(1<<63-1, 1<<63-1) // = 1 mod 2^64
	refused(t, err, "Reshape", "overflows")
}

func TestReshapeRefuses(t *testing.T) {
	l := must(layout.Contiguous(2, 3))
	for _, dims := range [][]int64{{}, {5}, {7}, {0}, {6, 0}, {-1}, {-2, -3}, {math.MinInt64}} {
		got, err := l.Reshape(dims...)
		refused(t, err, "Reshape", "[2,3]", layout.Shape(dims).String())
		require.Equal(t, layout.Layout{}, got)
	}
	scalar := must(must(layout.Contiguous(1, 1)).Reshape())
	require.Equal(t, 0, scalar.Rank())
	require.Equal(t, int64(0), scalar.At())
}

func TestFlattenEveryAxis(t *testing.T) {
	r := random(t)
	for range 1000 {
		l := randomView(r, r.IntN(5), 3)
		from, rank := tableOf(l), l.Rank()
		for axis := -rank; axis <= rank; axis++ {
			at := (axis + rank) % max(rank, 1)
			if axis == rank {
				at = rank
			}
			rows, cols := int64(1), int64(1)
			for i, d := range from.dims {
				if i < at {
					rows *= d
				} else {
					cols *= d
				}
			}
			a, b, err := layout.FlattenShape("Flatten-9", l.Shape(), axis)
			require.NoError(t, err)
			require.Equal(t, [2]int64{rows, cols}, [2]int64{a, b}, "%v at %d", l, axis)
			want := from.reshape([]int64{rows, cols})
			got, err := l.Flatten(axis)
			if _, exists := want.strides(); !exists {
				require.ErrorIs(t, err, layout.ErrNeedsCopy)
				continue
			}
			require.NoError(t, err)
			requireTable(t, want, got, l, axis)
		}
	}
}

func TestFlattenRefuses(t *testing.T) {
	l := must(layout.Contiguous(2, 3))
	for _, axis := range []int{3, -3, math.MinInt, math.MaxInt} {
		_, err := l.Flatten(axis)
		refused(t, err, "Flatten", "[-2,2]", "[2,3]")
		_, _, err = layout.FlattenShape("Flatten-11", layout.Shape{2, 3}, axis)
		refused(t, err, "Flatten-11")
	}
	// Empty, but its rows alone overflow.
	empty := must(layout.Contiguous(1<<40, 1<<40, 0))
	_, err := empty.Flatten(2)
	refused(t, err, "Flatten", "overflows")
	requireTable(t, table{dims: []int64{1 << 40, 0}}, must(empty.Flatten(1)))
	_, _, err = layout.FlattenShape("Flatten-1", layout.Shape{2, -3}, 1)
	refused(t, err, "Flatten-1", "[2,-3]", "negative")
}
