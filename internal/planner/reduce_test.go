package planner_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// TestPlanReduce names the kernels: sums and products of floats are made in order, and so
// is what there are no atomic operations for.
func TestPlanReduce(t *testing.T) {
	src, dst, at := rows(128, 64)
	by := []layout.Index{{Extent: 1000, Stride: 64}}
	for _, c := range []struct {
		dtype             layout.DType
		how               device.Reduction
		kernel, atomics32 string
	}{
		{layout.Int4, device.ReduceAdd, "reduce_4", "reduce_4"},
		{layout.Bool, device.ReduceMul, "reduce_8", "reduce_8"},
		{layout.Int32, device.ReduceMul, "reduce_32", "reduce_32"},
		{layout.Int64, device.ReduceAdd, "reduce_64", "fold_64"},
		{layout.Float16, device.ReduceMin, "reduce_16", "reduce_16"},
		{layout.BFloat16, device.ReduceAdd, "fold_16", "fold_16"},
		{layout.Float32, device.ReduceMul, "fold_32", "fold_32"},
		{layout.Float64, device.ReduceMax, "reduce_64", "fold_64"},
	} {
		for _, target := range []planner.Target{parallel, cpu, {Atomics32: true}} {
			l, err := planner.Plan(putting(dst, src, at, by, c.dtype, c.how, 64), target)
			require.NoError(t, err)
			want := c.kernel + "_i64"
			if target.Atomics32 {
				want = c.atomics32 + "_i64"
			} else if target.CPU {
				want += "_serial"
			}
			assert.Equal(t, want, l.Spec.String())
			assert.Contains(t, target.Kernels(), l.Spec)
			assert.EqualValues(t, 128*64*int64(c.dtype.Bits())/8, l.Bytes)
		}
	}
	empty := dense(0, 5)
	l, err := planner.Plan(putting(empty, empty, empty, by, layout.Float32, device.ReduceAdd, 32), parallel)
	require.NoError(t, err)
	assert.Zero(t, l.Groups)
}

// TestFoldLines counts the items that share the places of dst: those of lines that no
// index can bring together, and classes of places where lines are few and long.
func TestFoldLines(t *testing.T) {
	index := func(extent, stride int64) []layout.Index { return []layout.Index{{Extent: extent, Stride: stride}} }
	for name, c := range map[string]struct {
		dims, dst []int64
		by        []layout.Index
		items     uint32
	}{
		"rows":                           {[]int64{50, 512}, []int64{0, 1}, index(9, 512), 512},
		"rows of a wider table":          {[]int64{50, 512}, []int64{0, 1}, index(9, 700), 512},
		"rows that overlap":              {[]int64{50, 512}, []int64{0, 1}, index(9, 511), 25},
		"columns":                        {[]int64{512, 50}, []int64{9, 0}, index(9, 1), 512},
		"columns that the index crosses": {[]int64{512, 50}, []int64{9, 0}, index(10, 1), 25},
		"every second element":           {[]int64{512, 50}, []int64{2, 0}, index(9, 1024), 512},
		"the middle axis":                {[]int64{8, 50, 512}, []int64{9 * 512, 0, 1}, index(9, 512), 8 * 512},
		"planes of a cropped tensor":     {[]int64{8, 50, 512}, []int64{9*512 + 1, 0, 1}, index(9, 512), 8 * 512},
		"an index on two scales":         {[]int64{8, 50, 4}, []int64{16, 0, 1}, []layout.Index{{Extent: 3, Stride: 4}, {Extent: 5, Stride: 1000}}, 32},
		"indices with gaps less wide":    {[]int64{50, 4}, []int64{0, 1}, []layout.Index{{Extent: 3, Stride: 5}, {Extent: 5, Stride: 7}}, 1},
		"places that repeat":             {[]int64{512, 50}, []int64{0, 0}, index(9, 1), 25},
		"elements":                       {[]int64{1 << 20}, []int64{0}, index(9, 1), 64},
	} {
		dst, src := strided(c.dims, c.dst, 0), dense(c.dims...)
		l, err := planner.Plan(putting(dst, src, src, c.by, layout.Float32, device.ReduceAdd, 32), parallel)
		require.NoError(t, err)
		assert.EqualValues(t, c.items, read(l.Params).extent, name)
	}
}

// A device that ends long loops is given no put that takes them, but the axis to halve it on.
func TestFoldRounds(t *testing.T) {
	target := planner.Target{MostRounds: 1 << 16}
	plan := func(dst, src layout.Layout, by ...layout.Index) error {
		_, err := planner.Plan(putting(dst, src, src, by, layout.Float32, device.ReduceAdd, 32), target)
		return err
	}
	one := layout.Index{Extent: 9, Stride: 1}
	for elements, by := range map[int64][]layout.Index{10000: {one}, 8000: {one, one}} {
		place := func(n int64) layout.Layout { return strided([]int64{n}, []int64{0}, 0) }
		require.NoError(t, plan(place(elements), dense(elements), by...))
		err := plan(place(elements*3/2), dense(elements*3/2), by...)
		require.ErrorIs(t, err, planner.ErrRounds)
		require.ErrorIs(t, err, layout.ErrUnsupported)
		require.ErrorContains(t, err, "too many rounds of loops")
	}
	for _, c := range []struct {
		dims, dst []int64
		axis      int
	}{
		{[]int64{30000}, []int64{0}, 0},
		{[]int64{1, 30000}, []int64{0, 0}, 1},
		{[]int64{50, 30000}, []int64{9, 0}, 1},
		{[]int64{50, 30000}, []int64{0, 0}, 0},
		{[]int64{50, 1}, []int64{9, 0}, 0},
		{[]int64{1}, []int64{0}, -1},
	} {
		assert.Equal(t, c.axis, planner.HalveReduce(strided(c.dims, c.dst, 0), dense(c.dims...), []layout.Index{one}), "%v", c.dims)
	}
}
