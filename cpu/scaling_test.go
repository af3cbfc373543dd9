package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/device/oracle"
)

// TestScalings are dequantizations and quantizations, some of which several workers share.
func TestScalings(t *testing.T) { cpu.EachLevel(t, testScalings) }

func testScalings(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	rng := rand.New(rand.NewPCG(8, 8))
	for seed := range uint64(200) {
		c := oracle.Random(rng, oracle.Limits{MaxBytes: 32 << 10, Ops: []oracle.Op{oracle.OpDequantize, oracle.OpQuantize}})
		require.NoError(t, oracle.Check(dev, c, seed))
	}
}
