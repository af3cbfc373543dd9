package ptxtest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/ptxtest"
	"github.com/restride/restride/internal/soak"
)

// TestDevice runs the small form of the suite that every device must pass.
func TestDevice(t *testing.T) {
	devicetest.Suite{Small: true, Once: true}.Run(t, func(*testing.T) device.Device {
		return gpu.New(ptxtest.New(ptxtest.Options{}))
	})
}

// TestRandom checks random cases from RESTRIDE_SEED on: with a group for each block, as
// planned, and with fewer groups, which do several blocks each.
func TestRandom(t *testing.T) {
	cases, start := uint64(1500), uint64(0)
	if soak.Enabled() {
		cases = 30000
	}
	if word := os.Getenv("RESTRIDE_SEED"); word != "" {
		var err error
		start, err = strconv.ParseUint(word, 10, 64)
		require.NoError(t, err)
	}
	for lane, blocks := range []uint32{1, 3} {
		t.Run(fmt.Sprint(blocks), func(t *testing.T) {
			t.Parallel()
			dev := gpu.New(ptxtest.New(ptxtest.Options{Diverge: true, Blocks: blocks}))
			defer func() { require.NoError(t, dev.Close()) }()
			for seed := start + uint64(lane); seed < start+cases; seed += 2 {
				c := oracle.Random(rand.New(rand.NewPCG(seed, 1)), oracle.Limits{MaxBytes: 64 << 10, Once: true})
				if err := oracle.Check(dev, c, seed); !errors.Is(err, oracle.ErrSkipped) {
					assert.NoError(t, err)
				}
			}
		})
	}
}
