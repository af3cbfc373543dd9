package ptxtest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/launches"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptxtest"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// TestShuffles checks permutations of short axes: of all widths, with gaps and offsets on
// either side, axes that run backwards, few channels, and tiles cut along one axis or two.
func TestShuffles(t *testing.T) {
	cases := uint64(20)
	if soak.Enabled() {
		cases = 400
	}
	for _, of := range []layout.DType{layout.Uint8, layout.Float16, layout.Float32, layout.Float64, layout.Complex128} {
		t.Run(of.String(), func(t *testing.T) {
			t.Parallel()
			d := ptxtest.New(ptxtest.Options{Diverge: true, Blocks: 5})
			dev := gpu.New(d)
			defer func() { require.NoError(t, dev.Close()) }()
			rng := rand.New(rand.NewPCG(5, uint64(of)))
			for done := uint64(0); done < cases; {
				c := shuffled(rng, of, int64(64<<10)<<(6*(done%5/4)))
				if l, err := launches.Of(c, planner.Target{}); err != nil || l.Spec.Form != planner.Shuffle {
					continue
				}
				assert.NoError(t, oracle.Check(dev, c, done))
				done++
			}
		})
	}
}

// shuffled is a copy of at most about the given number of bytes, of axes in another order in
// src. Most are short; some are of channels; sometimes there is a gap between an axis's
// indices, or one runs backwards.
func shuffled(rng *rand.Rand, of layout.DType, bytes int64) oracle.Case {
	extents := []int64{2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 31, 40, 65}
	room := bytes * 8 / int64(of.Bits())
	shape, elements := make([]int64, 2+rng.IntN(5)), int64(1)
	for i := range shape {
		shape[i] = extents[rng.IntN(len(extents))]
		if elements*shape[i] > room {
			shape[i] = 1
		}
		elements *= shape[i]
	}
	if left := room / elements; left > 1 && rng.IntN(2) == 0 {
		shape[rng.IntN(len(shape))] *= 1 + rng.Int64N(left)
	}
	d, src := rng.Perm(len(shape)), rng.Perm(len(shape))
	if len(shape) > 2 && rng.IntN(4) == 0 { // planes of pixels of three channels
		shape[d[2]], src = 3, append([]int{d[2], d[0], d[1]}, d[3:]...)
	}
	side := func(order []int) layout.Layout {
		strides, step, offset := make([]int64, len(shape)), int64(1), int64(rng.IntN(2)*rng.IntN(40))
		gaps := rng.IntN(3) == 0
		for i, axis := range order {
			if strides[axis] = step; rng.IntN(8) == 0 {
				strides[axis], offset = -step, offset+(shape[axis]-1)*step
			}
			step *= shape[axis]
			if gaps && i > 0 {
				step += rng.Int64N(9)
			}
		}
		l, err := layout.Strided(shape, strides, offset)
		if err != nil {
			panic(err)
		}
		return l
	}
	return oracle.Case{Op: oracle.OpCopy, DstType: of, SrcType: of, Dst: side(d), Src: side(src)}
}
