package planner_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// TestFormsByCost has transpositions at the border between forms: of long lines, and
// of small matrices.
func TestFormsByCost(t *testing.T) {
	for _, c := range []struct {
		form             planner.Form
		bits             int
		count, rows, row int64 // matrices, and the extents of src's
	}{
		{planner.Transpose, 8, 1, 16384, 16384},
		{planner.Transpose, 8, 1, 16385, 16383},
		{planner.Transpose, 16, 1, 50257, 2048},
		{planner.Transpose, 4, 10000, 100, 100},
		{planner.Transpose, 8, 800, 577, 577},
		{planner.Batch, 8, 20000, 129, 127},
		{planner.Batch, 4, 500000, 33, 33},
		{planner.Batch, 8, 100000, 20, 20},
		{planner.Shuffle, 16, 50000, 49, 64},
		{planner.Batch, 16, 50000, 64, 49},
		{planner.Tile, 32, 1, 4096, 4095},
		{planner.Shuffle, 32, 1, 1 << 20, 8},
		{planner.Shuffle, 32, 1, 8, 1 << 20},
		{planner.Shuffle, 32, 100000, 17, 30},
		{planner.Shuffle, 64, 100000, 20, 20},
		{planner.Shuffle, 64, 30000, 33, 33},
	} {
		src := strided([]int64{c.count, c.row, c.rows}, []int64{c.rows * c.row, 1, c.row}, 0)
		l, err := planner.Plan(copying(dense(c.count, c.row, c.rows), src, c.bits), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.form, l.Spec.Form, "%v", c)
	}
}

// TestBands has transpositions whose lines of dst do not begin on sectors, where blocks overlap by one,
// and that lie near each other, where blocks go in bands: the same forwards and backwards.
func TestBands(t *testing.T) {
	for _, c := range []struct {
		bits, a, b, pitch int64     // dst's extents, and its lines' pitch
		tb, step          uint32    // of blocks along b
		outer             [3]uint32 // a band's blocks along b, those along a, and bands
	}{
		{32, 1000, 2047, 2047, 64, 56, [3]uint32{19, 16, 2}},
		{32, 1000, 2048, 2048, 64, 64, [3]uint32{32, 16, 1}},
		{32, 1000, 4097, 4097, 64, 56, [3]uint32{1, 16, 74}}, // far from each other
		{8, 1000, 7999, 7999, 256, 224, [3]uint32{18, 8, 2}},
		{8, 1000, 7999, 8000, 128, 128, [3]uint32{32, 4, 2}},
	} {
		for _, back := range []bool{false, true} {
			dst, src := strided([]int64{c.a, c.b}, []int64{c.pitch, 1}, 0), strided([]int64{c.a, c.b}, []int64{1, c.a}, 0)
			if back {
				src = strided([]int64{c.a, c.b}, []int64{-1, c.a}, c.a-1)
			}
			l, err := planner.Plan(copying(dst, src, int(c.bits)), planner.Target{Multiprocessors: 132})
			require.NoError(t, err)
			word := func(i int) uint32 { return binary.LittleEndian.Uint32(l.Params[4*i:]) }
			axis := func(i int) uint32 { return word(32 + 8*i) }
			assert.Equal(t, c.tb, word(19), "%v, back: %v", c, back)
			assert.Equal(t, c.step, word(28), "%v, back: %v", c, back)
			assert.Equal(t, c.outer, [3]uint32{axis(0), axis(1), axis(2)}, "%v, back: %v", c, back)
		}
	}
}

// TestShortAxesByEffort has permutations of words at the border to shuffles: where a word has two
// elements in common with the other side alone, or words begin anywhere, tiles of whole rows
// take less.
func TestShortAxesByEffort(t *testing.T) {
	for _, c := range []struct {
		form       planner.Form
		bits       int
		shape, src []int64 // dst's extents, and src's steps
	}{
		{planner.Permute, 8, []int64{1 << 20, 4, 8}, []int64{32, 1, 4}},
		{planner.Permute, 16, []int64{1 << 20, 4, 4}, []int64{16, 1, 4}},
		{planner.Permute, 16, []int64{1 << 20, 4, 2}, []int64{8, 1, 4}},
		{planner.Shuffle, 16, []int64{1 << 20, 6, 6, 7}, []int64{252, 1, 42, 6}},
		{planner.Shuffle, 16, []int64{1 << 18, 30, 10}, []int64{-330, -1, 33}},
		{planner.Shuffle, 8, []int64{1 << 18, 7, 5, 7, 4, 2}, []int64{1960, 280, 4, 40, 1, 20}},
	} {
		l, err := planner.Plan(copying(dense(c.shape...), strided(c.shape, c.src, 1<<30), c.bits), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.form, l.Spec.Form, "%v", c)
	}
}

// TestTransposedCastsByCost has casts that are transpositions at the borders between elements, squares,
// columns and batches: lines of few elements are for squares, long ones for columns, and small
// matrices for batches, unless both sides' lines begin on 16 bytes.
func TestTransposedCastsByCost(t *testing.T) {
	for _, c := range []struct {
		to, from         layout.DType
		count, rows, row int64 // matrices, and the extents of src's
		tiles            string
	}{
		{layout.Float32, layout.Float16, 100000, 8, 8, "transposed"},
		{layout.Float32, layout.Float16, 100000, 11, 9, "batched"},
		{layout.Float32, layout.Float16, 30000, 17, 17, "batched"},
		{layout.Float32, layout.Int8, 10000, 33, 31, "batched"},
		{layout.Float32, layout.Int8, 10000, 32, 32, "transposed"},
		{layout.Float32, layout.Float16, 5000, 47, 41, "batched"},
		{layout.Float32, layout.Float16, 3000, 65, 63, "batched"},
		{layout.Float32, layout.Float16, 3000, 64, 64, "transposed"},
		{layout.Float32, layout.BFloat16, 1000, 129, 127, "columns"},
		{layout.Float32, layout.Uint8, 60, 20000, 9, "transposed"},
		{layout.Float32, layout.Uint4, 30000, 17, 17, "transposed"},
		{layout.Float16, layout.Float32, 30000, 17, 17, "transposed"},
		{layout.BFloat16, layout.Int8, 10000, 33, 31, "batched"},
		{layout.Float32, layout.Float16, 3000, 20, 100, "batched"},
		{layout.Float32, layout.Float16, 2, 4096, 4096, "columns"},
		{layout.Float32, layout.Float16, 43, 777, 1001, "columns"},
		{layout.Float32, layout.Uint8, 1, 8191, 4097, "columns"},
		{layout.Float16, layout.Int8, 300, 257, 300, "columns"},
		{layout.BFloat16, layout.Float16, 1, 8191, 8193, "columns"},
		{layout.BFloat16, layout.Float16, 2000, 128, 128, "transposed"},
		{layout.Int8, layout.Float16, 1, 8191, 8193, "transposed"},
		{layout.Float32, layout.Float16, 100, 100000, 9, "transposed"},
	} {
		src := strided([]int64{c.count, c.row, c.rows}, []int64{c.rows * c.row, 1, c.row}, 0)
		l, err := planner.Plan(casting(dense(c.count, c.row, c.rows), src, c.to, c.from, device.Rounding{}), planner.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.tiles == "transposed", l.Spec.Form == planner.TransposedCast, "%v: %v", c, l.Spec)
		assert.Equal(t, c.tiles == "columns", l.Spec.Form == planner.ColumnCast, "%v: %v", c, l.Spec)
		assert.Equal(t, c.tiles == "batched", l.Spec.Form == planner.BatchedCast, "%v: %v", c, l.Spec)
	}
}
