package ptxtest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptxtest"
)

// TestTransposes checks transpositions of narrow elements, of all shapes of tiles: few
// channels, batches of small matrices, odd pitches and offsets, axes that run backwards.
func TestTransposes(t *testing.T) {
	d := ptxtest.New(ptxtest.Options{})
	dev := gpu.New(d)
	defer func() { require.NoError(t, dev.Close()) }()
	rng := rand.New(rand.NewPCG(3, 4))
	extents := []int64{16, 20, 24, 33, 40, 64, 65, 100, 128, 257, 300, 513}
	pick := func(of ...int64) int64 { return of[rng.IntN(len(of))] }
	for try := range uint64(120) {
		bits := try % 4
		least := []int64{33, 16, 16, 16}[bits]
		na, nb := max(pick(extents...), least), max(pick(extents...), least)
		batch := pick(1, 3, 17)
		if rng.IntN(5) == 0 { // many short lines of dst
			na, nb, batch = 2000+pick(extents...), least+pick(0, 1, 17), 1
		}
		d, s := nb+pick(0, 0, 1, 64), na+pick(0, 0, 1, 7, 64)
		a, offset := int64(1), pick(0, 3, 64)
		if rng.IntN(4) == 0 {
			a, offset = -1, offset+na-1
		}
		c, err := oracle.ParseCase(fmt.Sprintf("copy/%s/%dx%dx%d/dst=%d,%d,1@%d/src=%d,%d,%d@%d",
			[]string{"uint2", "uint4", "uint8", "float16"}[bits], batch, na, nb, na*d, d, pick(0, 1, 5, 64), nb*s, a, s, offset))
		require.NoError(t, err)
		assert.NoError(t, oracle.Check(dev, c, try))
	}
	assert.Greater(t, launchesOf(d, planner.Transpose), 60, "other forms than transpose are taken")
}

// TestBands checks transpositions by several bands of blocks, the last of which has blocks that do not
// exist: planner.TestBands has their plans.
func TestBands(t *testing.T) {
	dev := gpu.New(ptxtest.New(ptxtest.Options{Diverge: true}))
	defer func() { require.NoError(t, dev.Close()) }()
	for seed, name := range []string{
		"copy/float/65x2047/dst=2047,1@1/src=1,65@0",
		"copy/float/65x2047/dst=2047,1@0/src=-1,66@64",
		"copy/double/33x3x1022/dst=3066,1022,1@0/src=1,33,99@3",
		"copy/uint8/129x7999/dst=7999,1@1/src=1,129@3",
		"copy/float16/2x70x4090/dst=286300,4090,1@3/src=286300,1,70@0",
		"convert/uint8-float16/225x4090/dst=4090,1@0/src=1,225@0",
		"convert/float-float16/65x4090/dst=4090,1@5/src=1,65@0",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		assert.NoError(t, oracle.Check(dev, c, uint64(seed)))
	}
}

// TestBatches checks transpositions of small contiguous matrices, and of strips of larger ones:
// odd extents, gaps in src between lines and between matrices, odd offsets.
func TestBatches(t *testing.T) {
	d := ptxtest.New(ptxtest.Options{Diverge: true})
	dev := gpu.New(d)
	defer func() { require.NoError(t, dev.Close()) }()
	rng := rand.New(rand.NewPCG(7, 8))
	extents := []int64{3, 7, 9, 11, 17, 24, 33, 49, 65, 100, 197, 513}
	pick := func(of ...int64) int64 { return of[rng.IntN(len(of))] }
	for try := range uint64(160) {
		na, nb := pick(extents...), pick(extents...)
		batch := min(pick(1, 7, 40, 333), max(1, 60000/(na*nb)))
		line := na + pick(0, 0, 1, 40)
		matrix := nb*line + pick(0, 0, 3, 64)
		c, err := oracle.ParseCase(fmt.Sprintf("copy/%s/%dx%dx%d/dst=%d,%d,1@%d/src=%d,1,%d@%d",
			[]string{"uint2", "uint4", "uint8", "float16"}[try%4], batch, na, nb, na*nb, nb, pick(0, 1, 5, 64), matrix, line, pick(0, 3, 64)))
		require.NoError(t, err)
		assert.NoError(t, oracle.Check(dev, c, try))
	}
	assert.Greater(t, launchesOf(d, planner.Batch), 70, "other forms than batch are taken")
}

// TestTiles checks transpositions of words and wider elements by tiles of all shapes.
func TestTiles(t *testing.T) {
	d := ptxtest.New(ptxtest.Options{})
	dev := gpu.New(d)
	defer func() { require.NoError(t, dev.Close()) }()
	rng := rand.New(rand.NewPCG(5, 6))
	extents := []int64{16, 17, 20, 24, 33, 40, 49, 64, 65, 100, 128, 193, 257, 300}
	pick := func(of ...int64) int64 { return of[rng.IntN(len(of))] }
	for try := range uint64(120) {
		na, nb, batch := pick(extents...), pick(extents...), pick(1, 3, 17)
		d, s := nb+pick(0, 0, 1, 64), na+pick(0, 0, 1, 7)
		a, offset := pick(1, 1, 1, -1, 2), pick(0, 3)
		if a == 2 {
			s *= 2
		}
		if a < 0 {
			offset += na - 1
		}
		c, err := oracle.ParseCase(fmt.Sprintf("copy/%s/%dx%dx%d/dst=%d,%d,1@%d/src=%d,%d,%d@%d",
			[]string{"uint32", "uint64", "complex128"}[try%3], batch, na, nb, na*d, d, pick(0, 1, 5), nb*s, a, s, offset))
		require.NoError(t, err)
		assert.NoError(t, oracle.Check(dev, c, try))
	}
	assert.Greater(t, launchesOf(d, planner.Tile), 100, "other forms than tile are taken")
}

// launchesOf is the number of launches of a form's kernels.
func launchesOf(d *ptxtest.Driver, form planner.Form) (n int) {
	for s, launches := range d.Launches() {
		if s.Form == form {
			n += launches
		}
	}
	return n
}
