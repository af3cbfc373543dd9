package ptxtest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cuda/ptxtest"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/kernels"
	"github.com/restride/restride/kernels/launches"
	"github.com/restride/restride/layout"
)

// TestRings checks transpositions whose lines of dst begin anywhere, on a GPU so small that
// groups do runs of blocks: at any pitch, of axes that run backwards, and of several matrices.
func TestRings(t *testing.T) {
	cases := uint64(3)
	if soak.Enabled() {
		cases = 60
	}
	target := kernels.Target{Multiprocessors: 1}
	for _, of := range []layout.DType{layout.Int4, layout.Uint8, layout.Float16} {
		t.Run(of.String(), func(t *testing.T) {
			t.Parallel()
			dev := gpu.New(ptxtest.New(ptxtest.Options{Diverge: true, Target: target}))
			defer func() { require.NoError(t, dev.Close()) }()
			rng := rand.New(rand.NewPCG(7, uint64(of)))
			for done := uint64(0); done < cases; {
				c := pitched(rng, of)
				l, err := launches.Of(c, target)
				require.NoError(t, err)
				if l.Spec.Ring {
					assert.NoError(t, oracle.Check(dev, c, done))
					done++
				}
			}
		})
	}
}

// pitched is a copy between matrices of which one side is transposed, with gaps between lines, and
// of about as many elements as some forty tiles have.
func pitched(rng *rand.Rand, of layout.DType) oracle.Case {
	elements := 40 * (32 << 10) * 8 / int64(of.Bits())
	count, across := 1+rng.Int64N(4), int64(2048/of.Bits())
	wide := across/2 + rng.Int64N(4*across)
	shape := []int64{count, wide, elements/(count*wide) + rng.Int64N(30)}
	side := func(near int) layout.Layout {
		far, strides := 3-near, make([]int64, 3)
		strides[near] = 1
		strides[far] = shape[near] + rng.Int64N(9)
		if rng.IntN(4) == 0 {
			strides[far] = (shape[near] + 31) / 32 * 32
		}
		strides[0] = strides[far]*shape[far] + rng.Int64N(9)
		offset := rng.Int64N(70)
		for i := range strides {
			if i != near && rng.IntN(4) == 0 {
				offset += (shape[i] - 1) * strides[i]
				strides[i] = -strides[i]
			}
		}
		l, err := layout.Strided(shape, strides, offset)
		if err != nil {
			panic(err)
		}
		return l
	}
	return oracle.Case{Op: oracle.OpCopy, DstType: of, SrcType: of, Dst: side(2), Src: side(1)}
}
