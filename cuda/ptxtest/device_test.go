package ptxtest_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cuda/ptxtest"
	"github.com/restride/restride/device"
	"github.com/restride/restride/device/devicetest"
	"github.com/restride/restride/device/oracle"
	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/soak"
)

// TestDevice runs the small form of the suite that every device must pass.
func TestDevice(t *testing.T) {
	devicetest.Suite{Small: true}.Run(t, func(*testing.T) device.Device {
		return gpu.New(ptxtest.New(ptxtest.Options{}))
	})
}

// TestRandom checks random cases.
func TestRandom(t *testing.T) {
	cases := uint64(1500)
	if soak.Enabled() {
		cases = 30000
	}
	dev := gpu.New(ptxtest.New(ptxtest.Options{Diverge: true}))
	defer func() { require.NoError(t, dev.Close()) }()
	for seed := range cases {
		c := oracle.Random(rand.New(rand.NewPCG(seed, 1)), oracle.Limits{MaxBytes: 64 << 10})
		if err := oracle.Check(dev, c, seed); !errors.Is(err, oracle.ErrSkipped) {
			assert.NoError(t, err)
		}
	}
}
