package ptxtest_test

import (
	"math/rand/v2"
	"slices"
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

// TestPermutes checks permutations within words and between them, of all widths: with words
// that are only in part elements, fields of three, blocks that begin at any byte, axes that run
// backwards, and extents that tiles do not divide.
func TestPermutes(t *testing.T) {
	cases := uint64(15)
	if soak.Enabled() {
		cases = 300
	}
	for _, of := range []layout.DType{layout.Uint2, layout.Uint4, layout.Uint8, layout.Float16} {
		t.Run(of.String(), func(t *testing.T) {
			t.Parallel()
			d := ptxtest.New(ptxtest.Options{Diverge: true, Blocks: 5})
			dev := gpu.New(d)
			defer func() { require.NoError(t, dev.Close()) }()
			rng := rand.New(rand.NewPCG(6, uint64(of)))
			for done := uint64(0); done < cases; {
				c := fields(rng, of)
				if l, err := launches.Of(c, planner.Target{}); err != nil || l.Spec.Form != planner.Permute {
					continue
				}
				assert.NoError(t, oracle.Check(dev, c, done), c.String())
				done++
			}
		})
	}
}

// fields is a copy of blocks of a few digits, in another order in src, where part of a word or
// a byte is outside the copy on one side or both.
func fields(rng *rand.Rand, of layout.DType) oracle.Case {
	shape := []int64{0}
	inner := int64(1)
	for inner < 16<<rng.IntN(4) {
		n := int64(2) << rng.IntN(4)
		shape, inner = append(shape, n), inner*n
	}
	shape[0] = 1 + (40000+rng.Int64N(20000))/inner
	three := of.Bits() < 8 && rng.IntN(4) == 0 // of four
	if three {
		shape = append(shape, 3)
	}
	side := func(mixed bool) layout.Layout {
		order := make([]int, len(shape)) // from the innermost axis
		for i := range order {
			order[i] = len(order) - 1 - i
		}
		first := 0
		if three {
			first = 1
		}
		if mixed {
			digits := order[first : len(order)-rng.IntN(2)]
			rng.Shuffle(len(digits), func(i, j int) { digits[i], digits[j] = digits[j], digits[i] })
		}
		strides, step, offset := make([]int64, len(shape)), int64(1), []int64{0, 0, 1, 2, 4, 6, 8, 13, 64}[rng.IntN(9)]
		gapped := -1
		if of.Bits() < 8 && !three && rng.IntN(2) == 0 {
			gapped = rng.IntN(2)
		}
		for i, axis := range order {
			if i == gapped {
				step <<= 1 + rng.IntN(2)
			}
			if i == len(order)-1 {
				step += []int64{0, 0, 8, 4, 16, 1}[rng.IntN(6)]
			}
			strides[axis] = step
			if mixed && !three && rng.IntN(8) == 0 {
				strides[axis] = -step
				offset += (shape[axis] - 1) * step
			}
			if step *= shape[axis]; three && i == 0 {
				step = 4
			}
		}
		l, err := layout.Strided(shape, strides, offset)
		if err != nil {
			panic(err)
		}
		return l
	}
	sides := []layout.Layout{side(false), side(true)}
	if rng.IntN(2) == 0 {
		slices.Reverse(sides)
	}
	return oracle.Case{Op: oracle.OpCopy, DstType: of, SrcType: of, Dst: sides[0], Src: sides[1]}
}
