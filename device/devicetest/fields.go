package devicetest

import (
	"math/rand/v2"
	"testing"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/layout"
)

// fields copies fields of a few bits between pitches: streams of codes of 3, 5 and 6 bits,
// fields of bytes, planes of bits, and rows of all of these.
func (r runner) fields(t *testing.T) {
	n, most := 3000, int64(5000)
	if r.few() {
		n = 400
	}
	if r.Small {
		n, most = 60, 300
	}
	rig := r.rig(t)
	if !r.Small {
		rig.check(oracle.Case{
			Op: oracle.OpCopy, DstType: layout.Uint2, SrcType: layout.Uint2,
			Dst: manyRows(16, 3, 80, 5, 7), Src: manyRows(16, 3, 64, 4, 5),
		}, r.seed)
	}
	for i := range n {
		seed := r.seed + uint64(i)
		rig.check(field(rand.New(rand.NewPCG(seed, 3)), most), seed)
	}
}

// field makes such a copy.
func field(rng *rand.Rand, most int64) oracle.Case {
	dtype, unit, width := layout.Bit, int64(1), 1+rng.Int64N(8)
	if rng.IntN(4) == 0 { // 6 bits
		dtype, unit, width = layout.Uint2, 2, 3
	}
	count := []int64{8, 9, 31, 32, 33, 100, 257, 1 + rng.Int64N(most)}[rng.IntN(8)]
	rows := []int64{1, 1, 2, 3, 32}[rng.IntN(5)]
	if count > 300 {
		rows = 1 + rng.Int64N(2)
	}
	many := most > 300 && rng.IntN(100) == 0
	if many {
		rows, count = 1, 8+rng.Int64N(9)
	}
	place := func() layout.Layout {
		pitch := max(width, []int64{width, 8 / unit, width + rng.Int64N(9), width + rng.Int64N(40)}[rng.IntN(4)])
		row, at := pitch*count, int64(0)
		if rng.IntN(2) == 0 {
			row += rng.Int64N(9)
		}
		if rng.IntN(3) > 0 {
			at = rng.Int64N(140)
		}
		if many {
			return manyRows(count, width, row, pitch, at)
		}
		return strided([]int64{rows, count, width}, []int64{row, pitch, 1}, at)
	}
	return oracle.Case{Op: oracle.OpCopy, DstType: dtype, SrcType: dtype, Dst: place(), Src: place()}
}

// manyRows are rows of fields over 12 axes that do not merge: more than most kernels'
// parameters can hold.
func manyRows(count, width, row, pitch, at int64) layout.Layout {
	dims, strides := []int64{count, width}, []int64{pitch, 1}
	for range 12 {
		row++
		dims, strides = append([]int64{2}, dims...), append([]int64{row}, strides...)
		row *= 2
	}
	return strided(dims, strides, at)
}
