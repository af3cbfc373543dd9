package cpu_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// Small inner axes in any order, some backwards, in what has gaps on either side and
// starts anywhere: blocks, unpacked or not, and all that they leave to others.
func TestSmallAxes(t *testing.T) { cpu.EachLevel(t, testSmallAxes) }

func testSmallAxes(t *testing.T) {
	severalWorkers(t, 3)
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	cases := 150
	if soak.Enabled() {
		cases = 5000
	}
	for seed := range uint64(cases) {
		if cpu.Elsewhere(int(seed)) {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 41))
		c := smallAxes(t, rng)
		cpu.StreamFrom(t, []int64{1, 5000, 4 << 20}[rng.IntN(3)])
		require.NoError(t, oracle.CheckOn(dev, q, c, seed), "seed %d: %v", seed, c)
	}
}

// A row was cut where a block of items was not whole, and what was left of the row had
// another number of items than planned: others' elements were written.
func TestRowsAreCutBetweenBlocks(t *testing.T) { cpu.EachLevel(t, testRowsAreCutBetweenBlocks) }

func testRowsAreCutBetweenBlocks(t *testing.T) {
	dev := open(t)
	defer dev.Close()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for _, name := range []string{
		"copy/float/257x3x1x5/dst=-5,1285,1285,1@1328/src=25,0,0,5@0",
		"copy/uint8/3x1000x5x2/dst=10000,10,2,1@1/src=0,20,2,10@0",
		"copy/float16/1001x7x3/dst=22,3,1@0/src=21,1,7@0",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		require.NoError(t, oracle.CheckOn(dev, q, c, 1), name)
	}
}

// smallAxes returns a copy of up to some 300 KB.
func smallAxes(t *testing.T, rng *rand.Rand) oracle.Case {
	typ := []layout.DType{layout.Uint2, layout.Uint4, layout.Uint4, layout.Uint8, layout.Float16, layout.Float32, layout.Float64, layout.Complex128}[rng.IntN(8)]
	most := int64(1+rng.IntN(300)) << 13 / int64(typ.Bits())
	rank, odd := 2+rng.IntN(5), rng.IntN(2) == 0
	dims := make([]int64, rank)
	all := int64(1)
	for i := range dims {
		dims[i] = int64(2) << rng.IntN(4)
		if odd {
			dims[i] = 2 + rng.Int64N(9)
		}
		if all*dims[i] > most {
			dims[i] = 2
		}
		all *= dims[i]
	}
	dims[rng.IntN(rank)] *= max(1, most/all)
	side := func(perm []int, back, gaps int) layout.Layout {
		strides, offset, step := make([]int64, rank), rng.Int64N(3)*int64(rng.IntN(2)), int64(1)
		for _, k := range slices.Backward(perm) {
			if strides[k] = step; rng.IntN(back) == 0 {
				strides[k] = -step
				offset += (dims[k] - 1) * step
			}
			step *= dims[k]
			if rng.IntN(gaps) == 0 {
				step += rng.Int64N(5)
			}
		}
		l, err := layout.Strided(dims, strides, offset)
		require.NoError(t, err)
		return l
	}
	order := make([]int, rank)
	for i := range order {
		order[i] = i
	}
	c := oracle.Case{Op: oracle.OpCopy, DstType: typ, SrcType: typ}
	c.Dst, c.Src = side(order, 20, 8), side(rng.Perm(rank), 8, 4)
	return c
}
