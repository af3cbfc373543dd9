package ptxtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/ptxtest"
)

// Units of neighbouring items of Dequantize must not be further apart than offsets that share a
// plan.
func TestBugScaledApartBeyondThePeriod(t *testing.T) {
	dev := gpu.New(ptxtest.New(ptxtest.Options{}))
	defer func() { require.NoError(t, dev.Close()) }()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	for _, name := range []string{
		"dequantize/uint4-float16/512/dst=1@0/src=1@0/scale=float:0@0",
		"dequantize/uint4-float16/512/dst=1@128/src=1@128/scale=float:0@0",
		"dequantize/uint8-float/512/dst=1@0/src=1@0/scale=float:0@0",
		"dequantize/uint8-float/512/dst=1@128/src=1@128/scale=float:0@0",
		"dequantize/uint8-float/512/dst=1@384/src=1@128/scale=float:0@0",
	} {
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		require.NoError(t, oracle.CheckOn(dev, q, c, 1))
	}
	require.NoError(t, q.Close())
}
