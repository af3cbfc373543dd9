package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/restride/restride/cpu"
	"github.com/restride/restride/internal/oracle"
)

// TestLargeCasts are conversions that several workers share: below a byte, two of
// them may have to write one.
func TestLargeCasts(t *testing.T) { cpu.EachLevel(t, testLargeCasts) }

func testLargeCasts(t *testing.T) {
	dev, err := cpu.Open()
	require.NoError(t, err)
	defer dev.Close()
	for i, name := range []string{
		"convert/float-int4/1001x1003/dst=1003,1@1/src=1,1001@3",
		"convert/int4-int2/1300x1003/dst=1003,1@3/src=1003,1@1",
		"convert/double-uint2/700x1900/dst=1,701@1/src=-1,700@699/how=legacy",
		"convert/uint4-float16/1001x333/dst=333,1@1/src=1,1001@5",
		"convert/float-bfloat16/600x501/dst=501,1@7/src=0,1@3",
		"convert/bfloat16-float/300001/dst=-1@300000/src=1@1",
		"convert/int64-float8e4m3fn/300001/dst=3@0/src=1@1/how=unsaturated",
		"convert/float16-int8/70x9x600/dst=1,70,630@0/src=1200,84000,2@0",
	} {
		if cpu.Elsewhere(i) {
			continue
		}
		c, err := oracle.ParseCase(name)
		require.NoError(t, err)
		require.NoError(t, oracle.Check(dev, c, 5))
	}
}
