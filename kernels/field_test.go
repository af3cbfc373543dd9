package kernels_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFields moves fields of a few bits between pitches, of streams and of bytes.
func TestFields(t *testing.T) {
	h := hostOf(t)
	rounds, rnd := sweep(t, 60, 17)
	for round := range rounds {
		unit := 1 + rnd.IntN(2)
		width := 1 + rnd.Int64N(9)
		if unit == 2 {
			width = 3
		}
		pitch := func() int64 { return width + rnd.Int64N(32/int64(unit)-width+1) }
		dPitch, sPitch := pitch(), pitch()
		if round%3 > 0 {
			dPitch, sPitch = width, int64(8/unit)
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
		h.check(t, rnd, strided(dims, dStrides, dAt), strided(dims, sStrides, sAt), unit, parallel)
	}
	assert.Positive(t, h.forms["field_1"], "%v", h.forms)
}
