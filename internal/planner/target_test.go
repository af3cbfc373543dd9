package planner_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/planner"
)

// Tiles are larger where a GPU has fewer multiprocessors to keep at work; a target that
// says nothing is a large one.
func TestTilesByMultiprocessors(t *testing.T) {
	dims := []int64{6, 5, 64, 7, 12, 16}
	dst := dense(dims...)
	src := strided(dims, []int64{16, 96 * 7 * 12, 480 * 7 * 12, 96 * 12, 96, 1}, 0)
	groups := func(units int) uint32 {
		l, err := planner.Plan(copying(dst, src, 8), planner.Target{Multiprocessors: units})
		require.NoError(t, err)
		return l.Groups
	}
	assert.Less(t, groups(4), groups(128))
	assert.LessOrEqual(t, groups(16), groups(64))
	assert.Equal(t, groups(128), groups(0))
}
