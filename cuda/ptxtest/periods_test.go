package ptxtest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cuda/ptxtest"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/internal/gpu"
)

// TestPeriods checks rows at odd pitches whose chunks come in periods: joined in dst or with
// gaps, forwards and backwards, numbers of periods that a turn of four does not divide, rows of
// less than a chunk for each work-item of a warp and of more than a block, unpacked and packed.
func TestPeriods(t *testing.T) {
	d := ptxtest.New(ptxtest.Options{Diverge: true})
	dev := gpu.New(d)
	defer func() { require.NoError(t, dev.Close()) }()
	rng := rand.New(rand.NewPCG(11, 12))
	pick := func(of ...int64) int64 { return of[rng.IntN(len(of))] }
	ops := []string{
		"copy/uint2", "copy/uint4", "copy/uint8", "copy/float16", "copy/uint4", "copy/uint8", "copy/float16",
		"convert/uint4-int8", "convert/uint8-uint4",
	}
	for try := range uint64(72) {
		n, rows := pick(255, 257, 303, 511, 1023, 4097), pick(65, 97, 130, 151)
		a, s, offset := int64(1), n+pick(0, 1, 2, 13), pick(0, 1, 5, 64)
		if try%9 >= 4 && try%9 < 7 {
			a, offset = -1, offset+n-1
		}
		c, err := oracle.ParseCase(fmt.Sprintf("%s/%dx%d/dst=%d,1@%d/src=%d,%d@%d",
			ops[try%9], rows, n, n+pick(0, 0, 1, 3), pick(0, 1, 5, 64), s, a, offset))
		require.NoError(t, err)
		assert.NoError(t, oracle.Check(dev, c, try))
	}
	launched := 0
	for s, launches := range d.Launches() {
		if s.Periods {
			launched += launches
		}
	}
	assert.Greater(t, launched, 50, "other kernels than those of periods are taken")
}
