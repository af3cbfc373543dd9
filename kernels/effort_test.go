package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/kernels"
)

// TestFormsByEffort has transpositions at the border between forms: of long lines, and
// of small matrices.
func TestFormsByEffort(t *testing.T) {
	for _, c := range []struct {
		form             kernels.Form
		bits             int
		count, rows, row int64 // matrices, and the extents of src's
	}{
		{kernels.Transpose, 8, 1, 16384, 16384},
		{kernels.Transpose, 8, 1, 16385, 16383},
		{kernels.Transpose, 16, 1, 50257, 2048},
		{kernels.Transpose, 4, 10000, 100, 100},
		{kernels.Shuffle, 8, 100000, 20, 20},
		{kernels.Shuffle, 16, 50000, 49, 64},
		{kernels.Shuffle, 16, 50000, 64, 49},
		{kernels.Tile, 32, 1, 4096, 4095},
		{kernels.Shuffle, 32, 1, 1 << 20, 8},
		{kernels.Shuffle, 32, 1, 8, 1 << 20},
		{kernels.Shuffle, 32, 100000, 17, 30},
		{kernels.Shuffle, 64, 100000, 20, 20},
		{kernels.Shuffle, 64, 30000, 33, 33},
	} {
		src := strided([]int64{c.count, c.row, c.rows}, []int64{c.rows * c.row, 1, c.row}, 0)
		l, err := kernels.PlanCopy(dense(c.count, c.row, c.rows), src, c.bits, kernels.Target{})
		require.NoError(t, err)
		assert.Equal(t, c.form, l.Spec.Form, "%v", c)
	}
}
