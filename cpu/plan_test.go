package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/simd"
)

// explained returns the planners' answers to a copy or a conversion.
func explained(o *oracle.Case) (all []choice) {
	f := form{op: opCopy, align: 16, dst: o.DstType, src: o.DstType}
	if o.Op == oracle.OpConvert {
		f.op, f.src = opConvert, o.SrcType
	}
	j := new(job)
	if j.prepare(&f, &o.Dst, &o.Src) {
		j.choose(func(c choice) { all = append(all, c) })
	}
	return all
}

// chosen returns the mover of the last choice that has one.
func chosen(all []choice) (found mover) {
	for _, c := range all {
		if c.mover != nil {
			found = c.mover
		}
	}
	return found
}

func TestExplain(t *testing.T) {
	Force(t, simd.None)
	for name, want := range map[string]string{
		"copy/float/1000/dst=1@0/src=1@0":                        "rows",
		"copy/string/100x3/dst=3,1@0/src=4,1@0":                  "rows of strings",
		"copy/float/1000/dst=1@0/src=3@0":                        "elements",
		"copy/uint8/300x3/dst=3,1@0/src=1,300@0":                 "stride3 merge",
		"copy/float/300x500/dst=500,1@0/src=1,300@0":             "tiles in loops",
		"copy/uint4/300x500/dst=500,1@0/src=1,300@0":             "bit tiles in loops",
		"copy/uint8/700x8x2/dst=16,2,1@0/src=16,1,8@0":           "delta swaps",
		"copy/bit/1000x6/dst=8,1@0/src=6,1@0":                    "fields",
		"copy/uint4/1000/dst=1@0/src=-1@999":                     "reversed bits",
		"convert/int4-int8/1000/dst=1@0/src=1@0":                 "unpacking",
		"convert/float-float16/1000/dst=1@0/src=1@0":             "casts",
		"copy/float/2000x3x2/dst=6,2,1@0/src=6,1,3@0":            "permutation",
		"copy/uint4/999x3x5x8/dst=120,40,8,1@0/src=120,1,3,15@0": "unpacked blocks",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		got := chosen(explained(&c))
		require.NotNil(t, got, name)
		require.Equal(t, want, got.name(), name)
	}
}

// Costs fall from choice to choice, refusals have reasons, and whoever refuses leaves the job as
// it was.
func TestPlanners(t *testing.T) { EachLevel(t, testPlanners) }

func testPlanners(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		c := oracle.Random(rng, oracle.Limits{MaxBytes: 64 << 10, Ops: []oracle.Op{oracle.OpCopy, oracle.OpConvert}})
		all := explained(&c)
		if all == nil {
			continue
		}
		limit := int64(anyCost)
		for _, x := range all {
			require.NotEqual(t, x.mover == nil, x.why == "", "%v: %v", c, x)
			if x.mover != nil {
				require.Less(t, x.cost, limit, "%v: %v", c, x)
				limit = x.cost
			}
		}
		require.NotNil(t, chosen(all), "%v", c)
		leavesAsItWas(t, &c)
	}
}

func leavesAsItWas(t *testing.T, c *oracle.Case) {
	if c.Op == oracle.OpConvert {
		return
	}
	f, j := form{op: opCopy, align: 16, dst: c.DstType, src: c.DstType}, new(job)
	require.True(t, j.prepare(&f, &c.Dst, &c.Src))
	j.classify()
	met, _ := j.conditions()
	before, axes := j.pair, j.grid
	for _, p := range loopPlanners {
		if p.needs&^met != 0 {
			continue
		}
		if m, _, _ := p.plan(j, anyCost); m == nil {
			require.Equal(t, before.rank, j.rank, "%s: %v", p.name, c)
			require.Equal(t, before.axes[:before.rank], j.axes[:j.rank], "%s: %v", p.name, c)
			require.Equal(t, axes, j.grid)
		}
		j.pair, j.grid = before, axes
	}
}
