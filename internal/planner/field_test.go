package planner_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/planner"
)

// TestFields moves fields of a few bits between pitches, of streams and of bytes.
func TestFields(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 90, 17)
	for round := range rounds {
		unit := 1 << rnd.IntN(3)
		width := 1 + rnd.Int64N(9)
		if unit > 1 {
			width = 1
		}
		if unit == 2 && rnd.IntN(2) == 0 {
			width = 3
		}
		pitch := func() int64 { return width + rnd.Int64N(32/int64(unit)-width+1) }
		dPitch, sPitch := pitch(), pitch()
		if round%3 > 0 {
			dPitch, sPitch = width, max(width, int64(8/unit)) // dst's do not overlap
		}
		if round%3 > 1 {
			dPitch, sPitch = sPitch, dPitch
		}
		if rnd.IntN(5) == 0 && dPitch != width {
			sPitch = -sPitch
		}
		dims := []int64{1 + rnd.Int64N(3), 1 + rnd.Int64N(300), width}
		place := func(pitch int64) ([]int64, int64) {
			row := max(pitch, -pitch)*dims[1] + rnd.Int64N(40)
			return []int64{row, pitch, 1}, max(0, -pitch)*dims[1] + rnd.Int64N(200)
		}
		dStrides, dAt := place(dPitch)
		sStrides, sAt := place(sPitch)
		if round%12 == 0 { // as many axes as need a kernel with ManyAxes
			dims[1] = 8 + rnd.Int64N(8)
			dStrides, sStrides = manyRows(dStrides, dims), manyRows(sStrides, dims)
			dims = slices.Concat(slices.Repeat([]int64{2}, 12), dims)
		}
		h.check(t, rnd, strided(dims, dStrides, dAt), strided(dims, sStrides, sAt), unit, parallel)
	}
	assert.Positive(t, h.forms["field_1"], "%v", h.forms)
}

// TestPlanFields: elements below a byte that have gaps between them in dst go by its words, as do
// those that have small ones in src.
func TestPlanFields(t *testing.T) {
	for _, c := range []struct {
		bits         int
		dStep, sStep int64
		kernel       string
	}{
		{4, 2, 1, "field_1"}, {4, 8, 1, "field_1"}, {4, 9, 1, "gather_4"}, {2, 3, -1, "field_1"}, {2, 16, 5, "field_1"},
		{4, 1, 2, "field_1"}, {4, 1, 3, "gather_4"}, {2, 1, 4, "field_1"}, {2, 1, 5, "gather_2"}, {2, 1, -2, "gather_2"},
	} {
		l, err := planner.Plan(copying(strided([]int64{99999}, []int64{c.dStep}, 0), strided([]int64{99999}, []int64{c.sStep}, max(0, -99999*c.sStep)), c.bits), parallel)
		require.NoError(t, err)
		assert.Equal(t, c.kernel, l.Spec.String(), "%v", c)
	}
}

// manyRows adds 12 outer axes of two indices, which do not merge, to strides of so many
// indices each.
func manyRows(strides, dims []int64) []int64 {
	step := strides[0]*dims[0] + 1
	for range 12 {
		strides = slices.Insert(slices.Clone(strides), 0, step)
		step = 2*step + 1
	}
	return strides
}

// Of fields over more axes than the parameters have room for, half of the bits went to
// wrong places: planning again went on from elements that were single bits by then.
func TestBugFieldsOfManyAxes(t *testing.T) {
	h := hostOf(t)
	_, rnd := sweep(t, 1, 23)
	dims := []int64{1, 16, 3}
	many := slices.Concat(slices.Repeat([]int64{2}, 12), dims)
	dst := strided(many, manyRows([]int64{80, 5, 1}, dims), 7)
	src := strided(many, manyRows([]int64{64, 4, 1}, dims), 5)
	l := h.check(t, rnd, dst, src, 2, parallel)
	assert.Equal(t, "gather_2_long", l.Spec.String())
	d, s := l.Base(planner.Dst, 7), l.Base(planner.Src, 5)
	assert.Equal(t, [2]int64{7, 5}, [2]int64{d, s})
}

// A try of a form that does not fit changes nothing for the next one: here of fields, and
// of a transposition that lets an axis of src run the other way.
func TestTriesAreApart(t *testing.T) {
	h := hostOf(t)
	_, rnd := sweep(t, 1, 29)
	for _, c := range []struct {
		bits       int
		dims, d, s []int64
		few, many  string
	}{
		{1, []int64{1, 31, 3}, []int64{155, 5, 1}, []int64{124, -4, 1}, "field_1", "gather_1_long"},
		{2, []int64{1, 31, 3}, []int64{93, 3, 1}, []int64{155, -5, 1}, "field_1", "gather_2_long"},
		{4, []int64{1, 31, 17}, []int64{527, 17, 1}, []int64{527, -1, 31}, "transpose_4", "gather_4_long"},
	} {
		const dAt, sAt = 3, 155
		l := h.check(t, rnd, strided(c.dims, c.d, dAt), strided(c.dims, c.s, sAt), c.bits, parallel)
		assert.Equal(t, c.few, l.Spec.String())
		many := slices.Concat(slices.Repeat([]int64{2}, 12), c.dims)
		l = h.check(t, rnd, strided(many, manyRows(c.d, c.dims), dAt), strided(many, manyRows(c.s, c.dims), sAt), c.bits, parallel)
		assert.Equal(t, c.many, l.Spec.String())
		d, s := l.Base(planner.Dst, dAt), l.Base(planner.Src, sAt)
		assert.Equal(t, [2]int64{dAt, sAt}, [2]int64{d, s}, "%v", l.Spec)
	}
}
