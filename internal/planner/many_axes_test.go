package planner_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// apart returns layouts of axes that do not merge: dst's have gaps, in a random order
// in src.
func apart(rank int, n int64) (dst, src layout.Layout) {
	dims, d, s := make([]int64, rank), make([]int64, rank), make([]int64, rank)
	step := int64(1)
	order := rand.Perm(rank)
	for i := range rank {
		dims[i] = n
		d[rank-1-i], s[order[i]] = step, step
		step = step*n + 1
	}
	return strided(dims, d, 0), strided(dims, s, 0)
}

// Every layout has a kernel with room for its parameters, however many axes it has:
// one with ManyAxes where other kernels have no room.
func TestParametersFit(t *testing.T) {
	long := map[planner.Form]bool{}
	check := func(rank int, l planner.Launch, err error) {
		t.Helper()
		require.NoError(t, err, "%d axes", rank)
		assert.LessOrEqual(t, len(l.Params), l.Spec.ParameterBytes(), "%d axes: %v", rank, l.Spec)
		assert.GreaterOrEqual(t, cap(l.Params), l.Spec.ParameterBytes(), "%d axes: %v", rank, l.Spec)
		assert.Contains(t, planner.Specs(), l.Spec)
		if l.Groups > 0 {
			assert.Len(t, l.Arguments, l.Spec.Arguments(), "%d axes: %v", rank, l.Spec)
		}
		if long[l.Spec.Form] = long[l.Spec.Form] || l.Spec.ManyAxes; rank <= 5 {
			assert.False(t, l.Spec.ManyAxes, "%d axes: %v", rank, l.Spec)
		}
	}
	for rank := range 36 { // of two indices each: elements for 1 TiB
		dst, src := apart(rank, 2)
		for _, bits := range []int{1, 2, 4, 8, 16, 32, 64, 128} {
			l, err := planner.Plan(copying(dst, src, bits), parallel)
			check(rank, l, err)
			l, err = planner.Plan(filling(dst, bits), parallel)
			check(rank, l, err)
			if bits == 1 {
				continue // bits are not taken
			}
			by := make([]layout.Index, min(rank, 30))
			for i := range by {
				by[i] = layout.Index{Extent: 5, Stride: 128}
			}
			_, at := apart(rank, 2)
			l, err = planner.Plan(taking(dst, src, at, by, bits, 32), parallel)
			check(rank, l, err)
			l, err = planner.Plan(choosing(dst, at, src, src, bits), parallel)
			check(rank, l, err)
			if bits == 32 {
				l, err = planner.Plan(putting(dst, src, at, by, layout.Int32, device.ReduceMin, 32), parallel)
				check(rank, l, err)
				if rank < 31 { // more elements are too many to be reduced in order
					l, err = planner.Plan(putting(dst, src, at, by, layout.Float32, device.ReduceAdd, 32), parallel)
					check(rank, l, err)
				}
			}
		}
		l, err := planner.Plan(packing(dst, src, 8, 4, true), parallel)
		check(rank, l, err)
		l, err = planner.Plan(mapping(dst, src, 8, 4), parallel)
		check(rank, l, err)
		for _, to := range []layout.DType{layout.Float32, layout.Float16, layout.Int4} {
			l, err = planner.Plan(casting(dst, src, to, layout.BFloat16, device.Rounding{}), parallel)
			check(rank, l, err)
		}
	}
	for _, form := range []planner.Form{planner.Element, planner.Fill, planner.Gather, planner.Join, planner.Pick, planner.Cast, planner.CastWords, planner.Where, planner.Reduce, planner.Fold} {
		assert.True(t, long[form], "no %s was long", form)
	}
	assert.False(t, long[planner.Shuffle])

	dst, src := apart(36, 2)
	by := slices.Repeat([]layout.Index{{Extent: 5, Stride: 128}}, 64)
	_, err := planner.Plan(taking(dst, src, src, by, 8, 32), parallel)
	require.ErrorIs(t, err, layout.ErrUnsupported)
}

// Casts of dense rows over more axes than their kernels' parameters have room for were
// refused.
func TestBugLongDenseCasts(t *testing.T) {
	for _, rank := range []int{10, 13, 20} {
		dims, strides := make([]int64, rank), make([]int64, rank)
		for i, step := rank-1, int64(1); i >= 0; i-- {
			dims[i], strides[i] = 2, step
			if i == rank-1 {
				dims[i] = 64
			}
			step = step*dims[i] + 8
		}
		rows := strided(dims, strides, 0)
		for _, pair := range [][2]layout.DType{{layout.Float16, layout.Float32}, {layout.Float32, layout.Int8}} {
			l, err := planner.Plan(casting(rows, rows, pair[0], pair[1], device.Rounding{}), parallel)
			require.NoError(t, err, "%d axes", rank)
			assert.Equal(t, rank > 12, l.Spec.ManyAxes, "%d axes: %v", rank, l.Spec)
		}
	}
}
