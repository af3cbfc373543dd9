package ptxtest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/planner"
	"github.com/restride/restride/internal/ptxtest"
)

// TestPeriods checks rows at odd pitches whose chunks repeat with a period: joined in dst or
// with gaps, forwards and backwards, numbers of periods that a turn of four does not divide,
// rows of less than a chunk for each work-item of a warp and of more than a block, unpacked and
// packed.
func TestPeriods(t *testing.T) {
	ops := []string{
		"copy/uint2", "copy/uint4", "copy/uint8", "copy/float16", "copy/uint4", "copy/uint8", "copy/float16",
		"convert/uint4-int8", "convert/uint8-uint4",
	}
	try := 0
	launched := 0
	for s, n := range checked(t, 72, func(_ *rand.Rand, pick func(...int64) int64) string {
		n, rows := pick(255, 257, 303, 511, 1023, 4097), pick(65, 97, 130, 151)
		a, s, offset := int64(1), n+pick(0, 1, 2, 13), pick(0, 1, 5, 64)
		if try%9 >= 4 && try%9 < 7 {
			a, offset = -1, offset+n-1
		}
		try++
		return fmt.Sprintf("%s/%dx%d/dst=%d,1@%d/src=%d,%d@%d",
			ops[(try-1)%9], rows, n, n+pick(0, 0, 1, 3), pick(0, 1, 5, 64), s, a, offset)
	}) {
		if s.Periodic {
			launched += n
		}
	}
	assert.Greater(t, launched, 50, "other kernels than those of periods are taken")
}

// TestTorn checks rows of wider elements that begin anywhere in dst, forwards and backwards,
// and fills: the rows are moved by chunks, and so are fills of one run.
func TestTorn(t *testing.T) {
	launched := checked(t, 60, func(rng *rand.Rand, pick func(...int64) int64) string {
		typ := []string{"float", "double"}[rng.IntN(2)]
		n, rows := pick(257, 300, 633, 1001, 1025), pick(1, 7, 33, 40)
		pitch, offset := n+pick(0, 0, 1, 5), pick(0, 1, 5)
		dst := fmt.Sprintf("%dx%d/dst=%d,1@%d", rows, n, pitch, offset)
		switch rng.IntN(3) {
		case 0:
			return fmt.Sprintf("fill/%s/%s", typ, dst)
		case 1:
			return fmt.Sprintf("copy/%s/%s/src=%d,-1@%d", typ, dst, n+pick(0, 1, 2), n-1+pick(0, 3))
		}
		return fmt.Sprintf("copy/%s/%s/src=%d,1@%d", typ, dst, n+pick(0, 1, 2), pick(0, 3))
	})
	chunks := map[planner.Form]int{}
	for s, n := range launched {
		chunks[s.Form] += n
	}
	assert.Greater(t, chunks[planner.Run], 3)
	assert.Greater(t, chunks[planner.Repack], 3)
	assert.Greater(t, chunks[planner.Gather], 1)
}

// TestRepeats checks rows that are repeated, and elements that are repeated along rows, of lengths
// at which chunks have parts of several rows, two whole ones, or one.
func TestRepeats(t *testing.T) {
	launched := checked(t, 150, func(rng *rand.Rand, pick func(...int64) int64) string {
		typ := []string{"uint2", "uint4", "uint8", "float16", "float", "double", "complex128"}[rng.IntN(7)]
		n, rows, offset := pick(3, 4, 5, 8, 16, 29, 32, 33, 64, 100), pick(3, 67, 300, 1025, 5000), pick(0, 0, 1, 16)
		pitch := n + pick(0, 0, 0, 1, 16)
		src := fmt.Sprintf("0,1@%d", pick(0, 1, 5))
		if rng.IntN(2) == 0 {
			src = fmt.Sprintf("%d,0@%d", pick(1, 1, 2, 3, -1), pick(1, 5)+rows)
		}
		return fmt.Sprintf("copy/%s/%dx%d/dst=%d,1@%d/src=%s", typ, rows, n, pitch, offset, src)
	})
	periods := map[planner.Form]int{}
	for s, n := range launched {
		if s.Periodic {
			periods[s.Form] += n
		}
	}
	assert.Greater(t, periods[planner.Run], 5)
	assert.Greater(t, periods[planner.Gather]+periods[planner.Stamp], 3)
}

// Where the axis along which src repeats rows is short, periods must not follow another axis,
// for which the kernel for stamps has no parameters.
func TestBugStampsAlongAnotherAxis(t *testing.T) {
	cases := []string{
		"copy/uint4/2000x3x16/dst=48,16,1@0/src=32,0,2@0",
		"copy/uint4/500x5x16/dst=80,16,1@0/src=37,0,-2@40",
		"copy/uint4/20000x3x16/dst=48,16,1@16/src=16,0,-1@15",
		"copy/uint2/2000x3x32/dst=96,32,1@32/src=33,0,-1@40",
	}
	next := 0
	checked(t, uint64(len(cases)), func(*rand.Rand, func(...int64) int64) string {
		next++
		return cases[next-1]
	})
}

// checked checks the given number of cases, and returns how often each kernel ran.
func checked(t *testing.T, tries uint64, of func(rng *rand.Rand, pick func(...int64) int64) string) map[planner.Spec]int {
	d := ptxtest.New(ptxtest.Options{Diverge: true})
	dev := gpu.New(d)
	defer func() { require.NoError(t, dev.Close()) }()
	rng := rand.New(rand.NewPCG(13, 14))
	pick := func(of ...int64) int64 { return of[rng.IntN(len(of))] }
	for try := range tries {
		c, err := oracle.ParseCase(of(rng, pick))
		require.NoError(t, err)
		if err := oracle.Check(dev, c, try); !errors.Is(err, oracle.ErrSkipped) {
			assert.NoError(t, err)
		}
	}
	return d.Launches()
}
