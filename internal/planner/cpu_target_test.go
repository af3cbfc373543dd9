package planner_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/layout"
)

// permuted is a contiguous layout of dims with its axes permuted.
func permuted(dims []int64, perm ...int) layout.Layout {
	l, err := dense(dims...).Permute(perm...)
	if err != nil {
		panic(err)
	}
	return l
}

func TestPlanCPU(t *testing.T) {
	huge := int64(1) << 33
	for _, c := range []struct {
		name   string
		bits   int
		src    layout.Layout
		kernel string
		blocks uint32
	}{
		{"scalar", 32, dense(), "block_32_step1_serial", 1},
		{"contiguous", 32, dense(1 << 20), "block_128_step1_serial", 256},
		{"contiguous, a prime number", 8, dense(65537), "block_8_step1_serial", 5},
		{"more than 2^31 bytes", 8, dense(huge + 1), "block_8_step1_serial", 1<<19 + 1},
		{"rows with gaps", 32, strided([]int64{1000, 33}, []int64{37, 1}, 1), "block_32_step1_serial", 9},
		{"short rows with gaps", 32, strided([]int64{1000, 3}, []int64{4, 1}, 0), "block_32_serial", 1},
		{"heads", 32, permuted([]int64{8, 512, 16, 64}, 0, 2, 1, 3), "block_128_step1_serial", 1024},
		{"every second", 16, strided([]int64{64, 4096}, []int64{8192, 2}, 0), "block_16_step2_serial", 32},
		{"every fifth", 16, strided([]int64{64, 4096}, []int64{5 * 4096, 5}, 0), "block_16_serial", 32},
		{"reversed", 64, strided([]int64{64, 4096}, []int64{4096, -1}, 4095), "block_64_back1_serial", 128},
		{"repeated columns", 32, strided([]int64{64, 4096}, []int64{1, 0}, 0), "block_32_repeat_serial", 64},
		{"repeated rows", 32, strided([]int64{64, 4096}, []int64{0, 1}, 0), "block_128_step1_serial", 64},
		{"repeated a few times", 32, strided([]int64{4096, 5}, []int64{1, 0}, 0), "block_32_serial", 6},
		{"transpose", 32, permuted([]int64{4096, 4096}, 1, 0), "block_32_serial", 4096},
		{"transpose of bytes", 8, permuted([]int64{8192, 8192}, 1, 0), "block_8_serial", 4096},
		{"transpose, rows in parts of lines", 32, permuted([]int64{4095, 4095}, 1, 0), "block_32_serial", 32 * 128},
		{"turned by 90 degrees", 32, strided([]int64{4096, 4096}, []int64{-1, 4096}, 4095), "block_32_serial", 4096},
		{"colours to the inside", 8, permuted([]int64{2, 3, 256, 256}, 0, 2, 3, 1), "block_8_serial", 2 * 13},
		{"colours to the outside", 8, permuted([]int64{2, 256, 256, 3}, 0, 3, 1, 2), "block_8_step3_serial", 26},
		{"short axes", 32, permuted([]int64{16, 20, 24, 12, 14, 13}, 5, 2, 1, 3, 0, 4), "block_32_serial", 24 * 20 * 12},
		{"small squares", 32, permuted([]int64{1 << 14, 4, 4}, 0, 2, 1), "block_32_serial", 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := planner.Plan(copying(like(c.src), c.src, c.bits), cpu)
			require.NoError(t, err)
			assert.Equal(t, c.kernel, l.Spec.String())
			assert.Equal(t, c.blocks, l.Groups)
			assert.Contains(t, planner.Specs(), l.Spec)
		})
	}
	inPlace := strided([]int64{5}, []int64{0}, 0)
	l, err := planner.Plan(copying(inPlace, dense(5), 32), cpu)
	require.NoError(t, err)
	assert.Equal(t, planner.Block, l.Spec.Form)
}

// TestBlocks runs plans on the host: sizes about those of squares, lines and
// blocks, in all orders.
func TestBlocks(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 200, 5)
	extents := []int64{1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 129, 255, 257, 1000, 1025, 5000}
	for range rounds {
		dims := make([]int64, 1+rnd.IntN(5))
		room := int64(1) << (8 + rnd.IntN(10))
		if rnd.IntN(100) == 0 { // more than stays in caches
			room = 1 << 21
		}
		for i := range dims {
			if dims[i] = extents[rnd.IntN(len(extents))]; dims[i] > room {
				dims[i] = 1 + rnd.Int64N(3)
			}
			room = max(1, room/dims[i])
		}
		gaps := rnd.IntN(2) == 0
		dst := side(rnd, dims, rnd.Perm(len(dims)), gaps, rnd.IntN(3) == 0, false)
		src := side(rnd, dims, rnd.Perm(len(dims)), gaps, rnd.IntN(3) == 0, rnd.IntN(3) == 0)
		h.check(t, rnd, dst, src, 8<<rnd.IntN(5), cpu)
		// A step along the innermost axis, of constants and others.
		s := rnd.Int64N(11) - 4
		n := dims[0]
		step := strided([]int64{3, n}, []int64{9 * n, s}, max(0, -s*(n-1)))
		h.check(t, rnd, like(step), step, 8<<rnd.IntN(5), cpu)
	}
	t.Log(h.forms)
}

// Every kernel for CPUs is planned for some layout: by random cases, and where memory is far
// apart.
func TestEveryCPUKernelIsPlanned(t *testing.T) {
	planned := map[planner.Spec]bool{}
	note := func(l planner.Launch, err error) {
		require.NoError(t, err)
		planned[l.Spec] = true
	}
	types := slices.DeleteFunc(append(layout.DTypes(), layout.Bit), func(t layout.DType) bool { return t == layout.String })
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60000 {
		l, err := launches.Of(oracle.Random(rng, oracle.Limits{MaxBytes: 4096, Types: types}), cpu)
		note(l.Launch, err)
	}
	for bits := 8; bits <= 128; bits *= 2 {
		note(planner.Plan(filling(strided([]int64{2, 3}, []int64{1 << 40, 2}, 0), bits), cpu))
	}
	for _, s := range planner.Specs() {
		assert.True(t, !s.CPUTarget || planned[s], "%v", s)
	}
}
