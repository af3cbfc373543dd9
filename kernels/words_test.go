package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/restride/restride/kernels"
)

// TestRuns copies runs and rows of them, forwards and backwards, of all lengths from and
// to all places in 16 bytes.
func TestRuns(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 300, 11)
	forms := map[kernels.Form]int{}
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
		forms[h.check(t, rnd, dst, src, bits, kernels.Target{}).Spec.Form]++
	}
	assert.Greater(t, forms[kernels.Run], rounds/10)
	assert.Greater(t, forms[kernels.Repack], rounds/10)
}
