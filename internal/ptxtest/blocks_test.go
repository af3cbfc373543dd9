package ptxtest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/internal/gpu"
	"github.com/restride/restride/internal/oracle"
	"github.com/restride/restride/internal/ptxtest"
)

// TestBugInfinityOfMicroBlocks: infinity counts as the largest finite number, whose code is 4
// where the scale of MXFP4 comes from that number, not 6.
func TestBugInfinityOfMicroBlocks(t *testing.T) {
	dev := gpu.New(ptxtest.New(ptxtest.Options{}))
	defer func() { require.NoError(t, dev.Close()) }()
	q, err := dev.NewQueue()
	require.NoError(t, err)
	defer func() { require.NoError(t, q.Close()) }()
	for _, from := range []string{"bfloat16", "float16", "float"} {
		c, err := oracle.ParseCase(fmt.Sprintf("quantize/%s-float4e2m1/143x1x32/dst=32,32,1@0/src=32,32,1@64/scale=float8e8m0:1,1,0@3/find", from))
		require.NoError(t, err)
		for seed := range uint64(4) {
			require.NoError(t, oracle.CheckOn(dev, q, c, seed))
		}
	}
}
