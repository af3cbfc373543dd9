package ptxtest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/backend"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/numeric"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptxtest"
	"github.com/restride/restride/internal/soak"
	"github.com/restride/restride/layout"
)

// TestCasts checks casts between dense rows, whose ends share words with other rows, and with
// bytes outside dst.
func TestCasts(t *testing.T) {
	d := ptxtest.New(ptxtest.Options{Diverge: true})
	dev := gpu.New(d)
	defer func() { require.NoError(t, dev.Close()) }()
	check := func(text string, seed uint64) {
		c, err := oracle.ParseCase(text)
		require.NoError(t, err)
		assert.NoError(t, oracle.Check(dev, c, seed), text)
	}
	// A work-item must not store a word into which another one merges its part.
	check("convert/float-float4e2m1/220x1/dst=1,1@155/src=1,1@0", 1)
	// Absent elements must not form an item.
	check("convert/uint16-int2/4x2x6/dst=12,6,1@9/src=12,6,1@108/how=nearest", 1)
	check("convert/uint4-int2/1x1x1x251x1x1/dst=251,251,251,1,1,1@58/src=1,251,1,1,1,1@112/how=unsaturated,down", 1)

	// Slots of few lines must be found.
	for _, text := range []string{
		"convert/float-float4e2m1/1x200x33/dst=8203,41,1@1/src=6600,1,200@1", "convert/float-int4/5x200x100/dst=21603,108,1@0/src=20000,1,200@0",
		"convert/float-int4/3x9x65/dst=657,73,1@0/src=651,1,10@0", "convert/float-float4e2m1/2x129x17/dst=2580,20,1@0/src=2210,-1,130@131",
		"convert/float-int4/2x1000x12/dst=12000,12,1@0/src=12012,1,1001@3",
	} {
		check(text, 1)
	}

	var types []layout.DType
	for _, u := range layout.DTypes() {
		if u.Bits() <= 32 && u != layout.String && numeric.KindOf(u) != 0 {
			types = append(types, u)
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	pick := func(of ...int64) int64 { return of[rng.IntN(len(of))] }
	tries := 150
	if soak.Enabled() {
		tries = 5000
	}
	for try := 0; try < tries; {
		to, from := types[rng.IntN(len(types))], types[rng.IntN(len(types))]
		if backend.ConversionOf(to, from) != backend.ByValue {
			continue
		}
		try++
		rows, n := pick(1, 2, 3, 9), pick(64, 65, 66, 71, 100, 127, 128, 129, 200, 256, 257, 1000)
		if rows == 1 {
			n += pick(0, 0, 2000, 8200)
		}
		how := []string{"", "/how=unsaturated"}[rng.IntN(2)]
		check(fmt.Sprintf("convert/%v-%v/%dx%d/dst=%d,1@%d/src=%d,1@%d%s", from, to, rows, n,
			n+pick(0, 0, 1, 3, 16), rng.Int64N(70), n+pick(0, 0, 1, 7, 16), rng.Int64N(70), how), uint64(try))
	}
	assert.Greater(t, launchesOf(d, planner.DenseCast), tries*8/10, "other forms are planned")
}

// TestStridedCasts checks casts of elements that are apart on one side, in any number.
func TestStridedCasts(t *testing.T) {
	d := ptxtest.New(ptxtest.Options{})
	dev := gpu.New(d)
	defer func() { require.NoError(t, dev.Close()) }()
	var types []layout.DType
	for _, u := range layout.DTypes() {
		switch numeric.KindOf(u) {
		case numeric.BoolKind, numeric.IntKind, numeric.UintKind, numeric.FloatKind:
			types = append(types, u)
		}
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for _, to := range types {
		for _, from := range types {
			if backend.ConversionOf(to, from) != backend.ByValue || !soak.Enabled() && rng.IntN(4) > 0 {
				continue
			}
			dStep, sStep := 1+rng.IntN(2), 2+rng.IntN(2)
			text := fmt.Sprintf("convert/%v-%v/300/dst=%d@%d/src=%d@%d", from, to, dStep, rng.IntN(70), sStep, rng.IntN(70))
			c, err := oracle.ParseCase(text)
			require.NoError(t, err)
			assert.NoError(t, oracle.Check(dev, c, rng.Uint64()), text)
		}
	}
	assert.Greater(t, launchesOf(d, planner.Cast)+launchesOf(d, planner.CastWords), 20)
}
