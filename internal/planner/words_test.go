package planner_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/internal/planner"
)

// TestRuns copies runs and rows of them, forwards and backwards, of all lengths from and
// to all places in 16 bytes.
func TestRuns(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 300, 11)
	forms := map[planner.Form]int{}
	for range rounds {
		bits := 2 << rnd.IntN(4)
		per := int64(128 / bits)
		n := 1 + rnd.Int64N(300)
		if rnd.IntN(20) == 0 { // more than a block does
			n = 1023*per + rnd.Int64N(4*per)
		}
		dims := []int64{1 + rnd.Int64N(3), 1 + rnd.Int64N(5), n}
		gap := func() int64 { return rnd.Int64N(2) * rnd.Int64N(2*per) }
		pitch := n + gap()
		dst := strided(dims, []int64{pitch*dims[1] + gap(), pitch, 1}, rnd.Int64N(2*per))
		pitch = n + gap()
		src := strided(dims, []int64{pitch*dims[1] + gap(), pitch, 1}, rnd.Int64N(2*per))
		if rnd.IntN(2) == 0 {
			src = strided(dims, []int64{pitch*dims[1] + gap(), pitch, -1}, rnd.Int64N(2*per)+n-1)
		}
		forms[h.check(t, rnd, dst, src, bits, planner.Target{}).Spec.Form]++
	}
	assert.Greater(t, forms[planner.Run], rounds/10)
	assert.Greater(t, forms[planner.Repack], rounds/10)
}

// TestPeriods copies many rows at once, of chunks in periods: forwards, backwards, each
// element or row several times, with gaps and without, over one axis of rows or two.
func TestPeriods(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 900, 13)
	ran := map[string]int{}
	for range rounds {
		bits := 2 << rnd.IntN(6)
		per := int64(128 / bits)
		n, most, how := per-2+rnd.Int64N(6*per), int64(150), rnd.IntN(7)
		switch {
		case bits >= 32 && rnd.IntN(2) == 0: // more than a pass of elements
			n = 257 + rnd.Int64N(800)
		case rnd.IntN(10) == 0: // more than a block does
			n = 255*per + rnd.Int64N(4*per)
		case rnd.IntN(4) == 0:
			n, most, how = 1+rnd.Int64N(per), 700, 3
		}
		if n = max(n, 1); rnd.IntN(8) == 0 { // two in a chunk
			n = per / 2
		}
		dims := []int64{1 + rnd.Int64N(3), 1 + rnd.Int64N(most), n}
		if rnd.IntN(2) == 0 {
			dims[0], dims[1] = dims[1], dims[0]
		}
		gap := func() int64 { return rnd.Int64N(2) * rnd.Int64N(2*per) }
		side := func() []int64 {
			pitch := n + gap()
			return []int64{pitch*dims[1] + gap(), pitch, 1}
		}
		dst, steps, offset := strided(dims, side(), rnd.Int64N(2*per)), side(), rnd.Int64N(2*per)
		switch how {
		case 0:
			steps[2], offset = -1, offset+n-1
		case 1, 6:
			steps = []int64{1 + gap()*dims[1], 1, 0}
		case 2:
			steps[0] = 0
		case 3:
			steps[1] = 0
		case 4:
			steps[1], offset = -steps[1], offset+steps[1]*(dims[1]-1)
		}
		if s := h.check(t, rnd, dst, strided(dims, steps, offset), bits, planner.Target{}).Spec; s.Periodic {
			ran[s.String()]++
		}
	}
	for _, form := range []string{"run_%d_periods", "repack_%d_back1_periods", "gather_%d_repeat_periods"} {
		for bits := 2; bits <= 16; bits *= 2 {
			assert.NotZero(t, ran[fmt.Sprintf(form, bits)], form, bits)
		}
	}
	for _, kernel := range []string{"gather_2_periods", "gather_4_periods", "repack_32_back1_periods"} {
		assert.NotZero(t, ran[kernel], kernel)
	}
}
